package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Comparator;
import java.util.PriorityQueue;

/** The latest of many deliveries, as far as they are late at all; what is not among them costs a comparison. */
final class Latest {

    private static final long LATE_NANOS = 1_000_000;
    private static final int LEAST = 1000;
    private static final int MOST = 10_000;

    /** Due, cut to its millisecond, and when it came; the least late on top. */
    private final PriorityQueue<long[]> all = new PriorityQueue<>(Comparator.comparingLong(Latest::pastDue));
    private final int kept;
    private long bar = LATE_NANOS;

    /** For a phase of so many messages. */
    Latest(int messages) {
        kept = Math.min(Math.max(messages / 100, LEAST), MOST);
    }

    void add(long due, long came) {
        if (came - due > bar) {
            add(new long[] {due, came});
        }
    }

    void addAll(Latest other) {
        other.all.forEach(delivery -> add(delivery[0], delivery[1]));
    }

    ArrayNode toJson() {
        ArrayNode pairs = Protocol.JSON.createArrayNode();
        all.forEach(delivery -> pairs.addArray().add(delivery[0]).add(delivery[1]));
        return pairs;
    }

    private void add(long[] delivery) {
        if (all.size() == kept) {
            all.poll();
        }
        all.add(delivery);
        if (all.size() == kept) {
            bar = pastDue(all.peek());
        }
    }

    private static long pastDue(long[] delivery) {
        return delivery[1] - delivery[0];
    }
}
