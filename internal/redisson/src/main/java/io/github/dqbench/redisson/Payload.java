package io.github.dqbench.redisson;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * The values of a run, the same in every implementation:
 * {@code dqb3|<run id, 8 hex>|<index, 8 hex>|<due, Unix ns, 16 hex>|<checksum, 8 hex>|....}
 */
final class Payload {

    /** What a value is. */
    enum Kind { OURS, CORRUPT, FOREIGN }

    private static final byte[] MAGIC = "dqb3|".getBytes(US_ASCII);
    private static final int RUN = 5;
    private static final int INDEX = 14;
    private static final int DUE = 23;
    private static final int CHECKSUM = 40;
    private static final int CHECKSUM_END = 48;
    private static final int MIN_SIZE = 49;
    private static final byte[] DIGITS = "0123456789abcdef".getBytes(US_ASCII);

    private final byte[] blank;

    Payload(int runId, int size) {
        blank = new byte[Math.max(size, MIN_SIZE)];
        Arrays.fill(blank, (byte) '.');
        System.arraycopy(MAGIC, 0, blank, 0, MAGIC.length);
        putHex(blank, RUN, INDEX - 1, Integer.toUnsignedLong(runId));
        for (int separator : new int[] {INDEX, DUE, CHECKSUM, MIN_SIZE}) {
            blank[separator - 1] = '|';
        }
    }

    byte[] write(int index, long dueUnixNanos) {
        byte[] value = blank.clone();
        putHex(value, INDEX, DUE - 1, Integer.toUnsignedLong(index));
        putHex(value, DUE, CHECKSUM - 1, dueUnixNanos);
        putHex(value, CHECKSUM, CHECKSUM_END, checksum(value));
        return value;
    }

    Kind kind(byte[] value) {
        if (value.length < MAGIC.length || !Arrays.equals(value, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            return Kind.FOREIGN;
        }
        if (value.length < MIN_SIZE) {
            return Kind.CORRUPT;
        }
        byte[] wanted = new byte[CHECKSUM_END - CHECKSUM];
        putHex(wanted, 0, wanted.length, checksum(value));
        if (!Arrays.equals(value, CHECKSUM, CHECKSUM_END, wanted, 0, wanted.length)) {
            return Kind.CORRUPT;
        }
        return Arrays.equals(value, 0, INDEX, blank, 0, INDEX) ? Kind.OURS : Kind.FOREIGN;
    }

    static int index(byte[] value) {
        return (int) hex(value, INDEX, DUE - 1);
    }

    static long due(byte[] value) {
        return hex(value, DUE, CHECKSUM - 1);
    }

    /** The CRC-32 of everything but the checksum's own digits. */
    private static long checksum(byte[] value) {
        CRC32 crc = new CRC32();
        crc.update(value, 0, CHECKSUM);
        crc.update(value, CHECKSUM_END, value.length - CHECKSUM_END);
        return crc.getValue();
    }

    private static void putHex(byte[] value, int from, int to, long number) {
        long rest = number;
        for (int i = to - 1; i >= from; i--) {
            value[i] = DIGITS[(int) rest & 0xf];
            rest >>>= 4;
        }
    }

    private static long hex(byte[] value, int from, int to) {
        long number = 0;
        for (int i = from; i < to; i++) {
            number = number << 4 | Character.digit(value[i], 16);
        }
        return number;
    }
}
