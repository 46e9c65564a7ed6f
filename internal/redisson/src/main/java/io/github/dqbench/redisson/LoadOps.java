package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.redisson.api.RedissonClient;

/** The ops "load.*", and the agents that are open by the names the caller uses for them. */
final class LoadOps {

    /** Redisson's own default; an agent with more threads than that gets a connection for each. */
    private static final int DEFAULT_CONNECTIONS = 64;
    private static final int SPARE_CONNECTIONS = 8;
    /** Half of the connections that Redisson keeps for subscriptions: the queues, a channel each, go to so many. */
    private static final int SUBSCRIPTION_CONNECTIONS = 25;
    /** Redisson's own default of subscriptions a connection. */
    private static final int DEFAULT_SUBSCRIPTIONS = 5;
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private final Map<String, LoadAgent> agents = new HashMap<>();
    private int made;

    void register(Ops ops) {
        ops.capability("load");
        ops.capability("load(queues)");
        ops.capability("load(poll)");
        ops.capability("load(cancel)");
        ops.add("load.open", this::open);
        ops.act("load.offer", call -> agent(call).offer(call.node("items").binaryValue()));
        ops.act("load.take", call -> agent(call).take(call.node("consumers")));
        ops.act("load.halt", call -> agent(call).halt(call.flag("abandon", false)));
        ops.add("load.usage", call -> usage());
        ops.act("load.end", call -> agent(call).end());
        ops.act("load.close", call -> {
            LoadAgent agent = agent(call);
            synchronized (this) {
                agents.remove(call.text("handle"));
            }
            agent.close();
        });
    }

    /** Closes every agent without waiting for what is under way. */
    synchronized void closeAll() {
        agents.values().forEach(LoadAgent::close);
        agents.clear();
    }

    private Object open(Call call) throws Throwable {
        String codec = call.text("codec", "string");
        if (!codec.equals("string") && !codec.equals("bytes")) {
            throw new IllegalArgumentException("codec \"" + codec + "\" of a load, want string or bytes");
        }
        List<String> names = List.of(call.texts("queues"));
        RedissonClient client = ClientConfig.connect(call.text("redis"), options(call, names.size()));
        LoadAgent agent;
        try {
            LoadQueues queues = new LoadQueues(client, names, Codecs.named(codec, "string"), codec.equals("bytes"));
            agent = new LoadAgent(call, client, queues);
        } catch (Throwable e) {
            Sessions.shutdown(client);
            throw e;
        }
        synchronized (this) {
            String name = "load-" + ++made;
            agents.put(name, agent);
            return Protocol.JSON.createObjectNode().put("handle", name).put("now", String.valueOf(agent.now()));
        }
    }

    private synchronized LoadAgent agent(Call call) {
        LoadAgent agent = agents.get(call.text("handle"));
        if (agent == null) {
            throw new IllegalArgumentException("handle \"" + call.text("handle") + "\" is not an open agent");
        }
        return agent;
    }

    private static ObjectNode options(Call call, int queues) {
        ObjectNode options = Protocol.JSON.createObjectNode();
        String clientName = call.text("client_name", "");
        if (!clientName.isEmpty()) {
            options.put("clientName", clientName);
        }
        int needed = call.integer("most_senders") + call.integer("consumers") + SPARE_CONNECTIONS;
        if (needed > DEFAULT_CONNECTIONS) {
            options.put("connections", needed);
        }
        int subscriptions = queues / SUBSCRIPTION_CONNECTIONS;
        if (subscriptions > DEFAULT_SUBSCRIPTIONS) {
            options.put("subscriptionsPerConnection", subscriptions);
        }
        return options;
    }

    /** What this program has taken of the machine. Collectors that run beside it say so by their names. */
    private static ObjectNode usage() {
        long millis = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (!collector.getName().contains("Concurrent") && !collector.getName().endsWith("Cycles")) {
                millis += Math.max(0, collector.getCollectionTime());
            }
        }
        return Protocol.JSON.createObjectNode().put("cpu_seconds", SYSTEM.getProcessCpuTime() / 1e9)
                .put("gc_pause_seconds", millis / 1e3).put("processors", Runtime.getRuntime().availableProcessors());
    }
}
