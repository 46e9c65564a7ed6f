package dq_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// told counts events by type.
type told struct {
	mu  sync.Mutex
	all map[string]int
}

func (k *told) note(e dq.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]int{}
	}
	k.all[strings.TrimPrefix(fmt.Sprintf("%T", e), "dq.")]++
}

func (k *told) get(kind string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[kind]
}

func (k *told) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprint(k.all)
}

func (b *bundle) push(t *testing.T, values ...string) {
	t.Helper()
	require.NoError(t, b.redis.RPush(t.Context(), "orders", values).Err())
}

func (b *bundle) nothingLeft(t *testing.T) {
	t.Helper()
	require.Empty(t, b.redis.Keys(t.Context(), "dq_*").Val())
	require.Zero(t, b.redis.LLen(t.Context(), "orders").Val())
}

// works runs a Worker of the bundle's queue until the test ends.
func (b *bundle) works(t *testing.T, o dq.WorkerOptions, handler func(context.Context, *dq.Message[string]) error) {
	t.Helper()
	w := dq.NewWorker(b.client, o)
	q := must(dq.NewQueue(b.client, "orders", codec.String{}))
	dq.Handle(w, q, handler)
	running := async(func() error { return w.Run(context.Background()) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
		defer cancel()
		_ = w.Shutdown(ctx)
		require.NoError(t, <-running)
		require.NoError(t, q.Close())
	})
}

func numbered(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	return values
}

// The server is away, takes no writes, or no scripts, while 50 handlers acknowledge: each message is handled once.
func TestWorkerAcknowledgesThroughAnOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(b *bundle, p *redis.Proxy){
		"away for 6 s": func(_ *bundle, p *redis.Proxy) { p.Refuse(); p.Reset(); time.Sleep(6 * time.Second); p.Heal() },
		"READONLY for 2 s": func(b *bundle, _ *redis.Proxy) {
			b.redis.ReplicaOf(context.Background(), "127.0.0.1", "1")
			time.Sleep(2 * time.Second)
			b.redis.ReplicaOf(context.Background(), "NO", "ONE")
		},
		"a key of another type for 1 s": func(b *bundle, _ *redis.Proxy) {
			b.redis.Rename(context.Background(), "dq_leases:{orders}", "aside{orders}")
			b.redis.Set(context.Background(), "dq_leases:{orders}", "", 0)
			time.Sleep(time.Second)
			b.redis.Rename(context.Background(), "aside{orders}", "dq_leases:{orders}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events told
			b, p := through(t, redistest.Process(t), dq.WithObserver(events.note))
			b.push(t, numbered(50)...)
			var calls atomic.Int64
			begun, ending := make(chan struct{}, 100), make(chan struct{})
			b.works(t, dq.WorkerOptions{Concurrency: 50, Lease: 15 * time.Second}, func(context.Context, *dq.Message[string]) error {
				calls.Add(1)
				begun <- struct{}{}
				<-ending
				return nil
			})
			for range 50 {
				<-begun
			}
			time.AfterFunc(100*time.Millisecond, func() { close(ending) })
			outage(b, p)
			require.Eventually(t, func() bool { return events.get("Acknowledged") == 50 }, testDeadline, 10*time.Millisecond, "%s", &events)
			b.nothingLeft(t)
			require.EqualValues(t, 50, calls.Load())
		})
	}
}

// A consumer whose network is dead: its handler's context has ended, with a cause, before another worker begins.
func TestWorkerEndsAHandlerBeforeItsLease(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	b, p := through(t, s)
	other := at(t, s, s.URL())
	begun, ended, again := make(chan struct{}), make(chan error, 1), make(chan struct{})
	b.push(t, "v")
	b.works(t, dq.WorkerOptions{Lease: 2 * time.Second}, func(ctx context.Context, _ *dq.Message[string]) error {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	})
	<-begun
	p.Set(redis.Fault{Stall: true})
	other.works(t, dq.WorkerOptions{Lease: 2 * time.Second}, func(_ context.Context, m *dq.Message[string]) error {
		require.Equal(t, 2, m.Attempt)
		close(again)
		return nil
	})
	select {
	case err := <-ended:
		require.ErrorIs(t, err, dq.ErrLeaseLost)
	case <-again:
		require.Fail(t, "handled twice at the same time")
	}
	<-again
	require.NoError(t, p.Heal())
}

