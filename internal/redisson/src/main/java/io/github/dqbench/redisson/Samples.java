package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The samples of an agent: 25 bytes each, sent some fifty times a second (docs/protocol.md). */
final class Samples {

    private static final int SIZE = 25;
    private static final int LINE = 20_000 * SIZE;
    private static final int MOST_KEPT = 64 << 20;
    private static final long FLUSH_MILLIS = 20;

    private final Call call;
    private final boolean each;
    private final Object writing = new Object();
    private ByteBuffer out = buffer(64 << 10);
    private long dropped;
    private ObjectNode errors = Protocol.JSON.createObjectNode();
    private boolean errorsNew;
    private volatile boolean ended;

    /** Sends events of the request; with each, every sample is written before add returns. */
    Samples(Call call, boolean each) {
        this.call = call;
        this.each = each;
        Thread thread = new Thread(this::flushAlways, "samples");
        thread.setDaemon(true);
        thread.start();
    }

    void add(char kind, long waitedMicros, int index, long a, long b) {
        synchronized (this) {
            if (out.remaining() < SIZE && out.capacity() < MOST_KEPT) {
                out = buffer(2 * out.capacity()).put(out.flip());
            }
            if (out.remaining() < SIZE) {
                dropped++;
            } else {
                put(kind, waitedMicros, index, a, b);
            }
        }
        if (each) {
            flush();
        }
    }

    /** Keeps the first error of a kind. */
    synchronized void error(String kind, Throwable e) {
        if (!errors.has(kind)) {
            errors.put(kind, String.valueOf(e));
            errorsNew = true;
        }
    }

    /** Sends what there is, also nothing: it is the sign of life. Who adds samples does not wait for it. */
    void flush() {
        synchronized (writing) {
            byte[] encoded;
            ObjectNode first = null;
            synchronized (this) {
                if (dropped > 0) {
                    out = buffer(out.position() + SIZE).put(out.flip());
                    put('d', 0, 0, dropped, 0);
                    dropped = 0;
                }
                encoded = Arrays.copyOf(out.array(), out.position());
                out = buffer(64 << 10);
                if (errorsNew) {
                    first = errors.deepCopy();
                    errorsNew = false;
                }
            }
            int from = 0;
            for (; encoded.length - from > LINE; from += LINE) {
                send(Arrays.copyOfRange(encoded, from, from + LINE), null);
            }
            send(Arrays.copyOfRange(encoded, from, encoded.length), first);
        }
    }

    void end() {
        ended = true;
        flush();
    }

    private void send(byte[] encoded, ObjectNode first) {
        ObjectNode fields = Protocol.JSON.createObjectNode().put("samples", encoded);
        if (first != null) {
            fields.set("errors", first);
        }
        call.event("samples", fields);
    }

    private void flushAlways() {
        try {
            while (!ended) {
                Thread.sleep(FLUSH_MILLIS);
                flush();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void put(char kind, long waitedMicros, int index, long a, long b) {
        out.put((byte) kind).putInt((int) Math.min(waitedMicros, 0xffffffffL)).putInt(index).putLong(a).putLong(b);
    }

    private static ByteBuffer buffer(int capacity) {
        return ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN);
    }
}
