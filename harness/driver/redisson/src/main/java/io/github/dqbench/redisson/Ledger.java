package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;

/** What became of every message of a plan. */
final class Ledger {

    private static final int OFFERED = 1;
    private static final int FAILED = 2;
    /** Deliveries are counted in the bits from here up. */
    private static final int DELIVERY = 4;

    final LongAdder early = new LongAdder();
    final LongAdder foreign = new LongAdder();
    final LongAdder takeErrors = new LongAdder();
    final LongAdder measuredOffered = new LongAdder();
    final LongAdder measuredDelivered = new LongAdder();

    private final LoadPlan plan;
    private final AtomicIntegerArray messages;
    private final LongAdder confirmed = new LongAdder();
    private final LongAdder confirmedAndDelivered = new LongAdder();

    Ledger(LoadPlan plan) {
        this.plan = plan;
        this.messages = new AtomicIntegerArray(plan.messages());
    }

    void offered(int message) {
        confirmed.increment();
        if (mark(message, OFFERED) >= DELIVERY) {
            confirmedAndDelivered.increment();
        }
        if (plan.measured(message)) {
            measuredOffered.increment();
        }
    }

    void failed(int message) {
        mark(message, FAILED);
    }

    /** The message a payload stands for; -1 for another run's. */
    int messageOf(Payload payload) {
        if (payload == null || payload.runId() != plan.runId() || payload.producer() >= plan.producers()) {
            return -1;
        }
        long message = (long) payload.sequence() * plan.producers() + payload.producer();
        return message >= 0 && message < messages.length() ? (int) message : -1;
    }

    /** Counts a delivery; true for the message's first. */
    boolean delivered(int message) {
        int before = messages.getAndAdd(message, DELIVERY);
        if (before >= DELIVERY) {
            return false;
        }
        if ((before & OFFERED) != 0) {
            confirmedAndDelivered.increment();
        }
        if (plan.measured(message)) {
            measuredDelivered.increment();
        }
        return true;
    }

    /** True once every confirmed message has been delivered. */
    boolean settled() {
        return confirmedAndDelivered.sum() >= confirmed.sum();
    }

    /** The counts of the measured messages, or of the warm-up. */
    ObjectNode counts(boolean measured, BitSet stillQueued) {
        long offered = 0, delivered = 0, duplicate = 0, pending = 0, lost = 0, errors = 0;
        for (int i = 0; i < messages.length(); i++) {
            if (plan.measured(i) != measured) {
                continue;
            }
            int state = messages.get(i);
            int deliveries = state / DELIVERY;
            offered += state & OFFERED;
            errors += (state & FAILED) / FAILED;
            delivered += Math.min(deliveries, 1);
            duplicate += Math.max(deliveries - 1, 0);
            if ((state & OFFERED) != 0 && deliveries == 0) {
                if (stillQueued.get(i)) {
                    pending++;
                } else {
                    lost++;
                }
            }
        }
        return Protocol.JSON.createObjectNode()
                .put("offered", offered).put("delivered", delivered).put("lost", lost)
                .put("duplicate", duplicate).put("pending", pending).put("offer_errors", errors);
    }

    private int mark(int message, int flag) {
        return messages.getAndUpdate(message, state -> state | flag);
    }
}
