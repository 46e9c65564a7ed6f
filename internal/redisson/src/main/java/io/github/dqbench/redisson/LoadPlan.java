package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A load, as PROTOCOL.md defines it: the same for every part. */
record LoadPlan(
        int runId,
        long seed,
        List<String> queues,
        int producers,
        int consumers,
        int payloadSize,
        long pollNanos,
        long workNanos,
        Map<Phase, PhasePlan> phases,
        List<Member> members) {

    private static final int MAX_THREADS = 0x10000;
    private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);

    LoadPlan {
        require(!queues.isEmpty(), "queues", "one name or more");
        require(producers >= 1 && producers <= MAX_THREADS, "producers", "1 to 65536");
        require(consumers >= queues.size() && consumers <= MAX_THREADS, "consumers", "1 to 65536, and 1 a queue at least");
        require(payloadSize >= PayloadFormat.MIN_SIZE, "payload_size", PayloadFormat.MIN_SIZE + " or more");
        require(pollNanos >= 0 && workNanos >= 0, "poll and work", "0 or more");
        require(!members.isEmpty(), "members", "one or more");
    }

    static LoadPlan of(JsonNode plan) {
        Map<Phase, PhasePlan> phases = new EnumMap<>(Phase.class);
        for (Phase phase : Phase.values()) {
            phases.put(phase, phase(plan.path("phases").path(phase.name)));
        }
        return new LoadPlan(
                Integer.parseUnsignedInt(text(plan, "run_id"), 16),
                plan.hasNonNull("seed") ? Long.parseUnsignedLong(plan.get("seed").asText()) : 0,
                list(plan.path("queues"), JsonNode::asText),
                Math.toIntExact(whole(plan, "producers")),
                Math.toIntExact(whole(plan, "consumers")),
                Math.toIntExact(whole(plan, "payload_size")),
                whole(plan, "poll"),
                whole(plan, "work"),
                phases,
                list(plan.path("members"), LoadPlan::member));
    }

    PhasePlan of(Phase phase) {
        return phases.get(phase);
    }

    int producerOf(int message) {
        return message % producers;
    }

    int sequenceOf(int message) {
        return message / producers;
    }

    /** The message a payload stands for; -1 if the plan has no such message. */
    int messageOf(Payload payload) {
        long message = (long) payload.sequence() * producers + payload.producer();
        boolean known = payload.producer() < producers && payload.sequence() >= 0
                && message < of(payload.phase()).messages();
        return known ? (int) message : -1;
    }

    static void require(boolean holds, String what, String wanted) {
        if (!holds) {
            throw new IllegalArgumentException("load plan: " + what + " must be " + wanted);
        }
    }

    private static PhasePlan phase(JsonNode phase) {
        JsonNode delay = phase.path("delay");
        JsonNode cancel = phase.path("cancel");
        return new PhasePlan(
                new Schedule(list(phase.path("steps"), LoadPlan::step)),
                new Delays(list(delay.path("spans"), LoadPlan::span),
                        delay.path("together").asBoolean(), delay.path("shuffled").asBoolean()),
                whole(phase, "horizon"),
                cancel.isObject() ? new CallOff(real(cancel, "share"), whole(cancel, "after")) : CallOff.NONE);
    }

    private static Schedule.Step step(JsonNode step) {
        return new Schedule.Step(real(step, "rate"), whole(step, "duration"));
    }

    private static Delays.Span span(JsonNode span) {
        require(span.size() == 2, "delay.spans", "pairs [shortest, longest]");
        return new Delays.Span(millis(span.get(0)), millis(span.get(1)));
    }

    private static Member member(JsonNode member) {
        return new Member(member.path("offers").asBoolean(), member.path("takes").asBoolean(),
                whole(member, "from"), whole(member, "to"));
    }

    private static long millis(JsonNode nanos) {
        long value = Long.parseLong(nanos.asText());
        require(value % MILLISECOND == 0, "delay.spans", "whole milliseconds");
        return value / MILLISECOND;
    }

    private static String text(JsonNode object, String name) {
        require(object.hasNonNull(name), name, "given");
        return object.get(name).asText();
    }

    private static long whole(JsonNode object, String name) {
        return object.hasNonNull(name) ? Long.parseLong(object.get(name).asText()) : 0;
    }

    private static double real(JsonNode object, String name) {
        return object.hasNonNull(name) ? Double.parseDouble(object.get(name).asText()) : 0;
    }

    private interface Parser<T> {
        T parse(JsonNode node);
    }

    private static <T> List<T> list(JsonNode array, Parser<T> parser) {
        List<T> parsed = new ArrayList<>();
        for (JsonNode item : array) {
            parsed.add(parser.parse(item));
        }
        return List.copyOf(parsed);
    }
}
