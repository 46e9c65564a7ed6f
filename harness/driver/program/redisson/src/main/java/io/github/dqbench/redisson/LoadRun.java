package io.github.dqbench.redisson;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * One run of a plan on one queue: producers on schedule, consumers in take(), a line a second. An interrupt of its
 * thread ends the offers; what comes due within the drain time is still waited for. A second one ends the run.
 */
final class LoadRun {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long TICK = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long AFTER_TAKE_ERROR = TimeUnit.MILLISECONDS.toNanos(100);
    /** How long a second copy of a message may take to show up after all are in. */
    private static final long SETTLE = TimeUnit.SECONDS.toNanos(1);
    /** Redisson's due times are whole milliseconds; only a delivery before that is early. */
    private static final long RESOLUTION = TimeUnit.MILLISECONDS.toNanos(1);

    private final LoadPlan plan;
    private final Handle handle;
    private final boolean asBytes;
    private final Call call;
    private final LoadStage warmup;
    private final LoadStage measured;
    private final LongAdder foreign = new LongAdder();
    private final LongAdder takeErrors = new LongAdder();
    private volatile boolean stopped;
    /** Until when an interrupted run waits for messages, Unix ns; 0 if it was not interrupted. */
    private volatile long giveUpUnixNanos;

    LoadRun(LoadPlan plan, Handle handle, boolean asBytes, Call call) {
        this.plan = plan;
        this.handle = handle;
        this.asBytes = asBytes;
        this.call = call;
        this.warmup = new LoadStage(Phase.WARMUP, plan);
        this.measured = new LoadStage(Phase.MEASURED, plan);
    }

    ObjectNode run() throws InterruptedException {
        List<Thread> consumers = start(plan.consumers(), "consumer-", ignored -> consume());
        try {
            if (warmup.ledger.size() > 0) {
                run(warmup, plan.startUnixNanos());
            }
            run(measured, offering() ? Math.max(plan.startUnixNanos(), Wall.nanos()) : Wall.nanos());
            settle();
            if (measured.open()) {
                tell(measured);
            }
            return result();
        } finally {
            stopped = true;
            consumers.forEach(Thread::interrupt);
        }
    }

    /** Runs a phase until its last message is in, or given up. */
    private void run(LoadStage stage, long startUnixNanos) throws InterruptedException {
        stage.startUnixNanos = startUnixNanos;
        List<Thread> producers = start(plan.producers(), "producer-", producer -> produce(stage, producer));
        try {
            for (long end = startUnixNanos + SECOND; ; end += SECOND) {
                boolean done = drainedBefore(end, stage, producers);
                tell(stage);
                if (done) {
                    return;
                }
            }
        } finally {
            producers.forEach(Thread::interrupt);
        }
    }

    private void tell(LoadStage stage) {
        call.event("progress", stage.closeInterval(Wall.nanos()).put("phase", String.valueOf(stage.phase.letter))
                .put("planned", stage.ledger.size()).put("offer_errors", stage.ledger.failed.sum()));
    }

    /** Waits for the instant; true if the phase came to its end before. */
    private boolean drainedBefore(long unixNanos, LoadStage stage, List<Thread> producers) throws InterruptedException {
        for (long left = unixNanos - Wall.nanos(); left > 0; left = unixNanos - Wall.nanos()) {
            if (producers.stream().noneMatch(Thread::isAlive) && drained(stage)) {
                return true;
            }
            LockSupport.parkNanos(Math.min(left, TICK));
            if (Thread.interrupted()) {
                stopOffers(producers);
            }
        }
        return false;
    }

    private boolean offering() {
        return giveUpUnixNanos == 0;
    }

    private void stopOffers(List<Thread> producers) throws InterruptedException {
        if (!offering()) {
            throw new InterruptedException("load cancelled");
        }
        giveUpUnixNanos = Wall.nanos() + plan.drainNanos();
        producers.forEach(LockSupport::unpark);
    }

    private boolean drained(LoadStage stage) {
        long now = Wall.nanos();
        if (stage.ledger.outstanding() == 0) {
            // A failed offer may have been taken over, and come yet.
            return stage.ledger.unknown() == 0 || now > stage.lastDue.get() || !offering();
        }
        if (!offering() && (now > giveUpUnixNanos || noneDueUntil(stage, giveUpUnixNanos))) {
            return true;
        }
        return now - Math.max(stage.lastDue.get(), stage.lastCame.get()) > plan.drainNanos();
    }

    /** Whether every message that is missing comes due after the instant. */
    private boolean noneDueUntil(LoadStage stage, long unixNanos) {
        for (int i = 0; i < stage.ledger.size(); i++) {
            long due = stage.startUnixNanos + plan.intendedNanos(i)
                    + TimeUnit.MILLISECONDS.toNanos(plan.delayMillis(stage.phase, i));
            if (due <= unixNanos && stage.ledger.missing(i)) {
                return false;
            }
        }
        return true;
    }

