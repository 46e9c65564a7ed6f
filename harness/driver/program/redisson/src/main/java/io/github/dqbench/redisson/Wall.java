package io.github.dqbench.redisson;

import java.time.Instant;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The wall clock in nanoseconds since 1970. */
final class Wall {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private Wall() {
    }

    static long nanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * NANOS_PER_SECOND + now.getNano();
    }

    /** Returns at or after the instant; false at once if the thread is interrupted, or unparked and told to stop. */
    static boolean sleepUntil(long unixNanos, BooleanSupplier stop) {
        for (long left = unixNanos - nanos(); left > 0; left = unixNanos - nanos()) {
            LockSupport.parkNanos(left);
            if (Thread.currentThread().isInterrupted() || stop.getAsBoolean()) {
                return false;
            }
        }
        return !stop.getAsBoolean();
    }
}
