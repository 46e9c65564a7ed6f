package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** What became of every message of a phase, as far as this part saw it: a byte each. */
final class Ledger {

    static final int CONFIRMED = 1;
    static final int DELIVERED = 2;
    static final int REMOVED = 4;

    private static final VarHandle STATE = MethodHandles.arrayElementVarHandle(byte[].class);

    private final byte[] states;

    Ledger(int messages) {
        states = new byte[messages];
    }

    /** Notes one of the three, and returns what was noted before: of two threads, exactly one sees the other's. */
    int note(int message, int flag) {
        return (byte) STATE.getAndBitwiseOr(states, message, (byte) flag);
    }

    ObjectNode toJson(boolean callsOff) {
        ObjectNode sets = Protocol.JSON.createObjectNode()
                .put("confirmed", set(CONFIRMED)).put("delivered", set(DELIVERED));
        return callsOff ? sets.put("removed", set(REMOVED)) : sets;
    }

    private String set(int flag) {
        MessageSet set = new MessageSet(states.length);
        for (int i = 0; i < states.length; i++) {
            if (((byte) STATE.getVolatile(states, i) & flag) != 0) {
                set.add(i);
            }
        }
        return set.toBase64();
    }
}
