package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.LongAccumulator;

/** One phase of a load under way: its schedule, its ledger, its numbers. */
final class LoadStage {

    final Phase phase;
    final Ledger ledger;
    final SignedHistogram lateness = new SignedHistogram();
    final SignedHistogram offerRtt = new SignedHistogram();
    final SignedHistogram scheduleLag = new SignedHistogram();
    /** The latest due instant offered and the latest delivery, Unix ns. */
    final LongAccumulator lastDue = new LongAccumulator(Math::max, 0);
    final LongAccumulator lastCame = new LongAccumulator(Math::max, 0);
    final ArrayNode intervals = Protocol.JSON.createArrayNode();
    volatile long startUnixNanos;

    private final SignedHistogram second = new SignedHistogram();
    private long offeredBefore;
    private long deliveredBefore;

    LoadStage(Phase phase, LoadPlan plan) {
        this.phase = phase;
        this.ledger = new Ledger(plan.producers(), plan.messages(phase));
    }

    void recordLateness(long nanos) {
        lateness.record(nanos);
        synchronized (second) {
            second.record(nanos);
        }
    }

    /** Whether anything came since the last interval was closed. */
    boolean open() {
        return ledger.delivered.sum() > deliveredBefore;
    }

    /** Closes an interval, and returns its line with the histogram, which is not kept. */
    ObjectNode closeInterval(long now) {
        long offered = ledger.confirmed.sum();
        long delivered = ledger.delivered.sum();
        ObjectNode interval;
        ObjectNode histogram;
        synchronized (second) {
            interval = Protocol.JSON.createObjectNode()
                    .put("second", (now - startUnixNanos) / 1e9)
                    .put("offered", offered - offeredBefore)
                    .put("delivered", delivered - deliveredBefore)
                    .put("pending", ledger.outstanding())
                    .put("lateness_p50", second.quantile(.5))
                    .put("lateness_p99", second.quantile(.99))
                    .put("lateness_max", second.max());
            histogram = second.toJson();
            second.reset();
        }
        offeredBefore = offered;
        deliveredBefore = delivered;
        intervals.add(interval);
        ObjectNode line = interval.deepCopy();
        line.set("lateness", histogram);
        return line;
    }

    ObjectNode histograms() {
        ObjectNode histograms = Protocol.JSON.createObjectNode();
        histograms.set("lateness", lateness.toJson());
        histograms.set("offer_rtt", offerRtt.toJson());
        histograms.set("schedule_lag", scheduleLag.toJson());
        return histograms;
    }
}
