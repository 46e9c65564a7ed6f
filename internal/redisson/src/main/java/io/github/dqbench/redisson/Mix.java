package io.github.dqbench.redisson;

/** The pseudo-random numbers of a load plan, the same in every implementation. */
final class Mix {

    private Mix() {
    }

    /** One step of SplitMix64. */
    static long mix(long x) {
        long z = x + 0x9e3779b97f4a7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    /** From 0 to 1, by the upper 53 bits. */
    static double fraction(long bits) {
        return (bits >>> 11) * 0x1.0p-53;
    }
}
