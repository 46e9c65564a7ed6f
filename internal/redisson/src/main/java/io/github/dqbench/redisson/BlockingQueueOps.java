package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RQueue;

/** What RBlockingQueue adds to RQueue: waiting, draining, other queues. */
final class BlockingQueueOps {

    private final Ops ops;
    private final String prefix;
    private final Function<Call, ? extends RBlockingQueue<Object>> queue;

    private BlockingQueueOps(Ops ops, String prefix, Function<Call, ? extends RBlockingQueue<Object>> queue) {
        this.ops = ops;
        this.prefix = prefix;
        this.queue = queue;
    }

    static void register(Ops ops, String prefix, Function<Call, ? extends RBlockingQueue<Object>> queue) {
        ObjectOps.register(ops, prefix, queue::apply);
        QueueOps.register(ops, prefix, queue);
        BlockingQueueOps registrar = new BlockingQueueOps(ops, prefix, queue);
        registrar.waitingOps();
        registrar.transferOps();
        registrar.drainOps();
        registrar.subscriptionOps();
    }

    private void waitingOps() {
        ops.add(prefix + "take", call -> Values.toJson(of(call).take()));
        ops.add(prefix + "poll", this::poll);
        ops.add(prefix + "put", call -> {
            of(call).put(call.value("value"));
            return null;
        });
        ops.add(prefix + "offer", call -> call.has("timeout")
                ? of(call).offer(call.value("value"), call.number("timeout"), call.unit())
                : of(call).offer(call.value("value")));
        ops.add(prefix + "pollFromAny", call -> Values.toJson(
                of(call).pollFromAny(call.number("timeout"), call.unit(), call.texts("queues"))));
        withName("pollFromAnyWithName");
        withName("pollLastFromAnyWithName");
    }

    private Object poll(Call call) throws Throwable {
        if (call.has("timeout")) {
            return Values.toJson(of(call).poll(call.number("timeout"), call.unit()));
        }
        if (call.has("limit")) {
            return Values.listToJson((Iterable<?>) Reflect.method(RQueue.class, "poll", int.class)
                    .call(of(call), call.integer("limit")));
        }
        return Values.toJson(of(call).poll());
    }

    private void transferOps() {
        ops.add(prefix + "pollLastAndOfferFirstTo", call -> call.has("timeout")
                ? Values.toJson(of(call).pollLastAndOfferFirstTo(call.text("queue"), call.number("timeout"), call.unit()))
                : Values.toJson(of(call).pollLastAndOfferFirstTo(call.text("queue"))));
        Reflect take = Reflect.method(RBlockingQueue.class, "takeLastAndOfferFirstTo", String.class);
        ops.add(prefix + "takeLastAndOfferFirstTo", take, call -> Values.toJson(take.call(of(call), call.text("queue"))));
    }

    private void drainOps() {
        ops.add(prefix + "remainingCapacity", call -> of(call).remainingCapacity());
        ops.add(prefix + "drainTo", call -> {
            List<Object> drained = new ArrayList<>();
            if (call.has("max")) {
                of(call).drainTo(drained, call.integer("max"));
            } else {
                of(call).drainTo(drained);
            }
            return Values.listToJson(drained);
        });
    }

    private void subscriptionOps() {
        Reflect subscribe = Reflect.method(RBlockingQueue.class, "subscribeOnElements", Consumer.class);
        ops.add(prefix + "subscribeOnElements", subscribe, call -> subscribe.call(of(call), elementEvents(call)));
        Reflect unsubscribe = Reflect.method(RBlockingQueue.class, "unsubscribe", int.class);
        ops.add(prefix + "unsubscribe", unsubscribe, call -> unsubscribe.call(of(call), call.integer("subscription")));
    }

    /** A listener that sends each element as an "element" event of the subscribing request. */
    static Consumer<Object> elementEvents(Call call) {
        return value -> {
            ObjectNode fields = Protocol.JSON.createObjectNode();
            fields.set("value", Values.toJson(value));
            call.event("element", fields);
        };
    }

    private void withName(String name) {
        Reflect method = Reflect.method(RBlockingQueue.class, name, Duration.class, String[].class);
        ops.add(prefix + name, method, call -> {
            Object entry = method.call(of(call), duration(call), call.texts("queues"));
            if (entry == null) {
                return null;
            }
            Class<?> type = entry.getClass();
            ObjectNode result = Protocol.JSON.createObjectNode();
            result.put("queue", (String) Reflect.method(type, "getKey").call(entry));
            result.set("value", Values.toJson(Reflect.method(type, "getValue").call(entry)));
            return result;
        });
    }

    static Duration duration(Call call) {
        return Duration.ofNanos(call.unit().toNanos(call.number("timeout")));
    }

    private RBlockingQueue<Object> of(Call call) {
        return queue.apply(call);
    }
}
