package io.github.dqbench.redisson;

/** The answered offers of some of the producers of a phase. */
final class OfferTally extends Tally {

    final SignedHistogram rtt = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
    final SignedHistogram responseTime = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
    final SignedHistogram scheduleLag = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
    final SecondHistogram secondRtt = new SecondHistogram();
    long confirmed;
    long failed;

    void record(long intended, long sent, long answered) {
        rtt.record(answered - sent);
        secondRtt.record(answered - sent);
        responseTime.record(answered - intended);
        scheduleLag.record(sent - intended);
    }
}