// The server is away for 1.3 s when leases of 6 s are extended: it is tried again, and no handler notices. DQ_THOROUGH has
// leases of 30 s, and the server away at second 14.8.
func TestWorkerExtendsThroughAnOutage(t *testing.T) {
	t.Parallel()
	lease, away, work := 6*time.Second, 1800*time.Millisecond, 7*time.Second // just before a third
	if redistest.Thorough() {
		lease, away, work = 30*time.Second, 14800*time.Millisecond, 32*time.Second
	}
	var events told
	b, p := through(t, redistest.Redis(t), dq.WithObserver(events.note))
	b.push(t, numbered(20)...)
	var calls, aborted atomic.Int64
	b.works(t, dq.WorkerOptions{Concurrency: 20, Lease: lease}, func(ctx context.Context, _ *dq.Message[string]) error {
		calls.Add(1)
		select {
		case <-ctx.Done():
			aborted.Add(1)
		case <-time.After(work):
		}
		return nil
	})
	require.Eventually(t, func() bool { return events.get("Held") == 20 }, testDeadline, time.Millisecond)
	time.Sleep(away)
	p.Refuse()
	p.Reset()
	if redistest.Thorough() {
		time.Sleep(1300 * time.Millisecond)
	} else {
		require.Eventually(t, func() bool { return events.get("ExtensionFailed") > 0 }, testDeadline, time.Millisecond)
	}
	require.NoError(t, p.Heal())
	require.Eventually(t, func() bool { return events.get("Acknowledged") == 20 }, work+testDeadline, 10*time.Millisecond, "%s", &events)
	require.Zero(t, aborted.Load())
	require.EqualValues(t, 20, calls.Load())
	require.Positive(t, events.get("Extended"))
}

// Messages of equal values, also large ones, are retried each for itself. They wait in the leases: nobody has to transfer them.
func TestWorkerRetriesEachMessage(t *testing.T) {
	t.Parallel()
	var events told
	b := setup(t, dq.WithObserver(events.note))
	large := strings.Repeat("x", 1<<20)
	const n, attempts = 20, 3
	for range n {
		b.push(t, large)
	}
	var calls atomic.Int64
	b.works(t, dq.WorkerOptions{MaxAttempts: attempts, Backoff: func(int) time.Duration { return 0 }},
		func(_ context.Context, m *dq.Message[string]) error {
			calls.Add(1)
			if m.Value != large {
				return dq.Bury(errors.New("cut"))
			}
			if m.Attempt < attempts {
				return errors.New("no")
			}
			return nil
		})
	require.Eventually(t, func() bool { return events.get("Acknowledged") == n }, testDeadline, time.Millisecond, "%s", &events)
	require.EqualValues(t, n*attempts, calls.Load())
	require.Zero(t, b.redis.Exists(t.Context(), b.names.TimeoutSet, b.names.Pending).Val())
	// The first handler's event may come after the second handler's: each tells when its reply has come, and if that is lost, AckFailed.
	require.Eventually(t, func() bool { return events.get("Retry")+events.get("AckFailed") == n*(attempts-1) }, testDeadline, time.Millisecond, "%s", &events)
	b.nothingLeft(t)
}

// lose adds a message that so many holders have lost.
func (b *bundle) lose(t *testing.T, value string, losses int) {
	t.Helper()
	keys := scripts.LeaseNamesOf("orders")
	b.redis.HSet(t.Context(), keys.Bodies, value, value)
	b.redis.HSet(t.Context(), keys.Counts, value, losses)
	b.redis.ZAdd(t.Context(), keys.Leases, goredis.Z{Score: 1, Member: value})
}

