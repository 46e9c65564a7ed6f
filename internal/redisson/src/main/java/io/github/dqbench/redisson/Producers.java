package io.github.dqbench.redisson;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The producers of a part in one phase: a thread for each that owns a message, which sends what it owns on schedule. */
final class Producers {

    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long INTERRUPT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LoadPlan plan;
    private final Role role;
    private final LoadPhase phase;
    private final LoadQueues queues;
    private final MonotonicWall clock;
    private final PayloadFormat format;
    private final List<Integer> firsts = new ArrayList<>();
    private final AtomicInteger left;
    private final List<Thread> threads = new ArrayList<>();
    private final List<Canceller> cancellers = new ArrayList<>();
    private volatile boolean stopped;
    private final BooleanSupplier stop = () -> stopped;
    private Runnable offered = () -> { };

    Producers(LoadPlan plan, Role role, LoadPhase phase, LoadQueues queues, MonotonicWall clock) {
        this.plan = plan;
        this.role = role;
        this.phase = phase;
        this.queues = queues;
        this.clock = clock;
        this.format = new PayloadFormat(plan.runId(), plan.payloadSize());
        for (int producer = 0; producer < plan.producers(); producer++) {
            int first = role.nextOffer(phase.phase, producer);
            if (first >= 0) {
                firsts.add(first);
            }
        }
        this.left = new AtomicInteger(firsts.size());
    }

    /** How many threads there are or will be that offer. */
    static int count(LoadPlan plan, Role role, Phase phase) {
        int count = 0;
        for (int producer = 0; producer < plan.producers(); producer++) {
            count += role.nextOffer(phase, producer) >= 0 ? 1 : 0;
        }
        return count;
    }

    /** Whether a message is still to be offered or answered. */
    boolean offering() {
        return left.get() > 0;
    }

    /** Begins to offer; calls back when all is offered and answered. */
    synchronized void start(Runnable offered) {
        this.offered = offered;
        for (int first : firsts) {
            int producer = plan.producerOf(first);
            Canceller canceller = phase.plan.callOff().any() ? new Canceller(phase, queues, clock, producer) : null;
            if (canceller != null) {
                cancellers.add(canceller);
            }
            threads.add(Threads.start("producer-" + producer, () -> produce(first, canceller)));
        }
    }

    /** Offers nothing more; removals go on. */
    synchronized void stop() {
        stopped = true;
        threads.forEach(LockSupport::unpark);
    }

    /** Offers and removes nothing more. */
    synchronized void end() {
        stop();
        cancellers.forEach(Canceller::end);
    }

    /** Waits until all that is under way is answered; what takes too long is given up, and false returned. */
    boolean join() {
        List<Thread> all;
        synchronized (this) {
            all = new ArrayList<>(threads);
            cancellers.forEach(canceller -> all.add(canceller.thread()));
        }
        if (Threads.join(all, ANSWER_NANOS)) {
            return true;
        }
        all.forEach(Thread::interrupt);
        Threads.join(all, INTERRUPT_NANOS);
        return false;
    }

    private void produce(int first, Canceller canceller) {
        try {
            for (int message = first; message >= 0; message = role.nextOffer(phase.phase, message + plan.producers())) {
                long intended = phase.intended(message);
                if (!clock.sleepUntil(intended, stop)) {
                    return;
                }
                offer(message, intended, canceller);
            }
        } finally {
            if (left.decrementAndGet() == 0) {
                offered.run();
            }
        }
    }

    private void offer(int message, long intended, Canceller canceller) {
        long sent = clock.nanos();
        long delay = phase.delayMillis(message, sent);
        long due = sent + TimeUnit.MILLISECONDS.toNanos(delay);
        phase.attempt(message, due, sent);
        Object value = queues.value(format.write(
                new Payload(plan.producerOf(message), plan.sequenceOf(message), due, phase.phase)));
        try {
            queues.ofMessage(message).offer(value, delay, TimeUnit.MILLISECONDS);
        } catch (RuntimeException e) {
            phase.failed(message, e, intended, sent, clock.nanos());
            return;
        }
        phase.confirmed(message, due, intended, sent, clock.nanos());
        if (canceller != null && phase.chosen(message)) {
            canceller.add(message, value, due, sent);
        }
    }
}
