package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Date;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.redisson.api.RBlockingDeque;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RDeque;
import org.redisson.api.RExpirable;
import org.redisson.api.RObject;
import org.redisson.api.RQueue;

/**
 * The operations of RDelayedQueue ("dq."), RBlockingQueue ("q.") and RBlockingDeque ("deque."), which all extend RQueue. What only the
 * deque has is known as q.* too. A method that only passes an argument on is looked up by its name, where the release has it.
 */
final class QueueOps {

    /** The NX, XX, GT and LT forms of expire. */
    private static final Map<String, String> CONDITIONS = Map.of(
            "if-set", "expireIfSet", "if-not-set", "expireIfNotSet", "if-greater", "expireIfGreater", "if-less", "expireIfLess");

    private static final UnaryOperator<Object> PLAIN = result -> result;
    private static final UnaryOperator<Object> VALUE = Values::toJson;
    private static final UnaryOperator<Object> LIST = result -> Values.listToJson((Iterable<?>) result);
    private static final UnaryOperator<Object> BYTES =
            result -> result == null ? null : Base64.getEncoder().encodeToString((byte[]) result);

    /** The one argument of a method. */
    private enum Argument {
        NONE(null, call -> null),
        ELEMENT(Object.class, call -> call.value("value")),
        ELEMENTS(Collection.class, Call::values),
        ARRAY(Object[].class, call -> call.values().toArray()),
        NAME(String.class, call -> call.text("name")),
        QUEUE(String.class, call -> call.text("queue")),
        LISTENER(Consumer.class, QueueOps::elementEvents),
        SUBSCRIPTION(int.class, call -> call.integer("subscription"));

        private final Class<?> type;
        private final Function<Call, Object> of;

        Argument(Class<?> type, Function<Call, Object> of) {
            this.type = type;
            this.of = of;
        }
    }

    private final Ops ops;
    private final String prefix;
    private final Function<Call, ? extends RQueue<Object>> queue;

    private QueueOps(Ops ops, String prefix, Function<Call, ? extends RQueue<Object>> queue) {
        this.ops = ops;
        this.prefix = prefix;
        this.queue = queue;
    }

    private QueueOps common() {
        objectOps();
        queueOps();
        return this;
    }

    static void register(Ops ops) {
        QueueOps delayed = new QueueOps(ops, "dq.", call -> call.handle().delayed()).common();
        delayed.pass(RDelayedQueue.class, PLAIN, Argument.NONE, "destroy");
        ops.add("dq.offer", call -> {
            RDelayedQueue<Object> queue = call.handle().delayed();
            if (!call.has("delay")) {
                return queue.offer(call.value("value"));
            }
            queue.offer(call.value("value"), call.number("delay"), call.unit());
            return null;
        });
        new QueueOps(ops, "q.", call -> call.handle().queue).common().blockingOps();
        QueueOps deque = new QueueOps(ops, "deque.", call -> call.handle().deque).common();
        deque.blockingOps();
        deque.dequeOps();
        new QueueOps(ops, "q.", call -> call.handle().deque).dequeOps();
    }

    private void objectOps() {
        pass(RObject.class, PLAIN, Argument.NONE, "getName", "delete", "isExists", "unlink", "touch", "sizeInMemory", "getIdleTime");
        pass(RObject.class, PLAIN, Argument.NAME, "rename", "renamenx");
        pass(RObject.class, BYTES, Argument.NONE, "dump");
        pass(RExpirable.class, PLAIN, Argument.NONE, "clearExpire", "remainTimeToLive", "getExpireTime");
        add("expire", null, call -> call.has("condition")
                ? Reflect.method(RExpirable.class, condition(call), Duration.class).call(of(call), call.duration("ttl"))
                : of(call).expire(call.number("ttl"), call.unit()));
        add("expireAt", null, call -> call.has("condition")
                ? Reflect.method(RExpirable.class, condition(call), Instant.class).call(of(call), Instant.ofEpochMilli(call.number("at")))
                : of(call).expireAt(new Date(call.number("at"))));
        Reflect conditional = Reflect.method(RExpirable.class, "expireIfSet", Duration.class);
        ops.capability(prefix + "expire(condition)", conditional);
        ops.capability(prefix + "expireAt(condition)", conditional);
        add("copy", Reflect.method(RObject.class, "copy", String.class), call -> {
            String method = call.flag("replace", false) ? "copyAndReplace" : "copy";
            return call.has("database")
                    ? Reflect.method(RObject.class, method, String.class, int.class).call(of(call), call.text("name"), call.integer("database"))
                    : Reflect.method(RObject.class, method, String.class).call(of(call), call.text("name"));
        });
    }

