package io.github.dqbench.redisson;

/** The part of a load that a message belongs to. */
enum Phase {
    WARMUP("w"),
    MEASURED("m");

    final String name;
    final byte letter;

    Phase(String name) {
        this.name = name;
        this.letter = (byte) name.charAt(0);
    }

    static Phase of(String name) {
        for (Phase phase : values()) {
            if (phase.name.equals(name)) {
                return phase;
            }
        }
        throw new IllegalArgumentException("phase \"" + name + "\", want w or m");
    }
}
