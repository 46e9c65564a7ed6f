package io.github.dqbench.redisson;

/** The part of a load that a message belongs to. */
enum Phase {
    WARMUP('w'),
    MEASURED('m');

    final char letter;

    Phase(char letter) {
        this.letter = letter;
    }

    static Phase of(char letter) {
        return switch (letter) {
            case 'w' -> WARMUP;
            case 'm' -> MEASURED;
            default -> throw new IllegalArgumentException("phase " + letter + ", want w or m");
        };
    }
}
