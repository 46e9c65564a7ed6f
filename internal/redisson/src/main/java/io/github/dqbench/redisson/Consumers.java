package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.redisson.api.RBlockingQueue;

/** The consumers of a part: a thread each, over both phases. */
final class Consumers {

    private static final long AFTER_TAKE_ERROR = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long UNBLOCK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long JOIN_NANOS = TimeUnit.SECONDS.toNanos(5);

    final FirstError takeError = new FirstError("take");

    private final LoadPlan plan;
    private final Map<Phase, LoadPhase> phases;
    private final LoadQueues queues;
    private final MonotonicWall clock;
    private final PayloadFormat format;
    private final Map<Integer, Thread> threads = new TreeMap<>();
    private final LongAdder foreign = new LongAdder();
    private final LongAdder corrupt = new LongAdder();
    private final LongAdder takeErrors = new LongAdder();
    private volatile boolean ended;
    private final BooleanSupplier end = () -> ended;

    Consumers(LoadPlan plan, Map<Phase, LoadPhase> phases, LoadQueues queues, MonotonicWall clock) {
        this.plan = plan;
        this.phases = phases;
        this.queues = queues;
        this.clock = clock;
        this.format = new PayloadFormat(plan.runId(), plan.payloadSize());
    }

    /** Begins those of the consumers that have not been begun. */
    synchronized void begin(int[] consumers) {
        for (int consumer : consumers) {
            if (!ended && !threads.containsKey(consumer)) {
                threads.put(consumer, Threads.start("consumer-" + consumer, () -> consume(consumer)));
            }
        }
    }

    /** Takes nothing more. */
    synchronized void end() {
        ended = true;
        threads.values().forEach(LockSupport::unpark);
    }

    /**
     * Waits until what is under way is counted; false if a consumer does not end. A value that meets an interrupt is
     * lost, so the caller of load.end, who knows the connections by their name, is first given the time to unblock them.
     */
    boolean join() {
        List<Thread> all;
        synchronized (this) {
            all = new ArrayList<>(threads.values());
        }
        if (Threads.join(all, plan.pollNanos() == 0 ? UNBLOCK_NANOS : JOIN_NANOS)) {
            return true;
        }
        all.forEach(Thread::interrupt);
        return Threads.join(all, JOIN_NANOS);
    }

    ObjectNode putCounts(ObjectNode counts) {
        return counts.put("foreign", foreign.sum()).put("corrupt", corrupt.sum()).put("take_errors", takeErrors.sum());
    }

    private void consume(int consumer) {
        RBlockingQueue<Object> queue = queues.ofConsumer(consumer);
        while (!ended) {
            try {
                Object value = takeOne(queue);
                long now = clock.nanos();
                if (value != null) {
                    receive(consumer, queues.bytes(value), now);
                    pause(plan.workNanos());
                }
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                if (!ended) {
                    takeErrors.increment();
                    takeError.set(e);
                    pause(AFTER_TAKE_ERROR);
                }
            }
        }
    }

    /** Waits for a value; with polls, null if there is none. */
    private Object takeOne(RBlockingQueue<Object> queue) throws InterruptedException {
        if (plan.pollNanos() == 0) {
            return queue.take();
        }
        return pause(plan.pollNanos()) ? queue.poll() : null;
    }

    private boolean pause(long nanos) {
        return nanos == 0 || clock.sleepUntil(clock.nanos() + nanos, end);
    }

    private void receive(int consumer, byte[] value, long now) {
        if (format.ours(value) && !format.intact(value)) {
            corrupt.increment();
            return;
        }
        Payload payload = format.ours(value) ? format.read(value) : null;
        int message = payload == null ? -1 : plan.messageOf(payload);
        if (message < 0) {
            foreign.increment();
            return;
        }
        phases.get(payload.phase()).delivered(consumer, message, payload.dueUnixNanos(), now);
    }
}
