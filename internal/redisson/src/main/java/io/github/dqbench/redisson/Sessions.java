package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** The Redisson clients and queue handles of this process, by the names the caller uses for them. */
final class Sessions {

    private static final long SHUTDOWN_SECONDS = 2;
    private static final long SHUTDOWN_GRACE_MILLIS = 500;

    private final Map<String, RedissonClient> clients = new HashMap<>();
    private final Map<String, Handle> handles = new HashMap<>();
    private final Map<String, String> clientOfHandle = new HashMap<>();
    private int made;

    void register(Ops ops) {
        ops.add("open", this::open);
        ops.capability("open(capacity)");
        ops.add("close", this::close);
        ops.act("destroy", call -> call.handle().delayed().destroy());
    }

    synchronized Handle handle(String name) {
        Handle handle = handles.get(name);
        if (handle == null) {
            throw new IllegalArgumentException("handle \"" + name + "\" is not open");
        }
        return handle;
    }

    /** Shuts every client down without waiting for what is under way. */
    synchronized void closeAll() {
        for (RedissonClient client : clients.values()) {
            shutdown(client);
        }
        clients.clear();
        handles.clear();
        clientOfHandle.clear();
    }

    /** Some releases wait without end for commands whose caller was interrupted; this one does not. */
    static void shutdown(RedissonClient client) {
        Thread thread = new Thread(() -> client.shutdown(0, SHUTDOWN_SECONDS, TimeUnit.SECONDS), "shutdown");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(TimeUnit.SECONDS.toMillis(SHUTDOWN_SECONDS) + SHUTDOWN_GRACE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Object open(Call call) throws Throwable {
        Codec codec = Codecs.named(call.text("codec", "default"), call.text("valueType", "pojo"));
        String clientName;
        RedissonClient client;
        synchronized (this) {
            clientName = call.text("client", "client-" + ++made);
            client = clients.get(clientName);
            if (client == null) {
                client = ClientConfig.connect(call.text("redis"), call.nodeOrNull("options"));
                clients.put(clientName, client);
            }
        }
        Handle handle = new Handle(client, call.text("queue"), codec, call.flag("delayed", true), capacity(call));
        synchronized (this) {
            String name = "handle-" + ++made;
            handles.put(name, handle);
            clientOfHandle.put(name, clientName);
            ObjectNode result = Protocol.JSON.createObjectNode();
            return result.put("handle", name).put("client", clientName);
        }
    }

    /** The bound of the destination, or 0 for none. */
    private static int capacity(Call call) {
        JsonNode options = call.nodeOrNull("options");
        return options == null ? 0 : options.path("capacity").asInt();
    }

    /** Shuts down the client of a handle, a client by name, or all of them. */
    private Object close(Call call) {
        if (!call.has("handle") && !call.has("client")) {
            closeAll();
            return null;
        }
        RedissonClient client;
        synchronized (this) {
            String name = call.has("client") ? call.text("client") : clientOfHandle.get(call.text("handle"));
            client = clients.remove(name);
            if (client == null) {
                throw new IllegalArgumentException("client \"" + name + "\" is not open");
            }
            clientOfHandle.entrySet().removeIf(entry -> entry.getValue().equals(name) && handles.remove(entry.getKey()) != null);
        }
        shutdown(client);
        return null;
    }
}
