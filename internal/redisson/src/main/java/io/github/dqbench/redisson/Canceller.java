package io.github.dqbench.redisson;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/** Cancels the messages of one producer, in the order of the offers, so that a slow removal delays only those behind it. */
final class Canceller {

    private record Offered(int message, Object value, long due, long sent) {
    }

    private static final Offered END = new Offered(-1, null, 0, 0);

    private final LoadPhase phase;
    private final LoadQueues queues;
    private final MonotonicWall clock;
    private final BlockingQueue<Offered> offered = new LinkedBlockingQueue<>();
    private final Thread thread;
    private volatile boolean ended;

    Canceller(LoadPhase phase, LoadQueues queues, MonotonicWall clock, int producer) {
        this.phase = phase;
        this.queues = queues;
        this.clock = clock;
        this.thread = Threads.start("canceller-" + producer, this::run);
    }

    /** Hands a confirmed message over. */
    void add(int message, Object value, long due, long sent) {
        offered.add(new Offered(message, value, due, sent));
    }

    void end() {
        ended = true;
        offered.add(END);
        LockSupport.unpark(thread);
    }

    Thread thread() {
        return thread;
    }

    private void run() {
        try {
            for (Offered next = offered.take(); next != END; next = offered.take()) {
                if (!clock.sleepUntil(next.sent + phase.plan.callOff().afterNanos(), () -> ended)) {
                    return;
                }
                remove(next);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void remove(Offered message) {
        long began = clock.nanos();
        try {
            boolean found = queues.ofMessage(message.message).remove(message.value);
            phase.removed(message.message, found, message.due, clock.nanos() - began);
        } catch (RuntimeException e) {
            phase.removeFailed(e, clock.nanos() - began);
        }
    }
}
