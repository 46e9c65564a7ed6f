package io.github.dqbench.redisson;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** What some of the threads of a phase have counted; its lock guards every field. */
abstract class Tally {

    final ReentrantLock lock = new ReentrantLock();

    /** Adds up a number of each tally, which is looked at under its lock. */
    static <T extends Tally> long sum(T[] tallies, ToLongFunction<T> number) {
        long sum = 0;
        for (T tally : tallies) {
            tally.lock.lock();
            try {
                sum += number.applyAsLong(tally);
            } finally {
                tally.lock.unlock();
            }
        }
        return sum;
    }

    /** Adds up a histogram of each tally. The caller sees to it that nothing is counted meanwhile. */
    static <T extends Tally> SignedHistogram join(T[] tallies, Function<T, SignedHistogram> histogram) {
        SignedHistogram all = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
        for (T tally : tallies) {
            all.add(histogram.apply(tally));
        }
        return all;
    }
}
