package io.github.dqbench.redisson;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.List;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;

/** The queues of a plan on the client of a part, each with one RDelayedQueue, in which the transfers run. */
final class LoadQueues {

    private final boolean asBytes;
    private final List<RBlockingQueue<Object>> destinations = new ArrayList<>();
    private final List<RDelayedQueue<Object>> delayed = new ArrayList<>();

    LoadQueues(RedissonClient client, List<String> names, Codec codec, boolean asBytes) {
        this.asBytes = asBytes;
        for (String name : names) {
            RBlockingQueue<Object> destination = client.getBlockingQueue(name, codec);
            destinations.add(destination);
            delayed.add(client.getDelayedQueue(destination));
        }
    }

    /** Where a message is offered. */
    RDelayedQueue<Object> ofMessage(int message) {
        return delayed.get(message % delayed.size());
    }

    /** Where a consumer takes from. */
    RBlockingQueue<Object> ofConsumer(int consumer) {
        return destinations.get(consumer % destinations.size());
    }

    /** The value that the codec turns into these ASCII bytes. */
    Object value(byte[] bytes) {
        return asBytes ? bytes : new String(bytes, ISO_8859_1);
    }

    /** The bytes of a value; whatever is no ASCII becomes a character that no payload has. */
    byte[] bytes(Object value) {
        return value instanceof byte[] bytes ? bytes : String.valueOf(value).getBytes(ISO_8859_1);
    }
}
