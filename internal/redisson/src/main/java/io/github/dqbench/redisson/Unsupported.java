package io.github.dqbench.redisson;

/** Says that the Redisson release at hand has no such method, codec or setting. */
final class Unsupported extends RuntimeException {

    private static final long serialVersionUID = 1L;

    Unsupported(String what) {
        super(what + " does not exist in Redisson " + Release.version());
    }
}
