package io.github.dqbench.redisson;

/** Which messages of a phase are cancelled, and how long after their offer. */
record CallOff(double share, long afterNanos) {

    static final CallOff NONE = new CallOff(0, 0);

    CallOff {
        LoadPlan.require(share >= 0 && share <= 1, "cancel.share", "0 to 1");
        LoadPlan.require(afterNanos >= 0, "cancel.after", "0 or more");
    }

    boolean any() {
        return share > 0;
    }

    boolean chosen(long seed, int i) {
        return any() && Mix.fraction(Mix.mix(~seed ^ Mix.mix(i))) < share;
    }
}
