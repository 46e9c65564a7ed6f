package io.github.dqbench.redisson;

import org.redisson.api.RBlockingDeque;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBoundedBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** One opened queue: the destination as queue and as deque, and an RDelayedQueue unless it was declined. */
final class Handle {

    final RBlockingQueue<Object> queue;
    final RBlockingDeque<Object> deque;
    private final RDelayedQueue<Object> delayed;

    /** A capacity above 0 makes the destination an RBoundedBlockingQueue. */
    Handle(RedissonClient client, String name, Codec codec, boolean withDelayedQueue, int capacity) {
        if (capacity > 0) {
            RBoundedBlockingQueue<Object> bounded =
                    codec == null ? client.getBoundedBlockingQueue(name) : client.getBoundedBlockingQueue(name, codec);
            bounded.trySetCapacity(capacity);
            queue = bounded;
        } else {
            queue = codec == null ? client.getBlockingQueue(name) : client.getBlockingQueue(name, codec);
        }
        deque = codec == null ? client.getBlockingDeque(name) : client.getBlockingDeque(name, codec);
        delayed = withDelayedQueue ? client.getDelayedQueue(queue) : null;
    }

    RDelayedQueue<Object> delayed() {
        if (delayed == null) {
            throw new IllegalStateException("this handle was opened with \"delayed\": false");
        }
        return delayed;
    }
}
