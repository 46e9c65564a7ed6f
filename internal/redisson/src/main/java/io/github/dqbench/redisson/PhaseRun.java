package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** One phase of a part, from its start to the answer of load.run. */
final class PhaseRun {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final LoadPhase phase;
    private final Role role;
    private final Producers producers;
    private final Consumers consumers;
    private final MonotonicWall clock;
    private final ArrayNode notes = Protocol.JSON.createArrayNode();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final CountDownLatch answered = new CountDownLatch(1);
    private volatile ToolUse tool = new ToolUse();

    PhaseRun(LoadPhase phase, Role role, Producers producers, Consumers consumers, MonotonicWall clock) {
        this.phase = phase;
        this.role = role;
        this.producers = producers;
        this.consumers = consumers;
        this.clock = clock;
    }

    /** Runs the phase until it is ended; an interrupt ends it too, and is thrown when it has ended. */
    ObjectNode run(long start, Consumer<ObjectNode> progress) throws InterruptedException {
        if (!begun.compareAndSet(false, true)) {
            throw new IllegalStateException("phase " + phase.phase.name + " was run before");
        }
        try {
            return carryOut(start, progress);
        } finally {
            answered.countDown();
        }
    }

    void stop() {
        producers.stop();
    }

    void end() {
        producers.end();
        if (phase.phase == Phase.MEASURED) {
            consumers.end();
        }
        ended.countDown();
    }

    /** Waits a while for the end of a phase that was begun. */
    void awaitAnswer(long nanos) throws InterruptedException {
        if (begun.get()) {
            answered.await(nanos, TimeUnit.NANOSECONDS);
        }
    }

    ObjectNode counts() {
        boolean offering = producers.offering();
        ObjectNode counts = phase.counts().put("offering", offering);
        return phase.phase == Phase.MEASURED
                ? consumers.putCounts(counts)
                : counts.put("foreign", 0).put("corrupt", 0).put("take_errors", 0);
    }

    private ObjectNode carryOut(long start, Consumer<ObjectNode> progress) throws InterruptedException {
        phase.begin(start);
        beginConsumers();
        producers.start(() -> tool.offered());
        Seconds seconds = new Seconds(phase);
        InterruptedException cancelled = null;
        tool = new ToolUse();
        long second = Math.max(0, (clock.nanos() - start) / SECOND) + 1;
        try {
            if (!endedBy(start)) {
                tool = new ToolUse();
            }
            for (; !endedBy(start + second * SECOND); second++) {
                progress.accept(seconds.close(second));
            }
        } catch (InterruptedException e) {
            cancelled = e;
        }
        end();
        finish();
        for (; start + second * SECOND <= clock.nanos(); second++) {
            progress.accept(seconds.close(second));
        }
        List<ObjectNode> last = new ArrayList<>();
        ObjectNode result = phase.still(() -> {
            double end = (clock.nanos() - start) / 1e9;
            if (end > 0) {
                last.add(seconds.close(end));
            }
            return result();
        });
        last.forEach(progress);
        if (cancelled != null) {
            throw cancelled;
        }
        result.set("seconds", seconds.closed());
        result.set("tool", tool.toJson());
        return result;
    }

    /** Begins the consumers that are this part's already, and sees to those that will be. */
    private void beginConsumers() {
        long[] looks = role.looks(phase.phase);
        for (long look : looks) {
            if (look == 0) {
                consumers.begin(role.consumers(phase.phase, 0));
            }
        }
        if (looks.length > 0 && looks[looks.length - 1] > 0) {
            Threads.start("looks-" + phase.phase.name, () -> beginLater(looks));
        }
    }

    private void beginLater(long[] looks) {
        try {
            for (long look : looks) {
                if (endedBy(phase.start() + look)) {
                    return;
                }
                consumers.begin(role.consumers(phase.phase, look));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean endedBy(long unixNanos) throws InterruptedException {
        return ended.await(unixNanos - clock.nanos(), TimeUnit.NANOSECONDS);
    }

    private void finish() {
        if (!producers.join()) {
            notes.add("phase " + phase.phase.name + ": an offer or a removal had no answer yet when the phase ended");
        }
        if (phase.phase == Phase.MEASURED && !consumers.join()) {
            notes.add("a consumer did not end with its phase");
        }
    }

    private ObjectNode result() {
        ObjectNode result = Protocol.JSON.createObjectNode().put("started_unix_ns", Long.toString(phase.start()));
        result.set("counts", counts());
        result.set("histograms", phase.histograms());
        result.set("messages", phase.messages());
        result.set("latest", phase.latest());
        ObjectNode errors = Protocol.JSON.createObjectNode();
        put(errors, phase.offerError);
        put(errors, phase.removeError);
        if (phase.phase == Phase.MEASURED) {
            put(errors, consumers.takeError);
        }
        if (errors.size() > 0) {
            result.set("errors", errors);
        }
        if (notes.size() > 0) {
            result.set("notes", notes);
        }
        return result;
    }

    private static void put(ObjectNode errors, FirstError error) {
        if (error.words() != null) {
            errors.put(error.kind(), error.words());
        }
    }
}