    private void queueOps() {
        pass(RQueue.class, VALUE, Argument.NONE, "peek", "element");
        pass(RQueue.class, LIST, Argument.NONE, "readAll");
        pass(RQueue.class, PLAIN, Argument.NONE, "size", "isEmpty", "clear");
        pass(RQueue.class, PLAIN, Argument.ELEMENT, "add", "offer", "contains", "indexOf");
        pass(RQueue.class, PLAIN, Argument.ELEMENTS, "containsAll", "addAll", "removeAll", "retainAll");
        pass(RQueue.class, VALUE, Argument.QUEUE, "pollLastAndOfferFirstTo");
        poll(RQueue.class, "poll");
        add("remove", null, call -> call.has("value") ? (Object) of(call).remove(call.value("value")) : Values.toJson(of(call).remove()));
        add("iterator", null, call -> walk(of(call).iterator(), call.number("limit", Long.MAX_VALUE)));
        add("iteratorRemove", null, call -> {
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

    /** What RBlockingQueue adds: waiting, draining, other queues. */
    private void blockingOps() {
        pass(RBlockingQueue.class, VALUE, Argument.NONE, "take");
        pass(RBlockingQueue.class, PLAIN, Argument.ELEMENT, "put");
        pass(RBlockingQueue.class, PLAIN, Argument.NONE, "remainingCapacity");
        pass(RBlockingQueue.class, VALUE, Argument.QUEUE, "takeLastAndOfferFirstTo");
        pass(RBlockingQueue.class, PLAIN, Argument.LISTENER, "subscribeOnElements");
        pass(RBlockingQueue.class, PLAIN, Argument.SUBSCRIPTION, "unsubscribe");
        poll(RBlockingQueue.class, "poll");
        offer(RBlockingQueue.class, "offer");
        fromAny("pollFromAny");
        withName("pollFromAnyWithName");
        withName("pollLastFromAnyWithName");
        add("pollLastAndOfferFirstTo", null, call -> Values.toJson(call.has("timeout")
                ? Reflect.method(RBlockingQueue.class, "pollLastAndOfferFirstTo", String.class, long.class, TimeUnit.class)
                        .call(of(call), call.text("queue"), call.number("timeout"), call.unit())
                : of(call).pollLastAndOfferFirstTo(call.text("queue"))));
        add("drainTo", null, call -> {
            List<Object> drained = new ArrayList<>();
            RBlockingQueue<Object> from = (RBlockingQueue<Object>) of(call);
            if (call.has("max")) {
                from.drainTo(drained, call.integer("max"));
            } else {
                from.drainTo(drained);
            }
            return Values.listToJson(drained);
        });
    }

    /** What RBlockingDeque adds: both ends. */
    private void dequeOps() {
        pass(RBlockingDeque.class, PLAIN, Argument.ELEMENT, "addFirst", "addLast", "push", "putFirst", "putLast",
                "removeFirstOccurrence", "removeLastOccurrence");
        pass(RBlockingDeque.class, VALUE, Argument.NONE, "peekFirst", "peekLast", "getFirst", "getLast", "pop", "removeFirst", "removeLast",
                "takeFirst", "takeLast");
        pass(RDeque.class, PLAIN, Argument.ARRAY, "addFirstIfExists", "addLastIfExists");
        pass(RBlockingDeque.class, PLAIN, Argument.LISTENER, "subscribeOnFirstElements", "subscribeOnLastElements");
        add("descendingIterator", null, call -> walk(((RDeque<Object>) of(call)).descendingIterator(), call.number("limit", Long.MAX_VALUE)));
        for (String end : List.of("First", "Last")) {
            offer(RBlockingDeque.class, "offer" + end);
            poll(RBlockingDeque.class, "poll" + end);
            fromAny("poll" + end + "FromAny");
        }
        move();
    }

    /** An operation that passes its one argument on, under names of its own. */
    private void pass(Class<?> owner, UnaryOperator<Object> result, Argument argument, String... names) {
        for (String name : names) {
            boolean none = argument == Argument.NONE;
            Reflect method = none ? Reflect.method(owner, name) : Reflect.method(owner, name, argument.type);
            add(name, method, call -> result.apply(none ? method.call(of(call)) : method.call(of(call), new Object[] {argument.of.apply(call)})));
        }
    }

    /** At once, after a while, or several at a time. */
    private void poll(Class<?> owner, String name) {
        Reflect waiting = Reflect.method(owner, name, long.class, TimeUnit.class);
        Reflect limited = Reflect.method(owner, name, int.class);
        ops.capability(prefix + name + "(limit)", limited);
        add(name, null, call -> {
            if (waiting.present() && call.has("timeout")) {
                return Values.toJson(waiting.call(of(call), call.number("timeout"), call.unit()));
            }
            return call.has("limit") ? LIST.apply(limited.call(of(call), call.integer("limit"))) : Values.toJson(Reflect.method(owner, name).call(of(call)));
        });
    }

    private void offer(Class<?> owner, String name) {
        Reflect waiting = Reflect.method(owner, name, Object.class, long.class, TimeUnit.class);
        Reflect plain = Reflect.method(owner, name, Object.class);
        add(name, null, call -> call.has("timeout")
                ? waiting.call(of(call), call.value("value"), call.number("timeout"), call.unit())
                : plain.call(of(call), call.value("value")));
    }

    private void fromAny(String name) {
        Reflect one = Reflect.method(RBlockingDeque.class, name, long.class, TimeUnit.class, String[].class);
        Reflect counted = Reflect.method(RBlockingQueue.class, name, Duration.class, int.class, String[].class);
        ops.capability(prefix + name + "(count)", counted);
        add(name, null, call -> {
            if (!call.has("count")) {
                return Values.toJson(one.call(of(call), call.number("timeout"), call.unit(), call.texts("queues")));
            }
            Object found = counted.call(of(call), call.duration("timeout"), call.integer("count"), call.texts("queues"));
            ObjectNode result = found == null ? null : Protocol.JSON.createObjectNode();
            if (found != null) {
                ((Map<?, ?>) found).forEach((queue, values) -> result.set((String) queue, Values.listToJson((Iterable<?>) values)));
            }
            return result;
        });
    }

    private void withName(String name) {
        Reflect method = Reflect.method(RBlockingQueue.class, name, Duration.class, String[].class);
        add(name, method, call -> {
            Object entry = method.call(of(call), call.duration("timeout"), call.texts("queues"));
            if (entry == null) {
                return null;
            }
            ObjectNode result = Protocol.JSON.createObjectNode();
            result.put("queue", (String) Reflect.method(entry.getClass(), "getKey").call(entry));
            return result.set("value", Values.toJson(Reflect.method(entry.getClass(), "getValue").call(entry)));
        });
    }

    /** RDeque.move: LMOVE, and BLMOVE with a timeout. */
    private void move() {
        Class<?> arguments = classOr("org.redisson.api.queue.DequeMoveArgs", Void.class);
        Reflect move = Reflect.method(RDeque.class, "move", arguments);
        Reflect blocking = Reflect.method(RBlockingDeque.class, "move", Duration.class, arguments);
        add("move", move, call -> {
            if (!move.present()) {
                throw new Unsupported("RDeque.move");
            }
            Object from = Reflect.method(arguments, call.text("from").equals("first") ? "pollFirst" : "pollLast").call(null);
            Class<?> destination = Class.forName(arguments.getPackageName() + ".DequeMoveDestination");
            Object to = Reflect.method(destination, call.text("to").equals("first") ? "addFirstTo" : "addLastTo", String.class)
                    .call(from, call.text("queue"));
            return Values.toJson(call.has("timeout") ? blocking.call(of(call), call.duration("timeout"), to) : move.call(of(call), to));
        });
    }

    private static Class<?> classOr(String name, Class<?> otherwise) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            return otherwise;
        }
    }

    /** A listener that sends each element as an "element" event of the subscribing request. */
    private static Consumer<Object> elementEvents(Call call) {
        return value -> {
            ObjectNode fields = Protocol.JSON.createObjectNode();
            fields.set("value", Values.toJson(value));
            call.event("element", fields);
        };
    }

    private static ArrayNode walk(Iterator<Object> iterator, long limit) {
        ArrayNode values = Protocol.JSON.createArrayNode();
        while (values.size() < limit && iterator.hasNext()) {
            values.add(Values.toJson(iterator.next()));
        }
        return values;
    }

    private static String condition(Call call) {
        String method = CONDITIONS.get(call.text("condition"));
        if (method == null) {
            throw new IllegalArgumentException("condition \"" + call.text("condition") + "\", want one of " + CONDITIONS.keySet());
        }
        return method;
    }

    /** Adds an operation, where the release has what it needs; null for what all have. */
    private void add(String name, Reflect needs, Ops.Op op) {
        if (needs == null) {
            ops.add(prefix + name, op);
        } else {
            ops.add(prefix + name, needs, op);
        }
    }

    private RQueue<Object> of(Call call) {
        return queue.apply(call);
    }
}
