package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.redisson.api.RBlockingDeque;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDeque;

/**
 * What RBlockingDeque adds to RBlockingQueue: both ends. The operations are known as deque.* and, where
 * RBlockingQueue has none of that name, as q.* too.
 */
final class DequeOps {

    private static final String PREFIX = "deque.";
    private static final String QUEUE_PREFIX = "q.";

    private final Ops ops;

    private DequeOps(Ops ops) {
        this.ops = ops;
    }

    /** To be called after the operations of RBlockingQueue are registered. */
    static void register(Ops ops) {
        DequeOps registrar = new DequeOps(ops);
        registrar.addOps();
        registrar.endOps();
        registrar.waitingOps();
        registrar.fromAnyOps();
        registrar.moveOps();
        registrar.subscriptionOps();
    }

    private void addOps() {
        command("addFirst", call -> of(call).addFirst(call.value("value")));
        command("addLast", call -> of(call).addLast(call.value("value")));
        command("push", call -> of(call).push(call.value("value")));
        command("putFirst", call -> of(call).putFirst(call.value("value")));
        command("putLast", call -> of(call).putLast(call.value("value")));
        add("offerFirst", call -> call.has("timeout")
                ? of(call).offerFirst(call.value("value"), call.number("timeout"), call.unit())
                : of(call).offerFirst(call.value("value")));
        add("offerLast", call -> call.has("timeout")
                ? of(call).offerLast(call.value("value"), call.number("timeout"), call.unit())
                : of(call).offerLast(call.value("value")));
        many("addFirstIfExists");
        many("addLastIfExists");
    }

    private void endOps() {
        add("peekFirst", call -> Values.toJson(of(call).peekFirst()));
        add("peekLast", call -> Values.toJson(of(call).peekLast()));
        add("getFirst", call -> Values.toJson(of(call).getFirst()));
        add("getLast", call -> Values.toJson(of(call).getLast()));
        add("pop", call -> Values.toJson(of(call).pop()));
        add("removeFirst", call -> Values.toJson(of(call).removeFirst()));
        add("removeLast", call -> Values.toJson(of(call).removeLast()));
        add("removeFirstOccurrence", call -> of(call).removeFirstOccurrence(call.value("value")));
        add("removeLastOccurrence", call -> of(call).removeLastOccurrence(call.value("value")));
        add("descendingIterator",
                call -> QueueOps.walk(of(call).descendingIterator(), call.number("limit", Long.MAX_VALUE)));
    }

    private void waitingOps() {
        add("takeFirst", call -> Values.toJson(of(call).takeFirst()));
        add("takeLast", call -> Values.toJson(of(call).takeLast()));
        add("pollFirst", call -> call.has("timeout")
                ? Values.toJson(of(call).pollFirst(call.number("timeout"), call.unit()))
                : call.has("limit") ? limited(call, "pollFirst") : Values.toJson(of(call).pollFirst()));
        add("pollLast", call -> call.has("timeout")
                ? Values.toJson(of(call).pollLast(call.number("timeout"), call.unit()))
                : call.has("limit") ? limited(call, "pollLast") : Values.toJson(of(call).pollLast()));
        for (String name : List.of("pollFirst", "pollLast")) {
            Reflect limited = Reflect.method(RDeque.class, name, int.class);
            ops.capability(PREFIX + name + "(limit)", limited);
            ops.capability(QUEUE_PREFIX + name + "(limit)", limited);
        }
    }

    private Object limited(Call call, String name) throws Throwable {
        return Values.listToJson((Iterable<?>) Reflect.method(RDeque.class, name, int.class)
                .call(of(call), call.integer("limit")));
    }

    private void fromAnyOps() {
        add("pollFirstFromAny", call -> call.has("count")
                ? counted(call, "pollFirstFromAny")
                : Values.toJson(of(call).pollFirstFromAny(call.number("timeout"), call.unit(), call.texts("queues"))));
        add("pollLastFromAny", call -> call.has("count")
                ? counted(call, "pollLastFromAny")
                : Values.toJson(of(call).pollLastFromAny(call.number("timeout"), call.unit(), call.texts("queues"))));
        for (String name : List.of("pollFirstFromAny", "pollLastFromAny")) {
            Reflect counted = Reflect.method(RBlockingQueue.class, name, Duration.class, int.class, String[].class);
            ops.capability(PREFIX + name + "(count)", counted);
            ops.capability(QUEUE_PREFIX + name + "(count)", counted);
        }
    }

    private Object counted(Call call, String name) throws Throwable {
        Object found = Reflect.method(RBlockingQueue.class, name, Duration.class, int.class, String[].class)
                .call(of(call), BlockingQueueOps.duration(call), call.integer("count"), call.texts("queues"));
        if (found == null) {
            return null;
        }
        ObjectNode result = Protocol.JSON.createObjectNode();
        ((Map<?, ?>) found).forEach((queue, values) ->
                result.set((String) queue, Values.listToJson((Iterable<?>) values)));
        return result;
    }

    /** RDeque.move: LMOVE, and BLMOVE with a timeout. */
    private void moveOps() {
        Class<?> argsClass = moveArgs();
        Reflect move = Reflect.method(RDeque.class, "move", argsClass);
        Reflect blocking = Reflect.method(RBlockingDeque.class, "move", Duration.class, argsClass);
        Ops.Op op = call -> {
            if (!move.present()) {
                throw new Unsupported("RDeque.move");
            }
            Object from = Reflect.method(argsClass, call.text("from").equals("first") ? "pollFirst" : "pollLast").call(null);
            Class<?> destination = Class.forName(argsClass.getPackageName() + ".DequeMoveDestination");
            Object args = Reflect.method(destination, call.text("to").equals("first") ? "addFirstTo" : "addLastTo", String.class)
                    .call(from, call.text("queue"));
            return Values.toJson(call.has("timeout")
                    ? blocking.call(of(call), BlockingQueueOps.duration(call), args)
                    : move.call(of(call), args));
        };
        ops.add(PREFIX + "move", move, op);
        ops.add(QUEUE_PREFIX + "move", move, op);
    }

    private static Class<?> moveArgs() {
        try {
            return Class.forName("org.redisson.api.queue.DequeMoveArgs");
        } catch (ClassNotFoundException e) {
            return Void.class;
        }
    }

    private void subscriptionOps() {
        for (String name : List.of("subscribeOnFirstElements", "subscribeOnLastElements")) {
            Reflect subscribe = Reflect.method(RBlockingDeque.class, name, Consumer.class);
            Ops.Op op = call -> subscribe.call(of(call), BlockingQueueOps.elementEvents(call));
            ops.add(PREFIX + name, subscribe, op);
            ops.add(QUEUE_PREFIX + name, subscribe, op);
        }
    }

    /** An operation on several values at once that answers with the new length. */
    private void many(String name) {
        Reflect method = Reflect.method(RDeque.class, name, Object[].class);
        Ops.Op op = call -> method.call(of(call), (Object) call.values().toArray());
        ops.add(PREFIX + name, method, op);
        ops.add(QUEUE_PREFIX + name, method, op);
    }

    private interface Command {
        void run(Call call) throws Throwable;
    }

    private void command(String name, Command command) {
        add(name, call -> {
            command.run(call);
            return null;
        });
    }

    private void add(String name, Ops.Op op) {
        ops.add(PREFIX + name, op);
        if (!ops.has(QUEUE_PREFIX + name)) {
            ops.add(QUEUE_PREFIX + name, op);
        }
    }

    private static RBlockingDeque<Object> of(Call call) {
        return call.handle().deque;
    }
}
