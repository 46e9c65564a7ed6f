package io.github.dqbench.redisson;

/** The deliveries of a phase to some of the consumers. */
final class TakeTally extends Tally {

    /** Due times are whole milliseconds in Redis; only a delivery before that is early. */
    private static final long MILLISECOND = 1_000_000;

    final SignedHistogram lateness = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
    final SignedHistogram pastDue = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
    final SecondHistogram secondLateness = new SecondHistogram();
    final SecondHistogram secondPastDue = new SecondHistogram();
    final Latest latest;
    long delivered;
    long duplicate;
    long early;

    TakeTally(Latest latest) {
        this.latest = latest;
    }

    void record(long due, long now) {
        long late = now - due;
        long score = due - Math.floorMod(due, MILLISECOND);
        long past = now - score;
        lateness.record(late);
        secondLateness.record(late);
        pastDue.record(past);
        secondPastDue.record(past);
        latest.add(score, now);
        delivered++;
        if (late < -MILLISECOND) {
            early++;
        }
    }
}
