package io.github.dqbench.redisson;

/** What the value of a load message says. */
record Payload(int producer, int sequence, long dueUnixNanos, Phase phase) {
}
