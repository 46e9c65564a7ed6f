package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.redisson.api.RedissonClient;

/** The op "load": a client of its own, a plan carried out, the numbers. */
final class LoadOp {

    /** Redisson's own default; a load with more threads than that gets a connection for each. */
    private static final int DEFAULT_CONNECTIONS = 64;
    private static final int SPARE_CONNECTIONS = 8;

    private LoadOp() {
    }

    static void register(Ops ops) {
        ops.add("load", LoadOp::load);
    }

    private static Object load(Call call) throws Throwable {
        LoadPlan plan = LoadPlan.of(call);
        String codec = call.text("codec", "string");
        RedissonClient client = ClientConfig.connect(call.text("redis"), options(call.nodeOrNull("options"), plan));
        try {
            Handle handle = new Handle(client, call.text("queue"), Codecs.named(codec, "string"), true);
            return new LoadRun(plan, handle, codec.equals("bytes"), call).run();
        } finally {
            Sessions.shutdown(client);
        }
    }

    private static JsonNode options(JsonNode given, LoadPlan plan) {
        ObjectNode options = given == null || given.isNull()
                ? Protocol.JSON.createObjectNode()
                : ((ObjectNode) given).deepCopy();
        int needed = plan.producers() + plan.consumers() + SPARE_CONNECTIONS;
        if (!options.has("connections") && needed > DEFAULT_CONNECTIONS) {
            options.put("connections", needed);
        }
        return options;
    }
}
