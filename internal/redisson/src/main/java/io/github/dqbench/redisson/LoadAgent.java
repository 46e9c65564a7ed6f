package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RedissonClient;

/** Offers and takes beside a real Redisson, as the coordinator says, and sends a sample for each thing that happened. */
final class LoadAgent {

    private static final int ITEM = 32;
    private static final int WARM = 0x80000000;
    private static final long RETRY_MILLIS = 100;
    /** What the coordinator gets to unblock takes: one that is interrupted may lose a value. */
    private static final long UNBLOCK_MILLIS = 1_000;
    private static final long END_MILLIS = 4_000;

    /** One message to be offered; since is when it was ready. */
    private record Item(int index, int cancelAfter, long at, long delay, long due, long since) {

        Item ready(long now) {
            return new Item(index, cancelAfter, at, delay, due, now);
        }
    }

    private final RedissonClient client;
    private final LoadQueues queues;
    private final Payload payload;
    private final MonotonicWall clock = new MonotonicWall();
    private final Samples samples;
    private final int mostSenders;
    private final long poll;
    private final long work;
    private final boolean each;

    private final BlockingQueue<Item> items = new LinkedBlockingQueue<>();
    private final BlockingQueue<Item> ready = new LinkedBlockingQueue<>();
    private final AtomicInteger free = new AtomicInteger();
    private final AtomicInteger halts = new AtomicInteger();
    private final List<Thread> senders = new ArrayList<>();
    private final List<Thread> takers = new ArrayList<>();
    private final Thread pacer;
    private final ScheduledExecutorService removals = Executors.newScheduledThreadPool(2, LoadAgent::thread);
    private volatile boolean ended;

    LoadAgent(Call setup, RedissonClient client, LoadQueues queues) {
        this.client = client;
        this.queues = queues;
        payload = new Payload(Integer.parseUnsignedInt(setup.text("run_id"), 16), setup.integer("payload_size"));
        mostSenders = setup.integer("most_senders");
        poll = setup.number("poll", 0);
        work = setup.number("work", 0);
        each = setup.flag("each", false);
        samples = new Samples(setup, each);
        for (int i = setup.integer("senders"); i > 0; i--) {
            startSender();
        }
        pacer = start(this::pace);
    }

    long now() {
        return clock.nanos();
    }

