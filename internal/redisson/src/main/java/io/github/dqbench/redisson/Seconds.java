package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.AtomicLong;

/** What happened in each second of a phase; one thread closes them, in order. */
final class Seconds {

    private final LoadPhase phase;
    private final ArrayNode closed = Protocol.JSON.createArrayNode();
    private SignedHistogram spare = new SignedHistogram(SignedHistogram.SECOND_DIGITS);
    private long confirmed;
    private long delivered;
    private long failed;

    Seconds(LoadPhase phase) {
        this.phase = phase;
    }

    ArrayNode closed() {
        return closed;
    }

    /** Closes the second that ends so many seconds after the start, and returns what is told about it at once. */
    ObjectNode close(double end) {
        SignedHistogram lateness = new SignedHistogram(SignedHistogram.SECOND_DIGITS);
        SignedHistogram pastDue = new SignedHistogram(SignedHistogram.SECOND_DIGITS);
        SignedHistogram rtt = new SignedHistogram(SignedHistogram.SECOND_DIGITS);
        AtomicLong errors = new AtomicLong();
        long offers = phase.sumOffers(tally -> {
            move(tally.secondRtt, rtt);
            errors.addAndGet(tally.failed);
            return tally.confirmed;
        });
        long takes = phase.sumTakes(tally -> {
            move(tally.secondLateness, lateness);
            move(tally.secondPastDue, pastDue);
            return tally.delivered;
        });
        ObjectNode second = Protocol.JSON.createObjectNode();
        if (end == Math.rint(end)) {
            second.put("second", (long) end);
        } else {
            second.put("second", end);
        }
        second.put("offered", offers - confirmed).put("delivered", takes - delivered)
                .put("failed", errors.get() - failed).put("outstanding", phase.outstanding());
        second.set("lateness", lateness.toJson());
        second.set("past_due", pastDue.toJson());
        second.set("offer_rtt", rtt.toJson());
        confirmed = offers;
        delivered = takes;
        failed = errors.get();
        closed.add(second);
        return second.deepCopy().put("phase", phase.phase.name)
                .put("attempted", phase.attempted());
    }

    private void move(SecondHistogram from, SignedHistogram into) {
        SignedHistogram full = from.exchange(spare);
        into.add(full);
        full.reset();
        spare = full;
    }
}
