package io.github.dqbench.redisson;

import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.redisson.api.RExpirable;
import org.redisson.api.RObject;

/** What every Redisson object can do: exist, expire, be deleted, renamed, copied. */
final class ObjectOps {

    /** The NX, XX, GT and LT forms of expire. */
    private static final Map<String, String> CONDITIONS = Map.of(
            "if-set", "expireIfSet", "if-not-set", "expireIfNotSet",
            "if-greater", "expireIfGreater", "if-less", "expireIfLess");

    private final Ops ops;
    private final String prefix;
    private final Function<Call, RExpirable> object;

    private ObjectOps(Ops ops, String prefix, Function<Call, RExpirable> object) {
        this.ops = ops;
        this.prefix = prefix;
        this.object = object;
    }

    static void register(Ops ops, String prefix, Function<Call, RExpirable> object) {
        ObjectOps registrar = new ObjectOps(ops, prefix, object);
        registrar.keyOps();
        registrar.expiryOps();
        registrar.copyOps();
    }

    private void keyOps() {
        ops.add(prefix + "getName", call -> of(call).getName());
        ops.add(prefix + "delete", call -> of(call).delete());
        ops.add(prefix + "isExists", call -> of(call).isExists());
        ops.add(prefix + "renamenx", call -> of(call).renamenx(call.text("name")));
        ops.add(prefix + "rename", call -> {
            of(call).rename(call.text("name"));
            return null;
        });
        plain("unlink");
        plain("touch");
        plain("sizeInMemory");
        plain("getIdleTime");
        Reflect dump = Reflect.method(RObject.class, "dump");
        ops.add(prefix + "dump", dump, call -> {
            byte[] bytes = (byte[]) dump.call(of(call));
            return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
        });
    }

    private void expiryOps() {
        ops.add(prefix + "clearExpire", call -> of(call).clearExpire());
        ops.add(prefix + "remainTimeToLive", call -> of(call).remainTimeToLive());
        Reflect expireTime = Reflect.method(RExpirable.class, "getExpireTime");
        ops.add(prefix + "getExpireTime", expireTime, call -> expireTime.call(of(call)));
        ops.add(prefix + "expire", this::expire);
        ops.add(prefix + "expireAt", this::expireAt);
        Reflect conditional = Reflect.method(RExpirable.class, "expireIfSet", Duration.class);
        ops.capability(prefix + "expire(condition)", conditional);
        ops.capability(prefix + "expireAt(condition)", conditional);
    }

    private void copyOps() {
        Reflect copy = Reflect.method(RObject.class, "copy", String.class);
        ops.add(prefix + "copy", copy, call -> {
            String method = call.flag("replace", false) ? "copyAndReplace" : "copy";
            if (call.has("database")) {
                return Reflect.method(RObject.class, method, String.class, int.class)
                        .call(of(call), call.text("name"), call.integer("database"));
            }
            return Reflect.method(RObject.class, method, String.class).call(of(call), call.text("name"));
        });
    }

    private Object expire(Call call) throws Throwable {
        long ttl = call.number("ttl");
        TimeUnit unit = call.unit();
        if (!call.has("condition")) {
            return of(call).expire(ttl, unit);
        }
        return Reflect.method(RExpirable.class, condition(call), Duration.class)
                .call(of(call), Duration.ofNanos(unit.toNanos(ttl)));
    }

    private Object expireAt(Call call) throws Throwable {
        long at = call.number("at");
        if (!call.has("condition")) {
            return of(call).expireAt(new Date(at));
        }
        return Reflect.method(RExpirable.class, condition(call), Instant.class)
                .call(of(call), Instant.ofEpochMilli(at));
    }

    private static String condition(Call call) {
        String method = CONDITIONS.get(call.text("condition"));
        if (method == null) {
            throw new IllegalArgumentException(
                    "condition \"" + call.text("condition") + "\", want one of " + CONDITIONS.keySet());
        }
        return method;
    }

    /** An operation without arguments whose result is plain JSON, where the release has it. */
    private void plain(String name) {
        Reflect method = Reflect.method(RObject.class, name);
        ops.add(prefix + name, method, call -> method.call(of(call)));
    }

    private RExpirable of(Call call) {
        return object.apply(call);
    }
}
