package io.github.dqbench.redisson;

/** The histogram of the second under way; whoever uses it holds the lock of its tally. */
final class SecondHistogram {

    private SignedHistogram current = new SignedHistogram(SignedHistogram.SECOND_DIGITS);

    void record(long nanos) {
        current.record(nanos);
    }

    /** Exchanges the histogram for an empty one, and returns the full one. */
    SignedHistogram exchange(SignedHistogram empty) {
        SignedHistogram full = current;
        current = empty;
        return full;
    }
}
