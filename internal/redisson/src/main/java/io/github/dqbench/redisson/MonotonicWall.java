package io.github.dqbench.redisson;

import java.time.Instant;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Unix time in nanoseconds that never steps: the wall clock looked at once, and the monotonic clock added. */
final class MonotonicWall {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final int LOOKS = 30;

    /** Wall clock minus monotonic clock. */
    private final long offset;

    /** Pairs the clocks several times and keeps the pair that was read quickest. */
    MonotonicWall() {
        long quickest = Long.MAX_VALUE;
        long found = 0;
        for (int look = 0; look < LOOKS; look++) {
            long before = System.nanoTime();
            Instant wall = Instant.now();
            long took = System.nanoTime() - before;
            if (took < quickest) {
                quickest = took;
                found = wall.getEpochSecond() * NANOS_PER_SECOND + wall.getNano() - (before + took / 2);
            }
        }
        offset = found;
    }

    long nanos() {
        return offset + System.nanoTime();
    }

    /** Returns at or after the instant; false at once if the thread is interrupted, or unparked and told to stop. */
    boolean sleepUntil(long unixNanos, BooleanSupplier stop) {
        for (long left = unixNanos - nanos(); left > 0; left = unixNanos - nanos()) {
            if (Thread.currentThread().isInterrupted() || stop.getAsBoolean()) {
                return false;
            }
            LockSupport.parkNanos(left);
        }
        return !stop.getAsBoolean();
    }
}
