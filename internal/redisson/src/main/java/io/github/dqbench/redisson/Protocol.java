package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The lines on stdin and stdout: one JSON object each, see docs/protocol.md. */
final class Protocol {

    static final ObjectMapper JSON = new ObjectMapper();

    private final BufferedReader in;
    private final PrintStream out;

    Protocol(BufferedReader in, PrintStream out) {
        this.in = in;
        this.out = out;
    }

    /** The next request; null once the other side has closed the stream. */
    JsonNode read() throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isEmpty()) {
                return JSON.readTree(line);
            }
        }
        return null;
    }

    void result(JsonNode id, Object result) {
        ObjectNode response = JSON.createObjectNode();
        response.set("id", id);
        response.put("ok", true);
        response.set("result", JSON.valueToTree(result));
        write(response);
    }

    void error(JsonNode id, String errorClass, String message) {
        ObjectNode response = JSON.createObjectNode();
        response.set("id", id);
        response.put("ok", false);
        ObjectNode detail = response.putObject("error");
        detail.put("class", errorClass);
        detail.put("message", message);
        write(response);
    }

    /** Sends a line that belongs to a request but does not answer it. */
    void event(JsonNode id, String event, ObjectNode fields) {
        ObjectNode line = JSON.createObjectNode();
        line.set("id", id);
        line.put("event", event);
        line.setAll(fields);
        write(line);
    }

    private void write(ObjectNode line) {
        byte[] bytes = (line + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) {
            out.write(bytes, 0, bytes.length);
            out.flush();
        }
    }
}
