package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** What a part knows of one phase: its start, its ledger, its numbers. */
final class LoadPhase {

    /** More threads than this share tallies, which bounds the memory of the histograms. */
    private static final int MAX_TALLIES = 8;

    final Phase phase;
    final PhasePlan plan;
    final FirstError offerError = new FirstError("offer");
    final FirstError removeError = new FirstError("remove");

    private final long seed;
    private final Role role;
    private final int producers;
    private final Ledger ledger;
    private final OfferTally[] offers;
    private final TakeTally[] takes;
    private final LongAdder attempted = new LongAdder();
    private final LongAdder outstanding = new LongAdder();
    private final LongAdder tooLate = new LongAdder();
    private final LongAdder removeErrors = new LongAdder();
    private final SignedHistogram removeRtt = new SignedHistogram(SignedHistogram.TOTAL_DIGITS);
    private final LongAccumulator lastDue = new LongAccumulator(Math::max, 0);
    private final LongAccumulator lastCame = new LongAccumulator(Math::max, 0);
    /** Unix ns; until the start is known here, every message is waited for. */
    private volatile long start;
    private volatile long lastAwaited = Long.MAX_VALUE;
    /** Null unless the part is to be killed; set before anything begins. */
    private LedgerFile file;

    LoadPhase(Phase phase, LoadPlan plan, Role role) {
        this.phase = phase;
        this.plan = plan.of(phase);
        this.seed = plan.seed();
        this.role = role;
        this.producers = plan.producers();
        this.ledger = new Ledger(this.plan.messages());
        this.offers = new OfferTally[Math.min(MAX_TALLIES, plan.producers())];
        this.takes = new TakeTally[Math.min(MAX_TALLIES, plan.consumers())];
        for (int i = 0; i < offers.length; i++) {
            offers[i] = new OfferTally();
        }
        for (int i = 0; i < takes.length; i++) {
            takes[i] = new TakeTally(new Latest(this.plan.messages()));
        }
    }

    /** Keeps what happens in a file too, from before it is counted. */
    void keepIn(String path) {
        file = new LedgerFile(path, plan.messages());
    }

    void begin(long unixNanos) {
        start = unixNanos;
        lastAwaited = plan.lastAwaited(unixNanos);
    }

    long start() {
        return start;
    }

    long intended(int message) {
        return start + plan.schedule().at(message);
    }

    long delayMillis(int message, long sent) {
        return plan.delayMillis(seed, message, start, sent);
    }

    /** Whether a message is to be cancelled. */
    boolean chosen(int message) {
        return plan.callOff().chosen(seed, message);
    }

    /** Notes that an offer is about to be made. */
    void attempt(int message, long due, long sent) {
        if (file != null) {
            file.sent(message, due, sent);
        }
        attempted.increment();
        if (awaits(due)) {
            lastDue.accumulate(due);
        }
    }

    /** Notes that an offer was confirmed. */
    void confirmed(int message, long due, long intended, long sent, long answered) {
        if (file != null) {
            file.confirmed(message, answered);
        }
        OfferTally tally = offers[message % producers % offers.length];
        tally.lock.lock();
        try {
            tally.confirmed++;
            tally.record(intended, sent, answered);
            if ((ledger.note(message, Ledger.CONFIRMED) & Ledger.DELIVERED) == 0) {
                outstanding(1, due);
            }
        } finally {
            tally.lock.unlock();
        }
    }

    /** Notes that an offer was answered by an error. */
    void failed(int message, Throwable error, long intended, long sent, long answered) {
        if (file != null) {
            file.failed(message, answered, Refusal.is(error));
        }
        offerError.set(error);
        OfferTally tally = offers[message % producers % offers.length];
        tally.lock.lock();
        try {
            tally.failed++;
            tally.record(intended, sent, answered);
        } finally {
            tally.lock.unlock();
        }
    }

