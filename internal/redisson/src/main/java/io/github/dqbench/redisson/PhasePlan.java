package io.github.dqbench.redisson;

/** What is offered in one phase; a horizon of 0 waits for every message. */
record PhasePlan(Schedule schedule, Delays delays, long horizonNanos, CallOff callOff) {

    private static final long MILLISECOND = 1_000_000;

    PhasePlan {
        LoadPlan.require(horizonNanos >= 0, "horizon", "0 or more");
    }

    int messages() {
        return schedule.messages();
    }

    /** The delay of a message in milliseconds, if the phase starts at one instant and the message is sent at another. */
    long delayMillis(long seed, int message, long start, long sent) {
        long delay = delays.millis(seed, message, messages());
        if (!delays.together()) {
            return delay;
        }
        long due = Math.floorDiv(start + delay * MILLISECOND, MILLISECOND);
        return Math.max(0, due - Math.floorDiv(sent, MILLISECOND));
    }

    /** The latest due instant that is waited for. */
    long lastAwaited(long start) {
        return horizonNanos == 0 ? Long.MAX_VALUE : start + schedule.lastAt() + horizonNanos;
    }
}
