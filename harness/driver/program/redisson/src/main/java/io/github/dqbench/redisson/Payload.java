package io.github.dqbench.redisson;

/**
 * The text of a load message, the same in every implementation:
 * {@code dqb1|<run id, 8 hex>|<producer, 4 hex>|<sequence, 8 hex>|<due, Unix ns, 16 hex>|<phase, w or m>|....}
 */
record Payload(int runId, int producer, int sequence, long dueUnixNanos, Phase phase) {

    static final int MIN_BYTES = 47;
    private static final String MAGIC = "dqb1";

    String format(int bytes) {
        String head = String.format("%s|%08x|%04x|%08x|%016x|%c|",
                MAGIC, runId, producer, sequence, dueUnixNanos, phase.letter);
        return head + ".".repeat(bytes - head.length());
    }

    /** The payload in a text, or null if it is none. */
    static Payload parse(String text) {
        if (text.length() < MIN_BYTES || !text.startsWith(MAGIC)) {
            return null;
        }
        for (int separator : new int[] {4, 13, 18, 27, 44, 46}) {
            if (text.charAt(separator) != '|') {
                return null;
            }
        }
        try {
            return new Payload(
                    Integer.parseUnsignedInt(text.substring(5, 13), 16),
                    Integer.parseUnsignedInt(text.substring(14, 18), 16),
                    Integer.parseUnsignedInt(text.substring(19, 27), 16),
                    Long.parseUnsignedLong(text.substring(28, 44), 16),
                    Phase.of(text.charAt(45)));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }
}
