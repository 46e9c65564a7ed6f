package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.LongAdder;

/** What became of every message of a phase. Message i is the i div producers-th of producer i mod producers. */
final class Ledger {

    private static final int CONFIRMED = 1;
    private static final int DELIVERED = 2;

    final LongAdder attempted = new LongAdder();
    final LongAdder confirmed = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder delivered = new LongAdder();
    final LongAdder duplicate = new LongAdder();
    final LongAdder early = new LongAdder();

    private final int producers;
    private final AtomicIntegerArray messages;
    private final LongAdder outstanding = new LongAdder();

    Ledger(int producers, int messages) {
        this.producers = producers;
        this.messages = new AtomicIntegerArray(messages);
    }

    int size() {
        return messages.length();
    }

    /** The message a payload stands for; -1 if this phase has no such message. */
    int messageOf(Payload payload) {
        long message = (long) payload.sequence() * producers + payload.producer();
        return payload.producer() < producers && payload.sequence() >= 0 && message < messages.length() ? (int) message : -1;
    }

    void confirm(int message) {
        confirmed.increment();
        if ((set(message, CONFIRMED) & DELIVERED) == 0) {
            outstanding.increment();
        }
    }

    /** Counts a delivery; true for the message's first. */
    boolean deliver(int message) {
        int before = set(message, DELIVERED);
        if ((before & DELIVERED) != 0) {
            duplicate.increment();
            return false;
        }
        delivered.increment();
        if ((before & CONFIRMED) != 0) {
            outstanding.decrement();
        }
        return true;
    }

    /** Whether a message is confirmed and not delivered. */
    boolean missing(int message) {
        return (messages.get(message) & (CONFIRMED | DELIVERED)) == CONFIRMED;
    }

    /** How many messages are confirmed and not delivered. */
    long outstanding() {
        return Math.max(0, outstanding.sum());
    }

    /** How many offers failed or were not answered. */
    long unknown() {
        return attempted.sum() - confirmed.sum();
    }

    /** Strikes the balance. A message that is still held was taken over, even if its offer failed. */
    ObjectNode counts(BitSet held, BitSet notDue) {
        long came = 0;
        long pending = 0;
        long waiting = 0;
        long lost = 0;
        for (int i = 0; i < messages.length(); i++) {
            int state = messages.get(i);
            if ((state & DELIVERED) != 0) {
                came++;
            } else if (held.get(i)) {
                pending++;
                waiting += notDue.get(i) ? 1 : 0;
            } else if ((state & CONFIRMED) != 0) {
                lost++;
            }
        }
        return Protocol.JSON.createObjectNode()
                .put("offered", came + pending + lost).put("delivered", came).put("lost", lost)
                .put("duplicate", duplicate.sum()).put("early", early.sum()).put("pending", pending)
                .put("not_due", waiting)
                .put("offer_errors", unknown());
    }

    private int set(int message, int flag) {
        return messages.getAndUpdate(message, state -> state | flag);
    }
}
