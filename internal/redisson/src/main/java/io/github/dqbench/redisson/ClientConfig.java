package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Turns a Redis URL and the options of "open" into a Redisson configuration of any release. */
final class ClientConfig {

    private final Config config = new Config();
    private final RedisUrl url;
    private final Object servers;

    private ClientConfig(RedisUrl url, boolean withScheme) {
        this.url = url;
        String[] addresses = url.addresses(withScheme);
        switch (url.mode()) {
            case CLUSTER -> servers = config.useClusterServers().addNodeAddress(addresses);
            case SENTINEL -> servers = config.useSentinelServers().setMasterName(url.master()).addSentinelAddress(addresses);
            default -> servers = config.useSingleServer().setAddress(addresses[0]);
        }
    }

    static RedissonClient connect(String url, JsonNode options) throws Throwable {
        RedisUrl parsed = RedisUrl.parse(url);
        try {
            return new ClientConfig(parsed, true).create(options);
        } catch (IllegalArgumentException e) {
            if (!wantsPlainAddress(e)) {
                throw e;
            }
            return new ClientConfig(parsed, false).create(options);
        }
    }

    /** Early releases (3.2.0) take host:port and read the scheme's colon as the start of a port. */
    private static boolean wantsPlainAddress(IllegalArgumentException e) {
        return String.valueOf(e.getMessage()).startsWith("port out of range");
    }

    private RedissonClient create(JsonNode options) throws Throwable {
        if (url.username() != null) {
            set(url.username(), "setUsername");
        }
        if (url.password() != null) {
            set(url.password(), "setPassword");
        }
        if (url.database() != 0) {
            set(url.database(), "setDatabase");
        }
        if (options != null) {
            for (Iterator<Map.Entry<String, JsonNode>> it = options.fields(); it.hasNext(); ) {
                Map.Entry<String, JsonNode> option = it.next();
                apply(option.getKey(), option.getValue());
            }
        }
        return Redisson.create(config);
    }

    private void apply(String option, JsonNode value) throws Throwable {
        switch (option) {
            case "capacity" -> { } // of a queue: Sessions
            case "nameMapperPrefix" -> setNameMapper(value.asText());
            case "threads" -> set(value.asInt(), "setThreads");
            case "nettyThreads" -> set(value.asInt(), "setNettyThreads");
            case "clientName" -> set(value.asText(), "setClientName");
            case "connections" -> set(value.asInt(), "setConnectionPoolSize", "setMasterConnectionPoolSize");
            case "minIdleConnections" ->
                    set(value.asInt(), "setConnectionMinimumIdleSize", "setMasterConnectionMinimumIdleSize");
            case "subscriptionsPerConnection" -> set(value.asInt(), "setSubscriptionsPerConnection");
            case "responseTimeout" -> set(value.asInt(), "setTimeout");
            case "connectTimeout" -> set(value.asInt(), "setConnectTimeout");
            case "retryAttempts" -> set(value.asInt(), "setRetryAttempts");
            case "retryDelay" -> setRetryDelay(value.asInt());
            case "pingInterval" -> set(value.asInt(), "setPingConnectionInterval");
            case "scriptCache" -> set(value.asBoolean(), "setUseScriptCache");
            case "resp" -> setProtocol(value.asInt());
            default -> throw new IllegalArgumentException("option \"" + option + "\" is not known; see docs/protocol.md");
        }
    }

    /** Map(name) is prefix + name; the interface moved between packages and from server to client configuration. */
    private void setNameMapper(String prefix) throws Throwable {
        Object holder = setter(config, "setNameMapper") != null ? config : servers;
        Method setter = setter(holder, "setNameMapper");
        if (setter == null) {
            throw new Unsupported("a name mapper");
        }
        Class<?> mapper = setter.getParameterTypes()[0];
        Object proxy = Proxy.newProxyInstance(mapper.getClassLoader(), new Class<?>[] {mapper}, (self, method, args) ->
                switch (method.getName()) {
                    case "map" -> prefix + args[0];
                    case "unmap" -> ((String) args[0]).startsWith(prefix) ? ((String) args[0]).substring(prefix.length()) : args[0];
                    case "equals" -> self == args[0];
                    case "hashCode" -> System.identityHashCode(self);
                    default -> "prefix " + prefix;
                });
        invoke(holder, setter, proxy);
    }

    private void setRetryDelay(int milliseconds) throws Throwable {
        Method strategy = setter(servers, "setRetryDelay");
        if (strategy == null) {
            set(milliseconds, "setRetryInterval");
            return;
        }
        Class<?> constant = Class.forName("org.redisson.config.ConstantDelay");
        invoke(servers, strategy, constant.getConstructor(Duration.class).newInstance(Duration.ofMillis(milliseconds)));
    }

    private void setProtocol(int resp) throws Throwable {
        Method setter = setter(config, "setProtocol");
        if (setter == null) {
            throw new Unsupported("a choice of RESP version");
        }
        String wanted = "RESP" + resp;
        for (Object constant : setter.getParameterTypes()[0].getEnumConstants()) {
            if (constant.toString().equals(wanted)) {
                invoke(config, setter, constant);
                return;
            }
        }
        throw new IllegalArgumentException("option resp: " + resp + ", want 2 or 3");
    }

    /** Calls the first of these setters that the client's or the servers' configuration has. */
    private void set(Object value, String... names) throws Throwable {
        for (String name : names) {
            for (Object holder : new Object[] {servers, config}) {
                Method setter = setter(holder, name);
                if (setter != null) {
                    invoke(holder, setter, value);
                    return;
                }
            }
        }
        throw new Unsupported(names[0]);
    }

    private static Method setter(Object holder, String name) {
        for (Method method : holder.getClass().getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == 1) {
                return method;
            }
        }
        return null;
    }

    private static void invoke(Object holder, Method setter, Object value) throws Throwable {
        try {
            setter.setAccessible(true); // up to 3.10.0 a class that is not public declares some
            setter.invoke(holder, value);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
