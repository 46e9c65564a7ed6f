package io.github.dqbench.redisson;

import java.util.concurrent.TimeUnit;

/** A load, as PROTOCOL.md defines it: how many messages, when each is to be sent, with which delay. */
record LoadPlan(
        int producers,
        int consumers,
        double ratePerSecond,
        long warmupNanos,
        long durationNanos,
        long delayMinMillis,
        long delayMaxMillis,
        int payloadBytes,
        long seed,
        int runId,
        long startUnixNanos,
        long drainNanos) {

    private static final long MAX_MESSAGES = 50_000_000;
    /** A warm-up is for connections and script caches, which do not depend on the delay. */
    private static final long MAX_WARMUP_DELAY_MILLIS = 1_000;
    private static final long START_LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    LoadPlan {
        require(producers >= 1 && producers <= 0x10000, "producers", "1 to 65536");
        require(consumers >= 1, "consumers", "1 or more");
        require(ratePerSecond > 0, "rate", "more than 0");
        require(warmupNanos >= 0, "warmup", "0 or more");
        require(durationNanos > 0, "duration", "more than 0");
        require(delayMinMillis >= 0 && delayMaxMillis >= delayMinMillis, "delayMin and delayMax", "0 <= min <= max");
        require(payloadBytes >= Payload.MIN_BYTES, "payloadBytes", Payload.MIN_BYTES + " or more");
        require((warmupNanos + durationNanos) / 1e9 * ratePerSecond <= MAX_MESSAGES, "rate * duration",
                MAX_MESSAGES + " messages at most");
    }

    static LoadPlan of(Call call) {
        return new LoadPlan(
                call.integer("producers"),
                call.integer("consumers"),
                Double.parseDouble(call.text("rate")),
                millis(call, "warmup", 0),
                millis(call, "duration", 0),
                call.number("delayMin"),
                call.number("delayMax"),
                (int) call.number("payloadBytes", Payload.MIN_BYTES),
                call.number("seed", 0),
                Integer.parseUnsignedInt(call.text("runId"), 16),
                call.number("startAt", Wall.nanos() + START_LEAD_NANOS),
                millis(call, "drain", 10_000));
    }

    int messages(Phase phase) {
        double seconds = (phase == Phase.WARMUP ? warmupNanos : durationNanos) / 1e9;
        return seconds == 0 ? 0 : Math.max(1, (int) Math.ceil(ratePerSecond * seconds - 1e-6));
    }

    /** When message i of a phase is to be sent, after the phase's start. */
    long intendedNanos(int message) {
        double gap = 1e9 / ratePerSecond;
        return (long) (message * gap + dither(message) * Math.min(gap, 1e6));
    }

    /** From 0 to 1, even over any stretch of messages: no rate keeps step with the milliseconds. */
    private static double dither(int message) {
        return ((message * 0x9e3779b97f4a7c15L) >>> 11) * 0x1.0p-53;
    }

    /** The same in every implementation: uniform over the whole milliseconds from min to max, both included. */
    long delayMillis(Phase phase, int message) {
        long limit = phase == Phase.WARMUP ? MAX_WARMUP_DELAY_MILLIS : Long.MAX_VALUE;
        long min = Math.min(delayMinMillis, limit);
        long max = Math.min(delayMaxMillis, limit);
        return min + Long.remainderUnsigned(mix(seed ^ mix(message)), max - min + 1);
    }

    /** One step of SplitMix64. */
    static long mix(long x) {
        long z = x + 0x9e3779b97f4a7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    private static long millis(Call call, String name, long otherwise) {
        return TimeUnit.MILLISECONDS.toNanos(call.number(name, otherwise));
    }

    private static void require(boolean holds, String what, String wanted) {
        if (!holds) {
            throw new IllegalArgumentException("load plan: " + what + " must be " + wanted);
        }
    }
}
