package io.github.dqbench.redisson;

import java.util.List;
import java.util.concurrent.TimeUnit;

/** Starts and ends the threads of a load. */
final class Threads {

    private Threads() {
    }

    static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Waits for all of them whatever interrupts the caller; false if the time was not enough. */
    static boolean join(List<Thread> threads, long nanos) {
        long limit = System.nanoTime() + nanos;
        boolean interrupted = false;
        for (Thread thread : threads) {
            for (long left = limit - System.nanoTime(); left > 0 && thread.isAlive(); left = limit - System.nanoTime()) {
                try {
                    TimeUnit.NANOSECONDS.timedJoin(thread, Math.max(left, TimeUnit.MILLISECONDS.toNanos(1)));
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return threads.stream().noneMatch(Thread::isAlive);
    }
}
