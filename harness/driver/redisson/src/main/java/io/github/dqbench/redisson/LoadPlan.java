package io.github.dqbench.redisson;

import java.util.concurrent.TimeUnit;

/**
 * A load: when each message is to be sent, with which delay. Message k of the plan belongs to producer
 * k mod producers, is its k div producers-th, and is due to be sent at start + k / rate.
 */
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
    private static final long START_LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    LoadPlan {
        require(producers >= 1 && producers <= 0xffff, "producers", "1 to 65535");
        require(consumers >= 0, "consumers", "0 or more");
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

    int warmupMessages() {
        return (int) Math.round(warmupNanos / 1e9 * ratePerSecond);
    }

    int messages() {
        return warmupMessages() + Math.max(1, (int) Math.round(durationNanos / 1e9 * ratePerSecond));
    }

    boolean measured(int message) {
        return message >= warmupMessages();
    }

    long intendedUnixNanos(int message) {
        return startUnixNanos + (long) (message * (1e9 / ratePerSecond));
    }

    /** When the measured part begins. */
    long measuredFromUnixNanos() {
        return intendedUnixNanos(warmupMessages());
    }

    /** The same for every port: splitmix64 of seed + message, over the whole range, both ends included. */
    long delayMillis(int message) {
        return delayMinMillis + Long.remainderUnsigned(splitmix64(seed + message), delayMaxMillis - delayMinMillis + 1);
    }

    static long splitmix64(long state) {
        long z = state + 0x9e3779b97f4a7c15L;
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