// A message that kills its process, in a Worker of eight handlers: what lost its worker comes back alone, so that it takes no
// other message with it.
func TestWorkerPoisonTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	b := setupOn(t, s, "orders")
	b.push(t, append(numbered(40), poison)...)
	ctx := deadline(t)
	done := map[string]bool{}
	deaths := 0
	for over := false; !over; {
		program := exec.CommandContext(ctx, os.Args[0])
		program.Env = append(os.Environ(), ledgerAt+"="+s.URL(), poison+"=1")
		out := must(program.StdoutPipe())
		require.NoError(t, program.Start())
		for lines := bufio.NewScanner(out); !over && lines.Scan(); {
			if words := strings.Fields(lines.Text()); words[0] == "end" {
				done[words[2]] = true
			}
			over = b.redis.ZCard(ctx, scripts.LeaseNamesOf("orders").Dead).Val() > 0 && len(done) == 40
		}
		if over {
			_ = program.Process.Kill()
		} else {
			deaths++
		}
		_ = program.Wait()
		require.LessOrEqual(t, deaths, ledgerAttempts)
	}
	q := queueOf(t, b, codec.String{})
	var letters []string
	for letter, err := range q.Dead(ctx) {
		require.NoError(t, err)
		require.Contains(t, letter.Reason, "lost by its worker")
		letters = append(letters, letter.Value)
	}
	require.Equal(t, []string{poison}, letters, "no innocent")
}

// A Java consumer beside a Worker takes from the list as ever.
func TestWorkerSharesItsQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	var handled, taken atomic.Int64
	b.works(t, dq.WorkerOptions{}, func(context.Context, *dq.Message[string]) error { handled.Add(1); return nil })
	taking, stop := context.WithCancel(ctx)
	defer stop()
	done := async(func() error { return consume(taking, b.queue.Take, 1, func(string) { taken.Add(1) }) }) // BLPOP, as Redisson's take()
	for i := range 200 {
		require.NoError(t, b.queue.Offer(ctx, fmt.Sprint(i)))
		require.Eventually(t, func() bool { return handled.Load()+taken.Load() == int64(i+1) }, testDeadline, time.Millisecond)
	}
	require.Positive(t, handled.Load())
	require.Positive(t, taken.Load())
	stop()
	<-done
}

