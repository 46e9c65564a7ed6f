package io.github.dqbench.redisson;

import java.util.List;

/** When the messages of a phase come due: drawn delays after their offers, or instants after the start of the phase. */
record Delays(List<Span> spans, boolean together, boolean shuffled) {

    /** A range of whole milliseconds, both ends included. */
    record Span(long shortestMillis, long longestMillis) {

        Span {
            LoadPlan.require(0 <= shortestMillis && shortestMillis <= longestMillis, "delay", "0 <= shortest <= longest");
        }

        private long width() {
            return longestMillis - shortestMillis;
        }
    }

    Delays {
        spans = spans.isEmpty() ? List.of(new Span(0, 0)) : List.copyOf(spans);
    }

    /** The delay of message i of n in milliseconds; with together its due instant after the start of the phase. */
    long millis(long seed, int i, int n) {
        Span span = span(seed, i);
        long more = together && !shuffled
                ? Math.multiplyExact(span.width(), (long) i) / n
                : Long.remainderUnsigned(Mix.mix(seed ^ Mix.mix(i)), span.width() + 1);
        return span.shortestMillis() + more;
    }

    private Span span(long seed, int i) {
        return spans.size() == 1
                ? spans.get(0)
                : spans.get((int) Long.remainderUnsigned(Mix.mix(Mix.mix(seed) ^ i), spans.size()));
    }
}
