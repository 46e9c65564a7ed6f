package io.github.dqbench.redisson;

import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** The operations by name, and what of them this release can do. */
final class Ops {

    /** One operation. What it returns becomes "result"; what it throws becomes "error". */
    interface Op {
        Object run(Call call) throws Throwable;
    }

    private final Map<String, Op> ops = new TreeMap<>();
    private final TreeSet<String> capabilities = new TreeSet<>();

    void add(String name, Op op) {
        ops.put(name, op);
        capabilities.add(name);
    }

    /** One operation without a result. */
    interface Action {
        void run(Call call) throws Throwable;
    }

    void act(String name, Action action) {
        add(name, call -> {
            action.run(call);
            return null;
        });
    }

    /** Adds an operation that only works where the release has the method behind it. */
    void add(String name, Reflect needs, Op op) {
        ops.put(name, op);
        capability(name, needs);
    }

    /** Adds a capability that is not an operation of its own. */
    void capability(String name) {
        capabilities.add(name);
    }

    /** Adds one that only some releases have: an overload, written "op(argument)". */
    void capability(String name, Reflect needs) {
        if (needs.present()) {
            capability(name);
        }
    }

    boolean has(String name) {
        return ops.containsKey(name);
    }

    Op find(String name) {
        Op op = ops.get(name);
        if (op == null) {
            throw new IllegalArgumentException("op \"" + name + "\" is not known; hello lists the capabilities");
        }
        return op;
    }

    Iterable<String> capabilities() {
        return capabilities;
    }
}
