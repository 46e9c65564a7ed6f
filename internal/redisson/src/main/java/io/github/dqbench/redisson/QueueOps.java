package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.redisson.api.RQueue;

/** What RQueue can do; RDelayedQueue, RBlockingQueue and RBlockingDeque all extend it. */
final class QueueOps {

    private final Ops ops;
    private final String prefix;
    private final Function<Call, ? extends RQueue<Object>> queue;

    private QueueOps(Ops ops, String prefix, Function<Call, ? extends RQueue<Object>> queue) {
        this.ops = ops;
        this.prefix = prefix;
        this.queue = queue;
    }

    static void register(Ops ops, String prefix, Function<Call, ? extends RQueue<Object>> queue) {
        QueueOps registrar = new QueueOps(ops, prefix, queue);
        registrar.headOps();
        registrar.collectionOps();
        registrar.iteratorOps();
    }

    private void headOps() {
        ops.add(prefix + "add", call -> of(call).add(call.value("value")));
        ops.add(prefix + "offer", call -> of(call).offer(call.value("value")));
        ops.add(prefix + "peek", call -> Values.toJson(of(call).peek()));
        ops.add(prefix + "element", call -> Values.toJson(of(call).element()));
        ops.add(prefix + "poll", this::poll);
        ops.capability(prefix + "poll(limit)", Reflect.method(RQueue.class, "poll", int.class));
        ops.add(prefix + "pollLastAndOfferFirstTo",
                call -> Values.toJson(of(call).pollLastAndOfferFirstTo(call.text("queue"))));
    }

    private Object poll(Call call) throws Throwable {
        if (!call.has("limit")) {
            return Values.toJson(of(call).poll());
        }
        return Values.listToJson((Iterable<?>) Reflect.method(RQueue.class, "poll", int.class)
                .call(of(call), call.integer("limit")));
    }

    private void collectionOps() {
        ops.add(prefix + "size", call -> of(call).size());
        ops.add(prefix + "isEmpty", call -> of(call).isEmpty());
        ops.add(prefix + "readAll", call -> Values.listToJson(of(call).readAll()));
        ops.add(prefix + "contains", call -> of(call).contains(call.value("value")));
        ops.add(prefix + "containsAll", call -> of(call).containsAll(call.values()));
        ops.add(prefix + "addAll", call -> of(call).addAll(call.values()));
        ops.add(prefix + "remove", call -> call.has("value")
                ? (Object) of(call).remove(call.value("value"))
                : Values.toJson(of(call).remove()));
        ops.add(prefix + "removeAll", call -> of(call).removeAll(call.values()));
        ops.add(prefix + "retainAll", call -> of(call).retainAll(call.values()));
        Reflect indexOf = Reflect.method(RQueue.class, "indexOf", Object.class);
        ops.add(prefix + "indexOf", indexOf, call -> indexOf.call(of(call), call.value("value")));
        ops.add(prefix + "clear", call -> {
            of(call).clear();
            return null;
        });
    }

    private void iteratorOps() {
        ops.add(prefix + "iterator", call -> walk(of(call).iterator(), call.number("limit", Long.MAX_VALUE)));
        ops.add(prefix + "iteratorRemove", call -> {
            Iterator<Object> iterator = of(call).iterator();
            int index = call.integer("index");
            Object value = null;
            for (int i = 0; i <= index; i++) {
                if (!iterator.hasNext()) {
                    throw new NoSuchElementException("index " + index + " of a queue that holds " + i);
                }
                value = iterator.next();
            }
            iterator.remove();
            return Values.toJson(value);
        });
    }

    static ArrayNode walk(Iterator<Object> iterator, long limit) {
        ArrayNode values = Protocol.JSON.createArrayNode();
        while (values.size() < limit && iterator.hasNext()) {
            values.add(Values.toJson(iterator.next()));
        }
        return values;
    }

    private RQueue<Object> of(Call call) {
        return queue.apply(call);
    }
}
