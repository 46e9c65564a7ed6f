package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** An opened part of a load: a client of its own, the plan's queues on it, and both phases. */
final class LoadPart {

    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(12);

    private final RedissonClient client;
    private final Consumers consumers;
    private final Map<Phase, PhaseRun> runs = new EnumMap<>(Phase.class);

    /** A ledger that is not empty is the file to keep the measured phase in. */
    LoadPart(LoadPlan plan, Role role, RedissonClient client, Codec codec, boolean asBytes, String ledger) {
        this.client = client;
        MonotonicWall clock = new MonotonicWall();
        LoadQueues queues = new LoadQueues(client, plan.queues(), codec, asBytes);
        Map<Phase, LoadPhase> phases = new EnumMap<>(Phase.class);
        for (Phase phase : Phase.values()) {
            phases.put(phase, new LoadPhase(phase, plan, role));
        }
        if (!ledger.isEmpty()) {
            phases.get(Phase.MEASURED).keepIn(ledger);
        }
        consumers = new Consumers(plan, phases, queues, clock);
        phases.forEach((name, phase) -> runs.put(name,
                new PhaseRun(phase, role, new Producers(plan, role, phase, queues, clock), consumers, clock)));
    }

    ObjectNode run(Phase phase, long start, Consumer<ObjectNode> progress) throws InterruptedException {
        return runs.get(phase).run(start, progress);
    }

    ObjectNode counts(Phase phase) {
        return runs.get(phase).counts();
    }

    void stop(Phase phase) {
        runs.get(phase).stop();
    }

    void end(Phase phase) {
        runs.get(phase).end();
    }

    /** Ends what is under way, and closes the client when its phase has been answered. */
    void close() throws InterruptedException {
        runs.values().forEach(PhaseRun::end);
        for (PhaseRun run : runs.values()) {
            run.awaitAnswer(ANSWER_NANOS);
        }
        consumers.join();
        Sessions.shutdown(client);
    }

    /** Closes the client without waiting for anything. */
    void abandon() {
        Sessions.shutdown(client);
    }
}
