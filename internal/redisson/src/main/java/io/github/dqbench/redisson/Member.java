package io.github.dqbench.redisson;

/** One of the processes that share the queues of a load, from and to after the start of the measured phase. */
record Member(boolean offers, boolean takes, long fromNanos, long toNanos) {

    Member {
        LoadPlan.require(fromNanos >= 0, "members: from", "0 or more");
        LoadPlan.require(toNanos == 0 || toNanos > fromNanos, "members: to", "0 or later than from");
    }

    boolean present(long at) {
        return fromNanos <= at && (toNanos == 0 || at < toNanos);
    }
}
