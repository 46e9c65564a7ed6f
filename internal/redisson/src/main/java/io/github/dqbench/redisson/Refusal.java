package io.github.dqbench.redisson;

import java.util.List;
import org.redisson.client.RedisException;
import org.redisson.client.RedisOutOfMemoryException;

/** Which errors of an offer say that nothing was queued: those by which the server refuses a command before it does it. */
final class Refusal {

    private static final List<String> CODES =
            List.of("OOM ", "MISCONF ", "READONLY ", "BUSY ", "LOADING ", "MASTERDOWN ", "NOREPLICAS ", "NOPERM ", "NOAUTH ");

    private Refusal() {}

    /**
     * Reports whether an error, or what caused it, is a refusal. What went wrong on the way to the server is none: Redisson
     * sends again what was not answered, and does not tell of what became of the earlier attempts.
     */
    static boolean is(Throwable error) {
        for (Throwable t = error; t != null; t = t.getCause()) {
            String text = t.getMessage();
            if (t instanceof RedisOutOfMemoryException) {
                return true; // whose text has lost its code
            }
            if (t instanceof RedisException && text != null && CODES.stream().anyMatch(text::startsWith)) {
                return true;
            }
        }
        return false;
    }
}