    void offer(byte[] encoded) {
        ByteBuffer in = ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN);
        while (in.remaining() >= ITEM) {
            items.add(new Item(in.getInt(), in.getInt(), in.getLong(), in.getLong(), in.getLong(), 0));
        }
    }

    synchronized void take(JsonNode consumers) {
        for (JsonNode consumer : consumers) {
            RBlockingQueue<Object> queue = queues.ofConsumer(consumer.asInt());
            takers.add(start(() -> consume(queue)));
        }
    }

    /** Skips what has not been sent; abandon also interrupts the offers under way. */
    void halt(boolean abandon) {
        List<Item> skipped = new ArrayList<>();
        free.addAndGet(ready.drainTo(skipped));
        items.drainTo(skipped);
        skipped.forEach(this::skip);
        halts.incrementAndGet();
        pacer.interrupt();
        if (abandon) {
            synchronized (senders) {
                senders.forEach(Thread::interrupt);
            }
        }
    }

    /** Ends offers and takes. */
    void end() throws InterruptedException {
        ended = true;
        halt(true);
        removals.shutdownNow();
        List<Thread> all;
        synchronized (this) {
            all = new ArrayList<>(takers);
        }
        if (!join(all, poll > 0 ? END_MILLIS : UNBLOCK_MILLIS)) {
            all.forEach(Thread::interrupt);
        }
        synchronized (senders) {
            all.addAll(senders);
        }
        boolean over = join(all, END_MILLIS);
        samples.end();
        if (!over) {
            throw new IllegalStateException("offers or takes did not end within " + END_MILLIS + " ms when told to");
        }
    }

    void close() {
        ended = true;
        Sessions.shutdown(client);
    }

    /** Makes each item ready at its instant, and waits for no sender. */
    private void pace() {
        while (!ended) {
            try {
                Item item = items.take();
                int before = halts.get();
                if (!clock.sleepUntil(item.at, () -> halts.get() != before)) {
                    skip(item);
                    Thread.interrupted();
                    continue;
                }
                if (free.decrementAndGet() < 0) {
                    startSender();
                }
                ready.add(item.ready(System.nanoTime()));
            } catch (InterruptedException e) {
                // by halt, while there was no item
            }
        }
    }

    private void skip(Item item) {
        samples.add('s', 0, item.index, 0, 0);
    }

    private void startSender() {
        synchronized (senders) {
            if (senders.size() < mostSenders) {
                free.incrementAndGet();
                senders.add(start(this::sendAll));
            }
        }
    }

    private void sendAll() {
        while (!ended) {
            try {
                send(ready.take());
                free.incrementAndGet();
            } catch (InterruptedException e) {
                // by halt, while there was no item
            }
        }
    }

    /** Offers one message. Its due instant is taken just before the call. */
    private void send(Item item) {
        long waited = System.nanoTime() - item.since;
        long sent = clock.nanos();
        long delay = item.due == 0 ? item.delay : Math.max(item.due - sent / 1_000_000, 0);
        long due = sent + delay * 1_000_000;
        Object value = queues.value(payload.write(item.index, due));
        RDelayedQueue<Object> queue = queues.ofMessage(item.index & ~WARM);
        if (each) {
            samples.add('o', 0, item.index, sent, due);
        }
        char kind = 'a';
        try {
            queue.offer(value, delay, TimeUnit.MILLISECONDS);
        } catch (RuntimeException e) {
            kind = Refusal.is(e) ? 'x' : 'f';
            samples.error("offer", e);
        }
        samples.add(kind, waited / 1_000, item.index, sent, clock.nanos());
        if (kind == 'a' && item.cancelAfter > 0 && !ended) {
            long at = sent + (item.cancelAfter - 1) * 1_000_000L;
            removals.schedule(() -> remove(queue, item.index, value), at - clock.nanos(), TimeUnit.NANOSECONDS);
        }
    }

    private void remove(RDelayedQueue<Object> queue, int index, Object value) {
        long began = clock.nanos();
        char kind;
        try {
            kind = queue.remove(value) ? 'r' : 'l';
        } catch (RuntimeException e) {
            kind = 'm';
            samples.error("remove", e);
        }
        if (!ended) {
            samples.add(kind, 0, index, began, clock.nanos());
        }
    }

    private void consume(RBlockingQueue<Object> queue) {
        while (!ended) {
            try {
                Object value = takeOne(queue);
                long came = clock.nanos();
                if (value != null) {
                    taken(queues.bytes(value), came);
                    clock.sleepUntil(clock.nanos() + work, () -> ended);
                }
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                if (!ended) {
                    samples.error("take", e);
                    samples.add('e', 0, 0, 0, 0);
                    clock.sleepUntil(clock.nanos() + RETRY_MILLIS * 1_000_000, () -> ended);
                }
            }
        }
    }

    private Object takeOne(RBlockingQueue<Object> queue) throws InterruptedException {
        if (poll == 0) {
            return queue.take();
        }
        return clock.sleepUntil(clock.nanos() + poll, () -> ended) ? queue.poll() : null;
    }

    private void taken(byte[] value, long came) {
        switch (payload.kind(value)) {
            case OURS -> samples.add('t', 0, Payload.index(value), Payload.due(value), came);
            case CORRUPT -> samples.add('c', 0, 0, 0, 0);
            default -> samples.add('u', 0, 0, 0, 0);
        }
    }

    private static boolean join(List<Thread> threads, long millis) throws InterruptedException {
        long limit = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (Thread thread : threads) {
            TimeUnit.NANOSECONDS.timedJoin(thread, Math.max(limit - System.nanoTime(), 1_000_000));
        }
        return threads.stream().noneMatch(Thread::isAlive);
    }

    private static Thread start(Runnable work) {
        Thread thread = thread(work);
        thread.start();
        return thread;
    }

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }
}