// Many queues share one connection: 10,000 of them (DQ_THOROUGH) need few connections and 100 MB, and messages that are due or come
// from elsewhere arrive.
func TestWorkerOfManyQueues(t *testing.T) {
	b := setupOn(t, redistest.Process(t), "orders")
	ctx := deadline(t)
	n := 2_000
	if redistest.Thorough() {
		n = 10_000
	}
	before := heap()
	w := dq.NewWorker(b.client, dq.WorkerOptions{PollEvery: 200 * time.Millisecond})
	queues := make([]*dq.Queue[string], n)
	came := make(chan string, n)
	for i := range queues {
		queues[i] = must(dq.NewQueue(b.client, fmt.Sprint("orders-", i), codec.String{}))
		dq.Handle(w, queues[i], func(_ context.Context, m *dq.Message[string]) error { came <- m.Queue + m.Value; return nil })
	}
	running := async(func() error { return w.Run(ctx) })
	require.NoError(t, queues[n-1].Ready(ctx))
	_, err := queues[7].Offer(ctx, " own", 50*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, "orders-7 own", <-came)
	require.NoError(t, b.redis.RPush(ctx, "orders-8", " elsewhere").Err())
	require.Equal(t, "orders-8 elsewhere", <-came)
	used := heap() - before
	subscribers, err := b.redis.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").Text()
	require.NoError(t, err)
	require.Regexp(t, `^[^\n]+\n$`, subscribers, "one line, one connection")
	connections, err := b.redis.ClientList(ctx).Result()
	require.NoError(t, err)
	count := strings.Count(connections, "addr=") - strings.Count(connections, "laddr=")
	t.Logf("%d queues: %d connections, %d MB", n, count, used>>20)
	require.LessOrEqual(t, count, 100)
	require.LessOrEqual(t, used, int64(n)*(100<<20)/10_000)
	require.NoError(t, w.Shutdown(ctx))
	require.NoError(t, <-running)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// The ends that a handler can choose, and those that befall it.
func TestWorkerEndsOfAMessage(t *testing.T) {
	t.Parallel()
	var events told
	causes := make(chan error, 100)
	b := setup(t, dq.WithObserver(events.note), on(func(e dq.Handled) {
		if e.Err != nil {
			causes <- e.Err
		}
	}))
	b.push(t, "ok", "retry", "bury", "drop", "panic", "goexit", "slow", "broken")
	wrapped, calls := 0, atomic.Int64{}
	b.works(t, dq.WorkerOptions{
		Concurrency: 1, Timeout: 50 * time.Millisecond, MaxAttempts: 2,
		Backoff: func(int) time.Duration { panic("backoff") }, // DefaultBackoff takes its place
		Wrap: func(next dq.Handler) dq.Handler {
			wrapped++
			return func(ctx context.Context, d dq.Delivery) error { calls.Add(1); return next(ctx, d) }
		},
	}, func(ctx context.Context, m *dq.Message[string]) error {
		if m.Attempt == 2 {
			return nil
		}
		switch m.Value {
		case "retry":
			return dq.RetryIn(0, errors.New("again"))
		case "bury":
			return fmt.Errorf("wrapped: %w", dq.Bury(nil))
		case "drop":
			return dq.Drop(errors.New("nobody wants it"))
		case "panic":
			panic("it")
		case "goexit":
			runtime.Goexit()
		case "slow":
			<-ctx.Done()
			return context.Cause(ctx)
		case "broken": // its methods panic, as a nil pointer's in an interface do
			var broken *brokenError
			return broken
		}
		return nil
	})
	require.Eventually(t, func() bool { return events.get("Acknowledged") == 7 && events.get("Dead") == 1 }, testDeadline, time.Millisecond, "%s", &events)
	require.Equal(t, 5, events.get("Retry"))
	require.Equal(t, 1, wrapped)
	require.EqualValues(t, 13, calls.Load())
	close(causes)
	var panicked *dq.PanicError
	var all error
	for err := range causes {
		all = errors.Join(all, err)
	}
	require.ErrorAs(t, all, &panicked)
	require.Equal(t, "it", panicked.Value)
	require.ErrorIs(t, all, context.DeadlineExceeded)
	for _, text := range []string{"again", "wrapped: the handler gave no reason", "nobody wants it", "panicked: it", "runtime.Goexit", "a method of its error, a *dq_test.brokenError: runtime error: invalid memory address"} {
		require.ErrorContains(t, all, text)
	}
}

// A value that cannot be decoded is a dead letter with its bytes. One that is dropped during a walk is no letter of it.
func TestWorkerBuriesWhatItCannotDecode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	b.push(t, "no number", "no number")
	q := queueOf(t, b, codec.Long{})
	w := dq.NewWorker(b.client, dq.WorkerOptions{})
	dq.Handle(w, q, func(context.Context, *dq.Message[int64]) error { return nil })
	running := async(func() error { return w.Run(ctx) })
	require.Eventually(t, func() bool { n, err := q.Counts(ctx); return err == nil && n == dq.Counts{Dead: 2} }, testDeadline, time.Millisecond)
	var unread *dq.DecodeError
	for _, err := range q.Dead(ctx) {
		require.ErrorAs(t, err, &unread)
		require.Equal(t, "no number", string(unread.Data))
		n, _ := q.Drop(ctx, b.redis.ZRange(ctx, scripts.LeaseNamesOf("orders").Dead, 0, -1).Val()...)
		require.Equal(t, 2, n, "the walk leaves out the other")
	}
	require.NoError(t, w.Shutdown(ctx))
	require.NoError(t, <-running)
}

func TestWorkerThatCannotStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	handler := func(context.Context, *dq.Message[string]) error { return nil }
	q := queueOf(t, b, codec.String{})
	for want, o := range map[string]dq.WorkerOptions{
		"options of 0 or more": {Concurrency: -1}, "65536 or less": {Concurrency: 1e9}, "Lease: expected 100ms or more": {Lease: time.Millisecond},
	} {
		w := dq.NewWorker(b.client, o)
		dq.Handle(w, q, handler)
		require.ErrorContains(t, w.Run(ctx), want)
		require.ErrorContains(t, w.Shutdown(ctx), want)
	}
	require.ErrorContains(t, dq.NewWorker(nil, dq.WorkerOptions{}).Run(ctx), "no Client")
	handles := func(c *dq.Client, queues ...*dq.Queue[string]) *dq.Worker {
		w := dq.NewWorker(c, dq.WorkerOptions{})
		for _, q := range queues {
			dq.Handle(w, q, handler)
		}
		return w
	}
	require.ErrorContains(t, handles(b.client).Run(ctx), "no queue")
	require.ErrorContains(t, handles(setup(t).client, q).Run(ctx), "another Client")
	require.ErrorContains(t, handles(b.client, q, queueOf(t, b, codec.String{})).Run(ctx), `queue "orders" has a handler already`)
	w := handles(b.client)
	dq.Handle[string](w, q, nil)
	require.ErrorContains(t, w.Run(ctx), "a queue and a handler")
	_, err := dq.NewQueue(b.client, "orders", codec.String{}, nil)
	require.ErrorContains(t, err, "option 1 of 1 is nil")
	w = handles(b.client, q)
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- w.Run(ctx) }()
	}
	require.ErrorContains(t, <-results, "started before")
	require.NoError(t, w.Shutdown(ctx))
	require.NoError(t, <-results)
	require.ErrorContains(t, w.Run(ctx), "started before")

	w = handles(b.client)
	begun := make(chan struct{})
	dq.Handle(w, q, func(context.Context, *dq.Message[string]) error { close(begun); return nil })
	go func() { results <- w.Run(ctx) }()
	b.push(t, "v")
	<-begun
	dq.Handle(w, q, handler)
	require.ErrorContains(t, <-results, "call Handle before Run")
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// What two holders lost takes half of a Worker's time at most.
func TestWorkerHandlesOthersBesideTheLost(t *testing.T) {
	t.Parallel()
	var events told
	b := setup(t, dq.WithObserver(events.note))
	const lost, others, each = 20, 50, 20 * time.Millisecond
	for i := range lost {
		b.lose(t, fmt.Sprint("lost", i), 2)
	}
	b.push(t, numbered(others)...)
	var running, besides, lostDone atomic.Int64
	lostFirst := make(chan int64, 1)
	b.works(t, dq.WorkerOptions{Concurrency: 10}, func(_ context.Context, m *dq.Message[string]) error {
		n := running.Add(1)
		defer running.Add(-1)
		alone := strings.HasPrefix(m.Value, "lost")
		if alone && n > 1 {
			besides.Add(1)
		}
		time.Sleep(each)
		if alone {
			lostDone.Add(1)
		} else if m.Value == fmt.Sprint(others-1) {
			lostFirst <- lostDone.Load()
		}
		return nil
	})
	require.Less(t, <-lostFirst, int64(lost), "others were done before all that is handled alone")
	require.Eventually(t, func() bool { return events.get("Acknowledged") == lost+others }, testDeadline, time.Millisecond, "%s", &events)
	require.Zero(t, besides.Load())
	b.nothingLeft(t)
}

// Neither a handler that hangs nor a lost message whose handler hangs keeps a Worker from the others.
func TestWorkerHandlesOthersBesideOneThatHangs(t *testing.T) {
	t.Parallel()
	for first, losses := range map[string]int{"another": 0, "itself": 2} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			begun, ending := make(chan string), make(chan struct{})
			defer close(ending)
			b.lose(t, first, losses)
			b.works(t, dq.WorkerOptions{Concurrency: 2, Lease: 3 * time.Second}, func(_ context.Context, m *dq.Message[string]) error {
				if m.Value != "lost" {
					begun <- m.Value
				}
				if m.Value == first {
					<-ending
				}
				return nil
			})
			require.Equal(t, first, <-begun)
			b.lose(t, "lost", 2)
			for i := range 5 {
				b.push(t, fmt.Sprint(i))
				require.Equal(t, fmt.Sprint(i), <-begun)
			}
		})
	}
}

// What waits to be handled by itself was not handed out: a process that dies meanwhile costs it no attempt.
func TestWorkerCountsWhatItBegins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := scripts.LeaseNamesOf("orders")
	begun, ending := make(chan int), make(chan struct{})
	b.works(t, dq.WorkerOptions{Concurrency: 2}, func(_ context.Context, m *dq.Message[string]) error {
		if begun <- m.Attempt; m.Value == "other" {
			<-ending
		}
		return nil
	})
	b.push(t, "other")
	require.Equal(t, 1, <-begun)
	b.lose(t, "lost", 2)
	b.push(t, "third")
	require.Equal(t, 1, <-begun)
	require.Eventually(t, func() bool { return b.redis.ZScore(t.Context(), keys.Leases, "lost").Val() > 1 }, testDeadline, time.Millisecond, "it is claimed")
	require.Equal(t, "2", b.redis.HGet(t.Context(), keys.Counts, "lost").Val())
	close(ending)
	require.Equal(t, 3, <-begun)
}

