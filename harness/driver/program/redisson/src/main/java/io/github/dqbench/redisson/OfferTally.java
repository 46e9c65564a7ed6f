package io.github.dqbench.redisson;

import java.util.concurrent.locks.ReentrantLock;

/** The answered offers of some of the producers of a phase; its lock guards every field. */
final class OfferTally {

    final ReentrantLock lock = new ReentrantLock();
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
