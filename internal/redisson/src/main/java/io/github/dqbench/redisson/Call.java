package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A request while it is carried out: its arguments, and the queue it is about. */
final class Call {

    private static final Map<String, TimeUnit> UNITS = Map.of(
            "ns", TimeUnit.NANOSECONDS, "us", TimeUnit.MICROSECONDS, "ms", TimeUnit.MILLISECONDS,
            "s", TimeUnit.SECONDS, "m", TimeUnit.MINUTES, "h", TimeUnit.HOURS, "d", TimeUnit.DAYS);

    private final JsonNode request;
    private final Sessions sessions;
    private final Protocol protocol;

    Call(JsonNode request, Sessions sessions, Protocol protocol) {
        this.request = request;
        this.sessions = sessions;
        this.protocol = protocol;
    }

    Handle handle() {
        return sessions.handle(text("handle"));
    }

    /** Sends an event that carries this request's id. */
    void event(String name, ObjectNode fields) {
        protocol.event(request.get("id"), name, fields);
    }

    boolean has(String name) {
        return request.hasNonNull(name);
    }

    JsonNode node(String name) {
        if (!has(name)) {
            throw new IllegalArgumentException("argument \"" + name + "\" is missing");
        }
        return request.get(name);
    }

    JsonNode nodeOrNull(String name) {
        return request.get(name);
    }

    String text(String name) {
        return node(name).asText();
    }

    String text(String name, String otherwise) {
        return has(name) ? request.get(name).asText() : otherwise;
    }

    /** A whole number, given as a JSON number or, beyond 53 bits, as a string. */
    long number(String name) {
        return Long.parseLong(node(name).asText());
    }

    long number(String name, long otherwise) {
        return has(name) ? number(name) : otherwise;
    }

    int integer(String name) {
        return Math.toIntExact(number(name));
    }

    boolean flag(String name, boolean otherwise) {
        return has(name) ? request.get(name).asBoolean() : otherwise;
    }

    /** The unit of "delay", "timeout" and "ttl": milliseconds unless the request says otherwise. */
    TimeUnit unit() {
        TimeUnit unit = UNITS.get(text("unit", "ms"));
        if (unit == null) {
            throw new IllegalArgumentException("unit \"" + text("unit") + "\", want one of " + UNITS.keySet());
        }
        return unit;
    }

    Duration duration(String name) {
        return Duration.ofNanos(unit().toNanos(number(name)));
    }

    Object value(String name) {
        return Values.fromJson(node(name));
    }

    List<Object> values() {
        return Values.listFromJson(node("values"));
    }

    String[] texts(String name) {
        List<String> texts = new ArrayList<>();
        for (JsonNode item : node(name)) {
            texts.add(item.asText());
        }
        return texts.toArray(new String[0]);
    }
}
