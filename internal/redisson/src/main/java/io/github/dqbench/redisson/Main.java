package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Drives a real Redisson over JSON lines on stdin and stdout (docs/protocol.md). Each request runs on a thread
 * of its own, so that a blocking one holds nobody up. The program ends when stdin does.
 */
public final class Main {

    private static final long EXIT_MILLIS = 8_000;

    private static final long ANSWER_MILLIS = 4_000;

    private final Ops ops = new Ops();
    private final Sessions sessions = new Sessions();
    private final LoadOps loads = new LoadOps();
    private final Map<String, Thread> running = new ConcurrentHashMap<>();
    private final Set<String> cancelled = ConcurrentHashMap.newKeySet();
    private final Protocol protocol;

    private Main(Protocol protocol) {
        this.protocol = protocol;
        ops.add("hello", call -> hello());
        ops.add("cancel", this::cancel);
        sessions.register(ops);
        Codecs.register(ops);
        QueueOps.register(ops);
        loads.register(ops);
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            new Main(new Protocol(in, out)).serve();
        } catch (IOException e) {
            System.err.println("reading requests: " + e);
            Runtime.getRuntime().halt(1);
        }
    }

    private void serve() throws IOException {
        for (JsonNode request = protocol.read(); request != null; request = protocol.read()) {
            start(request);
        }
        haltLater();
        awaitAnswers();
        loads.closeAll();
        sessions.closeAll();
        Runtime.getRuntime().halt(0);
    }

    /** What was asked before the end is answered, unless it waits: for an element, or for the end of a load. */
    private void awaitAnswers() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ANSWER_MILLIS);
        try {
            for (Thread thread : List.copyOf(running.values())) {
                TimeUnit.NANOSECONDS.timedJoin(thread, deadline - System.nanoTime());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void start(JsonNode request) {
        String id = request.path("id").asText();
        Thread thread = new Thread(() -> {
            try {
                answer(request);
            } finally {
                running.remove(id);
                cancelled.remove(id);
            }
        }, "request-" + id);
        thread.setDaemon(true);
        running.put(id, thread);
        thread.start();
    }

    private void answer(JsonNode request) {
        JsonNode id = request.path("id");
        try {
            Call call = new Call(request, sessions, protocol);
            protocol.result(id, ops.find(request.path("op").asText()).run(call));
        } catch (Throwable e) {
            String name = cancelled.contains(id.asText()) ? "cancelled"
                    : e instanceof Unsupported ? "unsupported"
                    : e.getClass().getName();
            protocol.error(id, name, e.getMessage());
        }
    }

    private Object hello() {
        ObjectNode result = Protocol.JSON.createObjectNode();
        result.put("name", "redisson");
        result.put("version", Unsupported.release());
        result.put("protocol", 3);
        ArrayNode capabilities = result.putArray("capabilities");
        ops.capabilities().forEach(capabilities::add);
        ArrayNode codecs = result.putArray("codecs");
        Codecs.available().forEach(codecs::add);
        return result;
    }

    /** Interrupts a request that is still running; true if there was one. */
    private Object cancel(Call call) {
        String target = call.text("target");
        Thread thread = running.get(target);
        if (thread == null) {
            return false;
        }
        cancelled.add(target);
        thread.interrupt();
        return true;
    }

    /** A shutdown that hangs must not keep the process. */
    private static void haltLater() {
        Thread watchdog = new Thread(() -> {
            try {
                Thread.sleep(EXIT_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(0);
        }, "exit");
        watchdog.setDaemon(true);
        watchdog.start();
    }
}
