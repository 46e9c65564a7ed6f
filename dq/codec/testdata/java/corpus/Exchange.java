package corpus;

import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.Codec;
import org.redisson.config.Config;

/**
 * Puts messages of the corpus into the delayed queue "orders-" and codec of a server, due in an hour, or takes all that
 * wait there. Arguments: offer or take, the server's address, seed. offer reads lines of codec and number, take lines of
 * codec and, where it is another one, of the codec that the queue is named for; both print codec and description of each
 * message.
 */
public final class Exchange {

    public static void main(String[] args) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress(args[1]);
        RedissonClient redisson = Redisson.create(config);
        Corpus corpus = new Corpus(Long.parseLong(args[2]));
        Scanner lines = new Scanner(System.in, java.nio.charset.StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            String[] parts = lines.nextLine().split("\t");
            Codec codec = corpus.codec(parts[0], Object.class);
            String queue = args[0].equals("take") && parts.length > 1 ? parts[1] : parts[0];
            RBlockingQueue<Object> orders = redisson.getBlockingQueue("orders-" + queue, codec);
            RDelayedQueue<Object> delayed = redisson.getDelayedQueue(orders);
            if (args[0].equals("offer")) {
                Object message = corpus.message(Integer.parseInt(parts[1]));
                delayed.offer(message, 1, TimeUnit.HOURS);
                tell(parts[0], message);
                continue;
            }
            for (Object message = delayed.poll(); message != null; message = delayed.poll()) {
                tell(parts[0], message);
            }
        }
        redisson.shutdown();
        System.exit(0);
    }

    private static void tell(String codec, Object message) throws ReflectiveOperationException {
        System.out.println(codec + "\t" + Describer.describe(message));
    }

    private Exchange() {
    }
}
