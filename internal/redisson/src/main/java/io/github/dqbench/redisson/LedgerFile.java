package io.github.dqbench.redisson;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The ledger of a part that is to be killed: what was written to memory that is shared with a file outlives SIGKILL. */
final class LedgerFile {

    /** Where each number of a record is: 64 bits in the byte order of the machine. */
    private static final int DUE = 0;
    private static final int SENT = 8;
    private static final int ANSWERED = 16;
    private static final int CAME = 24;
    private static final int AGAIN = 32;
    private static final int RECORD = 40;

    private static final VarHandle NUMBER = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final ByteBuffer records;

    /** Maps a file that was made for so many messages. */
    LedgerFile(String path, int messages) {
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            long size = (long) messages * RECORD;
            if (file.size() != size || size > Integer.MAX_VALUE) {
                throw new IllegalArgumentException("ledger " + path + ": want " + size + " bytes, " + RECORD + " for each of "
                        + messages + " messages and 2 GiB at most, got " + file.size());
            }
            records = file.map(FileChannel.MapMode.READ_WRITE, 0, size);
        } catch (IOException e) {
            throw new UncheckedIOException("ledger " + path, e);
        }
    }

    /** Notes that an offer is about to be made. */
    void sent(int message, long due, long at) {
        set(message, DUE, due);
        set(message, SENT, at);
    }

    /** Notes that an offer was confirmed. */
    void confirmed(int message, long at) {
        set(message, ANSWERED, at);
    }

    /** Notes that an offer was answered by an error, which may say that nothing was queued. */
    void failed(int message, long at, boolean refused) {
        set(message, ANSWERED, refused ? Long.MIN_VALUE + at : -at);
    }

    /** Notes a delivery. */
    void came(int message, long due, long at) {
        set(message, DUE, due);
        if (!NUMBER.compareAndSet(records, message * RECORD + CAME, 0L, at)) {
            NUMBER.getAndAdd(records, message * RECORD + AGAIN, 1L);
        }
    }

    private void set(int message, int number, long value) {
        NUMBER.setVolatile(records, message * RECORD + number, value);
    }
}
