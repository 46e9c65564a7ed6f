package io.github.dqbench.redisson;

import java.util.List;

/** When each message of a phase is to be sent, in nanoseconds after the start of the phase. */
final class Schedule {

    private static final long MAX_MESSAGES = 500_000_000;
    private static final double MILLISECOND = 1e6;

    /** A stretch of the schedule with a rate of its own. */
    record Step(double ratePerSecond, long durationNanos) {

        Step {
            LoadPlan.require(ratePerSecond > 0 && ratePerSecond <= 1e9, "rate", "more than 0 and at most 1e9");
            LoadPlan.require(durationNanos > 0, "duration", "more than 0");
        }

        private long messages() {
            return Math.max(1, (long) Math.ceil(ratePerSecond * (durationNanos / 1e9) - 1e-6));
        }
    }

    private final int messages;
    private final int[] first;
    private final long[] begin;
    private final double[] gap;

    Schedule(List<Step> steps) {
        first = new int[steps.size()];
        begin = new long[steps.size()];
        gap = new double[steps.size()];
        long before = 0;
        long elapsed = 0;
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            first[i] = (int) before;
            begin[i] = elapsed;
            gap[i] = 1e9 / step.ratePerSecond();
            before += step.messages();
            elapsed = Math.addExact(elapsed, step.durationNanos());
            LoadPlan.require(before <= MAX_MESSAGES, "rate * duration", MAX_MESSAGES + " messages at most");
        }
        messages = (int) before;
    }

    int messages() {
        return messages;
    }

    long at(int message) {
        int step = first.length - 1;
        while (first[step] > message) {
            step--;
        }
        int j = message - first[step];
        return begin[step] + (long) (j * gap[step] + dither(j) * Math.min(gap[step], MILLISECOND));
    }

    /** When the last message is to be sent; 0 if there is none. */
    long lastAt() {
        return messages == 0 ? 0 : at(messages - 1);
    }

    /** From 0 to 1, even over any stretch of messages: no rate keeps step with the milliseconds. */
    private static double dither(int j) {
        return Mix.fraction(j * 0x9e3779b97f4a7c15L);
    }
}
