package io.github.dqbench.redisson;

import java.util.concurrent.atomic.AtomicReference;

/** The first of many errors of a kind, which usually names the cause; it also goes to the log. */
final class FirstError {

    private final String kind;
    private final AtomicReference<String> words = new AtomicReference<>();

    FirstError(String kind) {
        this.kind = kind;
    }

    void set(Throwable error) {
        if (words.get() == null && words.compareAndSet(null, error.toString())) {
            System.err.println(kind + ": " + error);
        }
    }

    String kind() {
        return kind;
    }

    /** Null if there was none. */
    String words() {
        return words.get();
    }
}