// A Client that is closed under its Worker ends it, and a handler that hangs is told to have lost its lease.
func TestWorkerEndsWithItsClient(t *testing.T) {
	t.Parallel()
	begun, lost := make(chan struct{}), make(chan struct{})
	b := setup(t, on(func(dq.LeaseLost) { close(lost) }))
	q := queueOf(t, b, codec.String{})
	w := dq.NewWorker(b.client, dq.WorkerOptions{Lease: time.Second})
	dq.Handle(w, q, func(ctx context.Context, _ *dq.Message[string]) error {
		close(begun)
		<-ctx.Done()
		<-lost
		return context.Cause(ctx)
	})
	b.push(t, "v")
	running := async(func() error { return w.Run(deadline(t)) })
	<-begun
	require.NoError(t, b.client.Close())
	require.ErrorIs(t, <-running, dq.ErrClosed)
	require.EqualValues(t, 1, b.redis.ZCard(t.Context(), scripts.LeaseNamesOf("orders").Leases).Val(), "its lease ends by itself")
}

// Before Redis 6.2 there is no BLMOVE: such a server is asked every 50 ms.
func TestWorkerOnAnOlderServer(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Process(t, "--rename-command", "BLMOVE", ""), "orders")
	handled := make(chan string, 1)
	b.works(t, dq.WorkerOptions{}, func(_ context.Context, m *dq.Message[string]) error { handled <- m.Value; return nil })
	time.AfterFunc(100*time.Millisecond, func() { _ = b.redis.RPush(context.Background(), "orders", "v").Err() })
	require.Equal(t, "v", <-handled)
}

// A Shutdown that gives up, and another at the same time, give back what a handler holds, whose lease is kept so long, and what
// waits staged for one.
func TestWorkerGivesAllBackWhenShutdownGivesUp(t *testing.T) {
	t.Parallel()
	var events told
	b := setup(t, dq.WithObserver(events.note))
	ctx := deadline(t)
	other := must(dq.NewQueue(b.client, "others", codec.String{}))
	begun, ends, ran := make(chan string, 2), make(chan struct{}), make(chan error, 1)
	defer close(ends)
	hangs := func(_ context.Context, m *dq.Message[string]) error { begun <- m.Queue; <-ends; return nil }
	w := dq.NewWorker(b.client, dq.WorkerOptions{Concurrency: 1, Lease: 3 * time.Second})
	dq.Handle(w, queueOf(t, b, codec.String{}), hangs)
	dq.Handle(w, other, hangs)
	go func() { ran <- w.Run(ctx) }()
	require.Eventually(t, func() bool { return strings.Count(b.redis.ClientList(ctx).Val(), "flags=b ") == 2 }, testDeadline, time.Millisecond) // it waits for both
	for _, queue := range []string{"orders", "others"} {
		n, err := queueOf(t, b, codec.String{}).OfferAll(ctx, time.Hour, "later") // in one command: one event
		require.Equal(t, 1, n)
		require.NoError(t, err)
		require.NoError(t, b.redis.RPush(ctx, queue, "v").Err())
		if queue == "orders" {
			require.Equal(t, queue, <-begun)
		}
	}
	require.Equal(t, 2, events.get("Offered"))
	staged := scripts.LeaseNamesOf("others").Staged
	require.Eventually(t, func() bool { return b.redis.LLen(ctx, staged).Val() == 1 && events.get("Extended") > 0 }, testDeadline, time.Millisecond)
	over, cancel := context.WithCancel(ctx)
	cancel()
	end := func() error { return w.Shutdown(over) }
	for _, result := range []<-chan error{async(end), async(end)} {
		var unended *dq.ShutdownError
		require.ErrorAs(t, <-result, &unended)
		require.Len(t, unended.Running, 1)
	}
	require.NoError(t, <-ran)
	require.Zero(t, b.redis.Exists(ctx, staged).Val())
	for _, queue := range []string{"orders", "others"} {
		require.Equal(t, []string{"v"}, b.redis.LRange(ctx, queue, 0, -1).Val())
	}
}