    /** Notes that a consumer has taken a message. */
    void delivered(int consumer, int message, long due, long now) {
        if (file != null) {
            file.came(message, due, now);
        }
        TakeTally tally = takes[consumer % takes.length];
        tally.lock.lock();
        try {
            int before = ledger.note(message, Ledger.DELIVERED);
            if ((before & Ledger.DELIVERED) != 0) {
                tally.duplicate++;
                return;
            }
            tally.record(due, now);
            boolean calledOff = (before & Ledger.REMOVED) != 0;
            if (!calledOff && ((before & Ledger.CONFIRMED) != 0 || !role.offers(phase, message))) {
                outstanding(-1, due);
            }
        } finally {
            tally.lock.unlock();
        }
        lastCame.accumulate(now);
    }

    /** Notes that a removal found its message, or found nothing. */
    void removed(int message, boolean found, long due, long took) {
        recordRemoval(took);
        if (!found) {
            tooLate.increment();
        } else if ((ledger.note(message, Ledger.REMOVED) & Ledger.DELIVERED) == 0) {
            outstanding(-1, due);
        }
    }

    /** Notes that a removal was answered by an error. */
    void removeFailed(Throwable error, long took) {
        recordRemoval(took);
        removeErrors.increment();
        removeError.set(error);
    }

    long sumOffers(ToLongFunction<OfferTally> number) {
        return Tally.sum(offers, number);
    }

    long sumTakes(ToLongFunction<TakeTally> number) {
        return Tally.sum(takes, number);
    }

    /** Carries something out while nothing is counted, so that all it sees is of one instant. */
    <T> T still(Supplier<T> look) {
        for (OfferTally tally : offers) {
            tally.lock.lock();
        }
        for (TakeTally tally : takes) {
            tally.lock.lock();
        }
        try {
            return look.get();
        } finally {
            for (OfferTally tally : offers) {
                tally.lock.unlock();
            }
            for (TakeTally tally : takes) {
                tally.lock.unlock();
            }
        }
    }

    long attempted() {
        return attempted.sum();
    }

    long outstanding() {
        return outstanding.sum();
    }

    ObjectNode counts() {
        return Protocol.JSON.createObjectNode()
                .put("attempted", attempted())
                .put("confirmed", sumOffers(t -> t.confirmed))
                .put("failed", sumOffers(t -> t.failed))
                .put("delivered", sumTakes(t -> t.delivered))
                .put("duplicate", sumTakes(t -> t.duplicate))
                .put("early", sumTakes(t -> t.early))
                .put("too_late", tooLate.sum())
                .put("remove_errors", removeErrors.sum())
                .put("outstanding", outstanding())
                .put("last_due", lastDue.get())
                .put("last_came", lastCame.get());
    }

    ObjectNode histograms() {
        ObjectNode histograms = Protocol.JSON.createObjectNode();
        histograms.set("lateness", Tally.join(takes, t -> t.lateness).toJson());
        histograms.set("past_due", Tally.join(takes, t -> t.pastDue).toJson());
        histograms.set("offer_rtt", Tally.join(offers, t -> t.rtt).toJson());
        histograms.set("response_time", Tally.join(offers, t -> t.responseTime).toJson());
        histograms.set("schedule_lag", Tally.join(offers, t -> t.scheduleLag).toJson());
        if (plan.callOff().any()) {
            synchronized (removeRtt) {
                histograms.set("remove_rtt", removeRtt.toJson());
            }
        }
        return histograms;
    }

    /** The caller sees to it that nothing is counted meanwhile. */
    ArrayNode latest() {
        Latest all = new Latest(plan.messages());
        for (TakeTally tally : takes) {
            all.addAll(tally.latest);
        }
        return all.toJson();
    }

    ObjectNode messages() {
        return ledger.toJson(plan.callOff().any());
    }

    private boolean awaits(long due) {
        return due <= lastAwaited;
    }

    private void outstanding(long by, long due) {
        if (awaits(due)) {
            outstanding.add(by);
        }
    }

    private void recordRemoval(long took) {
        synchronized (removeRtt) {
            removeRtt.record(took);
        }
    }
}