    private void produce(LoadStage stage, int producer) {
        for (int message = producer; message < stage.ledger.size(); message += plan.producers()) {
            long intended = stage.startUnixNanos + plan.intendedNanos(message);
            if (!Wall.sleepUntil(intended, () -> !offering())) {
                return;
            }
            offer(stage, message, producer, intended);
        }
    }

    private void offer(LoadStage stage, int message, int producer, long intended) {
        long delay = plan.delayMillis(stage.phase, message);
        long sent = Wall.nanos();
        long due = sent + TimeUnit.MILLISECONDS.toNanos(delay);
        stage.lastDue.accumulate(due);
        stage.ledger.attempted.increment();
        Payload payload = new Payload(plan.runId(), producer, message / plan.producers(), due, stage.phase);
        Object value = encode(payload.format(plan.payloadBytes()));
        long before = System.nanoTime();
        try {
            handle.delayed().offer(value, delay, TimeUnit.MILLISECONDS);
            stage.ledger.confirm(message);
        } catch (RuntimeException e) {
            stage.ledger.failed.increment();
            System.err.println("offer: " + e);
        }
        stage.offerRtt.record(System.nanoTime() - before);
        stage.scheduleLag.record(sent - intended);
    }

    private void consume() {
        while (!stopped) {
            try {
                Object value = handle.queue.take();
                receive(value, Wall.nanos());
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                if (!stopped) {
                    takeErrors.increment();
                    System.err.println("take: " + e);
                    LockSupport.parkNanos(AFTER_TAKE_ERROR);
                }
            }
        }
    }

    private void receive(Object value, long now) {
        Payload payload = payloadOf(value);
        LoadStage stage = payload != null && payload.phase() == Phase.WARMUP ? warmup : measured;
        int message = payload == null ? -1 : stage.ledger.messageOf(payload);
        if (message < 0) {
            foreign.increment();
            return;
        }
        if (!stage.ledger.deliver(message)) {
            return;
        }
        long lateness = now - payload.dueUnixNanos();
        if (lateness < -RESOLUTION) {
            stage.ledger.early.increment();
        }
        stage.recordLateness(lateness);
        stage.lastCame.accumulate(now);
    }

    /** Gives a second copy of a message time to be taken and counted too. */
    private void settle() {
        long limit = Wall.nanos() + SETTLE;
        while (measured.ledger.outstanding() == 0 && offering() && Wall.nanos() < limit
                && handle.delayed().size() + handle.queue.size() > 0) {
            LockSupport.parkNanos(TICK);
        }
    }

    private ObjectNode result() {
        ObjectNode result = Protocol.JSON.createObjectNode();
        result.put("started_unix_ns", Long.toString(measured.startUnixNanos));
        result.put("elapsed_seconds", (Wall.nanos() - measured.startUnixNanos) / 1e9);
        result.set("counts", counts(measured).put("foreign", foreign.sum()));
        result.put("take_errors", takeErrors.sum());
        result.set("warmup", counts(warmup));
        result.set("histograms", measured.histograms());
        result.set("intervals", measured.intervals);
        return result;
    }

    private ObjectNode counts(LoadStage stage) {
        BitSet held = new BitSet();
        BitSet notDue = new BitSet();
        long now = Wall.nanos();
        if (stage.ledger.outstanding() > 0 || stage.ledger.unknown() > 0) {
            List<Object> left = new ArrayList<>(handle.delayed().readAll());
            left.addAll(handle.queue.readAll());
            for (Object value : left) {
                Payload payload = payloadOf(value);
                int message = payload != null && payload.phase() == stage.phase ? stage.ledger.messageOf(payload) : -1;
                if (message >= 0) {
                    held.set(message);
                    notDue.set(message, payload.dueUnixNanos() > now);
                }
            }
        }
        return stage.ledger.counts(held, notDue);
    }

    private Object encode(String text) {
        return asBytes ? text.getBytes(US_ASCII) : text;
    }

    /** The payload of this run in a value; null if it is another's. */
    private Payload payloadOf(Object value) {
        String text = value instanceof byte[] bytes ? new String(bytes, US_ASCII) : String.valueOf(value);
        Payload payload = text.length() == plan.payloadBytes() ? Payload.parse(text) : null;
        return payload != null && payload.runId() == plan.runId() ? payload : null;
    }

    private static List<Thread> start(int count, String name, IntConsumer work) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread thread = new Thread(() -> work.accept(number), name + i);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        return threads;
    }
}
