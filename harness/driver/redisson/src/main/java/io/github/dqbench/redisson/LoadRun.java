package io.github.dqbench.redisson;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** One run of a plan on one queue: producers on schedule, consumers in take(), a line a second. */
final class LoadRun {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long TICK = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long AFTER_TAKE_ERROR = TimeUnit.MILLISECONDS.toNanos(100);
    /** Redisson's due times are whole milliseconds; only a delivery before that is early. */
    private static final long RESOLUTION = TimeUnit.MILLISECONDS.toNanos(1);

    private final LoadPlan plan;
    private final Handle handle;
    private final boolean asBytes;
    private final Call call;
    private final Ledger ledger;
    private final LoadMetrics metrics = new LoadMetrics();
    private volatile boolean stopped;

    LoadRun(LoadPlan plan, Handle handle, boolean asBytes, Call call) {
        this.plan = plan;
        this.handle = handle;
        this.asBytes = asBytes;
        this.call = call;
        this.ledger = new Ledger(plan);
    }

    ObjectNode run() throws InterruptedException {
        List<Thread> consumers = start(plan.consumers(), "consumer-", ignored -> consume());
        List<Thread> producers = start(plan.producers(), "producer-", this::produce);
        try {
            report(producers);
        } finally {
            stopped = true;
            producers.forEach(Thread::interrupt);
            consumers.forEach(Thread::interrupt);
        }
        return result();
    }

    private void produce(int producer) {
        for (int message = producer; message < plan.messages(); message += plan.producers()) {
            long intended = plan.intendedUnixNanos(message);
            if (!Wall.sleepUntil(intended) || stopped) {
                return;
            }
            send(message, producer, intended);
        }
    }

    private void send(int message, int producer, long intended) {
        long delay = plan.delayMillis(message);
        boolean measured = plan.measured(message);
        long now = Wall.nanos();
        long due = now + TimeUnit.MILLISECONDS.toNanos(delay);
        String text = new Payload(plan.runId(), producer, message / plan.producers(), due, measured)
                .format(plan.payloadBytes());
        long before = System.nanoTime();
        try {
            handle.delayed().offer(encode(text), delay, TimeUnit.MILLISECONDS);
        } catch (RuntimeException e) {
            ledger.failed(message);
            System.err.println("offer: " + e);
            return;
        }
        long rtt = System.nanoTime() - before;
        ledger.offered(message);
        if (measured) {
            metrics.offerRtt(rtt);
            metrics.scheduleLag(now - intended);
        }
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
                    ledger.takeErrors.increment();
                    System.err.println("take: " + e);
                    LockSupport.parkNanos(AFTER_TAKE_ERROR);
                }
            }
        }
    }

    private void receive(Object value, long now) {
        Payload payload = value == null ? null : Payload.parse(decode(value));
        int message = ledger.messageOf(payload);
        if (message < 0) {
            ledger.foreign.increment();
            return;
        }
        boolean first = ledger.delivered(message);
        if (first && plan.measured(message)) {
            long lateness = now - payload.dueUnixNanos();
            metrics.lateness(lateness);
            if (lateness < -RESOLUTION) {
                ledger.early.increment();
            }
        }
    }

    /** Closes each second of the measured part until every message is in, or overdue beyond the drain time. */
    private void report(List<Thread> producers) throws InterruptedException {
        long from = plan.measuredFromUnixNanos();
        long deadline = plan.intendedUnixNanos(plan.messages()) + TimeUnit.MILLISECONDS.toNanos(plan.delayMaxMillis())
                + plan.drainNanos();
        for (int second = 0; ; second++) {
            long end = from + (second + 1) * SECOND;
            boolean done = waitFor(producers, Math.min(end, deadline));
            ObjectNode line = metrics.closeSecond(second, ledger.measuredOffered.sum(), ledger.measuredDelivered.sum());
            call.event("progress", line.deepCopy());
            if (done || Wall.nanos() >= deadline) {
                return;
            }
        }
    }

    /** Waits for the instant; true if all is sent and received before. */
    private boolean waitFor(List<Thread> producers, long unixNanos) throws InterruptedException {
        for (long left = unixNanos - Wall.nanos(); left > 0; left = unixNanos - Wall.nanos()) {
            if (producers.stream().noneMatch(Thread::isAlive) && (plan.consumers() == 0 || ledger.settled())) {
                return true;
            }
            LockSupport.parkNanos(Math.min(left, TICK));
            if (Thread.interrupted()) {
                throw new InterruptedException("load cancelled");
            }
        }
        return false;
    }

    private ObjectNode result() {
        BitSet stillQueued = ledger.settled() ? new BitSet() : stillQueued();
        ObjectNode counts = ledger.counts(true, stillQueued)
                .put("early", ledger.early.sum())
                .put("take_errors", ledger.takeErrors.sum())
                .put("foreign", ledger.foreign.sum());
        ObjectNode result = Protocol.JSON.createObjectNode();
        result.set("counts", counts);
        result.set("warmup", ledger.counts(false, stillQueued));
        result.put("start_unix_ns", Long.toString(plan.startUnixNanos()));
        result.put("measured_from_unix_ns", Long.toString(plan.measuredFromUnixNanos()));
        result.set("histograms", metrics.histograms());
        result.set("intervals", metrics.intervals());
        return result;
    }

    private BitSet stillQueued() {
        BitSet messages = new BitSet();
        List<Object> left = new ArrayList<>(handle.delayed().readAll());
        left.addAll(handle.queue.readAll());
        for (Object value : left) {
            int message = ledger.messageOf(Payload.parse(decode(value)));
            if (message >= 0) {
                messages.set(message);
            }
        }
        return messages;
    }

    private Object encode(String text) {
        return asBytes ? text.getBytes(US_ASCII) : text;
    }

    private static String decode(Object value) {
        return value instanceof byte[] bytes
                ? new String(bytes, US_ASCII)
                : String.valueOf(value);
    }

    private interface Numbered {
        void run(int number);
    }

    private static List<Thread> start(int count, String name, Numbered work) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread thread = new Thread(() -> work.run(number), name + i);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        return threads;
    }
}
