package io.github.dqbench.redisson;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * The values of a run, the same in every implementation: {@code dqb2|<run id, 8 hex>|<producer, 4 hex>|<sequence, 8 hex>|
 * <due, Unix ns, 16 hex>|<phase, w or m>|<checksum, 8 hex>|....}
 */
final class PayloadFormat {

    private static final int PRODUCER = 14;
    private static final int SEQUENCE = 19;
    private static final int DUE = 28;
    private static final int PHASE = 45;
    private static final int CHECKSUM = 47;
    private static final int CHECKSUM_END = 55;
    static final int MIN_SIZE = 56;
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(US_ASCII);

    private final byte[] begin;
    private final byte[] blank;

    PayloadFormat(int runId, int size) {
        begin = String.format("dqb2|%08x", runId).getBytes(US_ASCII);
        blank = new byte[size];
        Arrays.fill(blank, (byte) '.');
        System.arraycopy(begin, 0, blank, 0, begin.length);
        for (int separator : new int[] {PRODUCER, SEQUENCE, DUE, PHASE, CHECKSUM, MIN_SIZE}) {
            blank[separator - 1] = '|';
        }
    }

    byte[] write(Payload payload) {
        byte[] value = blank.clone();
        putHex(value, PRODUCER, SEQUENCE - 1, payload.producer());
        putHex(value, SEQUENCE, DUE - 1, payload.sequence());
        putHex(value, DUE, PHASE - 1, payload.dueUnixNanos());
        value[PHASE] = payload.phase().letter;
        putHex(value, CHECKSUM, CHECKSUM_END, checksum(value));
        return value;
    }

    /** Whether a value claims to be of this run. */
    boolean ours(byte[] value) {
        return value.length >= begin.length && Arrays.equals(value, 0, begin.length, begin, 0, begin.length);
    }

    /** Whether a value has its own length and checksum. */
    boolean intact(byte[] value) {
        if (value.length != blank.length) {
            return false;
        }
        byte[] wanted = new byte[CHECKSUM_END - CHECKSUM];
        putHex(wanted, 0, wanted.length, checksum(value));
        return Arrays.equals(value, CHECKSUM, CHECKSUM_END, wanted, 0, wanted.length);
    }

    /** What an intact value says; null if it is not of this form. */
    Payload read(byte[] value) {
        try {
            return new Payload(
                    (int) hex(value, PRODUCER, SEQUENCE - 1),
                    (int) hex(value, SEQUENCE, DUE - 1),
                    hex(value, DUE, PHASE - 1),
                    Phase.of(String.valueOf((char) value[PHASE])));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** The CRC-32 of everything but the checksum's own digits. */
    private static long checksum(byte[] value) {
        CRC32 crc = new CRC32();
        crc.update(value, 0, CHECKSUM);
        crc.update(value, CHECKSUM_END, value.length - CHECKSUM_END);
        return crc.getValue();
    }

    private static void putHex(byte[] value, int from, int to, long number) {
        for (int i = to - 1; i >= from; i--) {
            value[i] = DIGITS[(int) number & 0xf];
            number >>>= 4;
        }
    }

    private static long hex(byte[] value, int from, int to) {
        long number = 0;
        for (int i = from; i < to; i++) {
            int digit = Arrays.binarySearch(DIGITS, value[i]);
            if (digit < 0) {
                throw new IllegalArgumentException("no lower case hexadecimal digit");
            }
            number = number << 4 | digit;
        }
        return number;
    }
}
