package io.github.dqbench.redisson;

import org.redisson.api.RDelayedQueue;

/** What only RDelayedQueue has. */
final class DelayedQueueOps {

    private static final String PREFIX = "dq.";

    private DelayedQueueOps() {
    }

    static void register(Ops ops) {
        ObjectOps.register(ops, PREFIX, DelayedQueueOps::of);
        QueueOps.register(ops, PREFIX, DelayedQueueOps::of);
        ops.add(PREFIX + "offer", call -> {
            if (!call.has("delay")) {
                return of(call).offer(call.value("value"));
            }
            of(call).offer(call.value("value"), call.number("delay"), call.unit());
            return null;
        });
        ops.add(PREFIX + "destroy", call -> {
            of(call).destroy();
            return null;
        });
    }

    private static RDelayedQueue<Object> of(Call call) {
        return call.handle().delayed();
    }
}
