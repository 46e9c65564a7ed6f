package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** The ops "load.*", and the parts that are open by the names the caller uses for them. */
final class LoadOps {

    /** Redisson's own default; a part with more threads than that gets a connection for each. */
    private static final int DEFAULT_CONNECTIONS = 64;
    private static final int SPARE_CONNECTIONS = 8;
    /** Half of the connections that Redisson keeps for subscriptions: the queues of a plan, a channel each, go to so many. */
    private static final int SUBSCRIPTION_CONNECTIONS = 25;
    /** Redisson's own default of subscriptions a connection. */
    private static final int DEFAULT_SUBSCRIPTIONS = 5;

    private final Map<String, LoadPart> parts = new HashMap<>();
    private int made;

    void register(Ops ops) {
        ops.capability("load");
        ops.capability("load(queues)");
        ops.capability("load(poll)");
        ops.capability("load(cancel)");
        ops.capability("load(ledger)");
        ops.add("load.open", this::open);
        ops.add("load.run", call -> part(call).run(phase(call), call.number("at"), fields -> call.event("progress", fields)));
        ops.add("load.counts", call -> part(call).counts(phase(call)));
        ops.add("load.stop", call -> {
            part(call).stop(phase(call));
            return null;
        });
        ops.add("load.end", call -> {
            part(call).end(phase(call));
            return null;
        });
        ops.add("load.close", call -> {
            LoadPart part = part(call);
            synchronized (this) {
                parts.remove(call.text("handle"));
            }
            part.close();
            return null;
        });
    }

    /** Closes every part without waiting for what is under way. */
    synchronized void closeAll() {
        parts.values().forEach(LoadPart::abandon);
        parts.clear();
    }

    private Object open(Call call) throws Throwable {
        LoadPlan plan = LoadPlan.of(call.node("plan"));
        JsonNode part = call.node("part");
        Role role = new Role(plan, part.path("member").asInt(), part.path("worker").asInt(), part.path("workers").asInt());
        String codecName = call.text("codec", "string");
        if (!codecName.equals("string") && !codecName.equals("bytes")) {
            throw new IllegalArgumentException("codec \"" + codecName + "\" of a load, want string or bytes");
        }
        Codec codec = Codecs.named(codecName, "string");
        RedissonClient client = ClientConfig.connect(call.text("redis"),
                options(call.nodeOrNull("options"), call.text("client_name", ""), plan, role));
        LoadPart opened;
        try {
            opened = new LoadPart(plan, role, client, codec, codecName.equals("bytes"), call.text("ledger", ""));
        } catch (Throwable e) {
            Sessions.shutdown(client);
            throw e;
        }
        synchronized (this) {
            String name = "load-" + ++made;
            parts.put(name, opened);
            return Protocol.JSON.createObjectNode().put("handle", name);
        }
    }

    private synchronized LoadPart part(Call call) {
        LoadPart part = parts.get(call.text("handle"));
        if (part == null) {
            throw new IllegalArgumentException("handle \"" + call.text("handle") + "\" is not an open part of a load");
        }
        return part;
    }

    private static Phase phase(Call call) {
        return Phase.of(call.text("phase"));
    }

    private static JsonNode options(JsonNode given, String clientName, LoadPlan plan, Role role) {
        ObjectNode options = given == null || given.isNull()
                ? Protocol.JSON.createObjectNode()
                : ((ObjectNode) given).deepCopy();
        if (!clientName.isEmpty() && !options.has("clientName")) {
            options.put("clientName", clientName);
        }
        int needed = producers(plan, role) + role.consumers() + SPARE_CONNECTIONS;
        if (!options.has("connections") && needed > DEFAULT_CONNECTIONS) {
            options.put("connections", needed);
        }
        int subscriptions = plan.queues().size() / SUBSCRIPTION_CONNECTIONS;
        if (!options.has("subscriptionsPerConnection") && subscriptions > DEFAULT_SUBSCRIPTIONS) {
            options.put("subscriptionsPerConnection", subscriptions);
        }
        return options;
    }

    /** The threads that offer or cancel in the phase that has more of them. */
    private static int producers(LoadPlan plan, Role role) {
        int most = 0;
        for (Phase phase : Phase.values()) {
            int threads = Producers.count(plan, role, phase);
            most = Math.max(most, plan.of(phase).callOff().any() ? 2 * threads : threads);
        }
        return most;
    }
}
