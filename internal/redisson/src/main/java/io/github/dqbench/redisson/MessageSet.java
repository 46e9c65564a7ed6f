package io.github.dqbench.redisson;

import java.io.ByteArrayOutputStream;
import java.util.Base64;
import java.util.zip.Deflater;

/** A set of messages as a bitmap, which is sent as base64 of a raw DEFLATE stream. */
final class MessageSet {

    private final byte[] bits;
    private int length;

    MessageSet(int messages) {
        bits = new byte[(messages + 7) / 8];
    }

    /** Adds a message; they are added in ascending order. */
    void add(int message) {
        bits[message / 8] |= (byte) (1 << message % 8);
        length = message / 8 + 1;
    }

    /** The empty set is the empty string, and zero bytes at the end are left out. */
    String toBase64() {
        if (length == 0) {
            return "";
        }
        Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true);
        try {
            deflater.setInput(bits, 0, length);
            deflater.finish();
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] chunk = new byte[1 << 13];
            while (!deflater.finished()) {
                out.write(chunk, 0, deflater.deflate(chunk));
            }
            return Base64.getEncoder().encodeToString(out.toByteArray());
        } finally {
            deflater.end();
        }
    }
}
