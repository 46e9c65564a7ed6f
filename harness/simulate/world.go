package simulate

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/server/embedded"
)

const (
	queue = "orders"
	// visibility of the reliable form.
	visibility = 10 * time.Second
	// quietFor is how long nothing has gone wrong when a transfer has no excuse for being late, and
	// lateBy is what is late then.
	quietFor = time.Minute
	lateBy   = 300 * time.Millisecond
	// settleFor is how long after the last due time all must have come.
	settleFor = 2 * time.Minute
	// commandsPerSecond is what a run may send on average, ten times what any does.
	commandsPerSecond = 100
	// callTimeout bounds each call of a client.
	callTimeout = 20 * time.Second
)

// Report is what came of a run.
type Report struct {
	Violations []string
	// Trace has every event and command, if it was asked for; Hash stands for it.
	Trace []string
	Hash  uint64

	Offered, Refused, Cancelled, Taken, Again, Faults, Commands int
	// LostReplies are messages whose taker's connection broke, which at most once allows.
	LostReplies int
}

// Add adds the counts of another report.
func (r *Report) Add(o Report) {
	r.Offered += o.Offered
	r.Refused += o.Refused
	r.Cancelled += o.Cancelled
	r.Taken += o.Taken
	r.Again += o.Again
	r.Faults += o.Faults
	r.Commands += o.Commands
	r.LostReplies += o.LostReplies
}

func (r Report) String() string {
	return fmt.Sprintf("%d offered (%d unconfirmed), %d cancelled, %d taken (%d again), %d lost with a taker's reply, %d faults, %d commands",
		r.Offered, r.Refused, r.Cancelled, r.Taken, r.Again, r.LostReplies, r.Faults, r.Commands)
}

// Options of a Run.
type Options struct {
	Trace bool
	// Script plants a fault in the server: see embedded.Hooks.
	Script func(body string) string
	// TimersLate is by how much the timers of all clients are late.
	TimersLate time.Duration
	// Deaf keeps what is published from every client.
	Deaf bool
}

// world is one run.
type world struct {
	plan    Plan
	options Options
	began   time.Time
	net     *network
	server  *embedded.Server
	model   *model

	mu       sync.Mutex
	report   Report
	trace    interface{ Write([]byte) (int, error) }
	sum      func() uint64
	clients  map[string]*client
	offers   map[string]string // message → "ok" or "?"
	cancels  map[string]string // message → "?" while it is under way or unknown, "yes", "no"
	taken    map[string]int
	lastBad  time.Time // when something last went wrong
	ahead    []time.Duration
	finished bool
}

// Run carries a plan out. It must be called inside a testing/synctest bubble.
func Run(plan Plan, options Options) Report {
	h := fnv.New64a()
	w := &world{
		plan: plan, options: options, began: time.Now(), net: newNetwork(plan.Seed), trace: h, sum: h.Sum64,
		clients: map[string]*client{}, offers: map[string]string{}, cancels: map[string]string{}, taken: map[string]int{},
	}
	w.net.deaf = options.Deaf
	w.model = &model{
		names: wire.NamesOf(queue), reliable: scripts.ReliableNamesOf(queue), world: w,
		seen: map[string]*message{}, pending: map[string]int64{},
	}
	server, err := embedded.Serve(w.net, embedded.Hooks{Script: options.Script, Ran: w.model.ran})
	if err != nil {
		w.violate("no server: %v", err)
		return w.report
	}
	w.server, w.model.server = server, server
	w.lastBad = w.began
	w.clocks()

	for _, e := range plan.Events {
		w.sleepUntil(w.began.Add(e.At))
		w.do(e)
	}
	w.settle()
	w.judge()

	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.LostReplies = len(w.net.lost)
	w.report.Hash = w.sum()
	return w.report
}

// clocks finds by how much the clocks of the plan are ever ahead.
func (w *world) clocks() {
	at := map[string]time.Duration{}
	w.ahead = []time.Duration{0}
	for _, e := range w.plan.Events {
		switch e.Kind {
		case Start:
			at[e.Client] = e.Span
		case Step:
			at[e.Client] += e.Span
		default:
			continue
		}
		w.ahead = append(w.ahead, at[e.Client])
	}
}

// aheadOf is the latest time that any client may hold now for.
func (w *world) aheadOf(now time.Time) time.Time { return now.Add(slices.Max(w.ahead)) }

func (w *world) note(text func() string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished {
		return
	}
	if w.report.Commands++; float64(w.report.Commands) == commandsPerSecond*(w.plan.Length+settleFor).Seconds() {
		w.report.Violations = append(w.report.Violations, fmt.Sprintf("%s: somebody sends command after command: %d so far", time.Since(w.began), w.report.Commands))
	}
	line := fmt.Sprintf("%-14s %s", time.Since(w.began), text())
	_, _ = w.trace.Write([]byte(line))
	if w.options.Trace {
		w.report.Trace = append(w.report.Trace, line)
	}
}

func (w *world) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished || len(w.report.Violations) >= 20 {
		return
	}
	text := fmt.Sprintf("%s: ", time.Since(w.began)) + fmt.Sprintf(format, args...)
	w.report.Violations = append(w.report.Violations, text)
	if w.options.Trace {
		w.report.Trace = append(w.report.Trace, "VIOLATION "+text)
	}
}

func (w *world) mayBeCancelled(value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cancels[value] == "?" || w.cancels[value] == "yes"
}

// transferred judges how late a message reached its queue.
func (w *world) transferred(value string, due, now time.Time) {
	w.mu.Lock()
	quiet := now.Sub(w.lastBad) > quietFor && len(w.clients) > 0 && slices.Max(w.ahead) == slices.Min(w.ahead)
	w.mu.Unlock()
	if late := now.Sub(due); quiet && late > lateBy {
		w.violate("%s was transferred %s after it was due, though nothing had gone wrong", value, late)
	}
}

// client is one process.
type client struct {
	name    string
	rdb     *redis.Client
	dq      *dq.Client
	clock   *skewed
	delayed *dq.DelayedQueue[string]
	stop    context.CancelFunc // ends what it takes
	ctx     context.Context
	work    sync.WaitGroup
	calls   sync.WaitGroup
	rng     *rand.Rand
	rngMu   sync.Mutex
}

func (w *world) do(e Event) {
	w.note(e.String)
	w.mu.Lock()
	c := w.clients[e.Client]
	if slices.Contains(faults, e.Kind) || e.Kind == Start || e.Kind == Stop {
		w.lastBad = time.Now().Add(e.Span)
		if slices.Contains(faults, e.Kind) {
			w.report.Faults++
		}
	}
	w.mu.Unlock()
	if c == nil && e.Client != "" && e.Kind != Start {
		return
	}
	switch e.Kind {
	case Start:
		w.start(e)
	case Stop:
		w.leave(c)
	case Offer:
		c.calls.Go(func() { w.offer(c, e) })
	case Cancel:
		c.calls.Go(func() { w.cancel(c, e) })
	case Look:
		c.calls.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
			defer cancel()
			_, _ = c.delayed.ReadAll(ctx)
		})
	case Cut:
		w.net.each(e.Client, (*link).cut)
	case LoseReplies:
		w.net.each(e.Client, func(l *link) { l.set(func() { l.loseReply = true }) })
	case LoseRequests:
		w.net.each(e.Client, func(l *link) { l.set(func() { l.loseHalf = true }) })
	case Kill:
		w.kill(c)
	case Stall:
		w.net.stall(e.Client, e.Span)
	case Slow:
		w.net.slowDown(e.Client, e.Span)
	case Step:
		c.clock.step(e.Span)
	case Restart:
		w.net.setDown(true)
		w.server.Exclusive(func() { w.server.ForgetScripts() })
		go func() {
			time.Sleep(e.Span)
			w.net.setDown(false)
		}()
	case Flush:
		w.server.Exclusive(func() { w.server.ForgetScripts() })
	}
}

func (w *world) start(e Event) {
	c := &client{name: e.Client, clock: &skewed{late: w.options.TimersLate}, rng: rand.New(rand.NewPCG(w.plan.Seed, hash(e.Client)+1))}
	c.clock.step(e.Span)
	c.rdb = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", Dialer: w.net.dialer(e.Client), MaxRetries: -1, DisableIdentity: true,
	})
	var err error
	c.dq, err = dq.NewClient(c.rdb, dq.WithRelease(e.Text), dq.WithClock(c.clock), dq.WithRandom(rand.NewPCG(w.plan.Seed, hash(e.Client))))
	if err != nil {
		w.violate("%s does not start: %v", e.Client, err)
		return
	}
	dest := dq.NewBlockingQueue(c.dq, queue, codec.String{})
	c.delayed = dq.NewDelayedQueue(dest)
	c.ctx, c.stop = context.WithCancel(context.Background())
	if w.plan.Reliable {
		w.consume(c, dest, e.N)
	} else {
		for range e.N {
			c.work.Go(func() { w.take(c, dest) })
		}
	}
	w.mu.Lock()
	w.clients[e.Client] = c
	w.mu.Unlock()
}

func (w *world) take(c *client, dest *dq.BlockingQueue[string]) {
	for {
		v, err := dest.Take(c.ctx)
		if v != "" {
			w.took(v)
		}
		switch {
		case err == nil:
		case c.ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
			return
		default:
			if sleep(c.ctx, time.Second) != nil {
				return
			}
		}
	}
}

func (w *world) took(v string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[v]++; w.taken[v] > 1 {
		w.report.Again++
	}
	w.report.Taken++
}

func (w *world) consume(c *client, dest *dq.BlockingQueue[string], workers int) {
	reliable := dq.NewReliableQueue(dest, dq.ReliableOptions{Visibility: visibility})
	if workers == 0 {
		return
	}
	handler := func(ctx context.Context, d *dq.Delivery[string]) error {
		c.rngMu.Lock()
		work, fails := time.Duration(c.rng.ExpFloat64()*float64(time.Second)), c.rng.IntN(8) == 0
		c.rngMu.Unlock()
		if err := sleep(ctx, work); err != nil {
			return err
		}
		if fails {
			return errors.New("it went wrong")
		}
		w.took(d.Value)
		return nil
	}
	backoff := func(int) time.Duration { return 5 * time.Second }
	c.work.Go(func() {
		_ = reliable.Consume(c.ctx, handler, dq.ReliableConsumeOptions{Workers: workers, Backoff: backoff})
	})
}

func (w *world) offer(c *client, e Event) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := c.delayed.Offer(ctx, e.Text, e.Span)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offers[e.Text] = "ok"
	w.report.Offered++
	if err != nil {
		w.offers[e.Text] = "?"
		w.report.Refused++
	}
}

func (w *world) cancel(c *client, e Event) {
	w.mu.Lock()
	w.cancels[e.Text] = "?"
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	removed, err := c.delayed.Remove(ctx, e.Text)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
	case removed:
		w.cancels[e.Text] = "yes"
		w.report.Cancelled++
	default:
		w.cancels[e.Text] = "no"
	}
}

// kill ends a client as the kernel does: nothing it does reaches anybody any more.
func (w *world) kill(c *client) {
	w.forget(c)
	w.net.kill(c.name)
	c.stop()
	_ = c.dq.Close()
	_ = c.rdb.Close()
}

func (w *world) leave(c *client) {
	w.forget(c)
	c.stop()
	c.calls.Wait()
	c.work.Wait()
	if err := c.dq.Close(); err != nil {
		w.violate("%s does not close: %v", c.name, err)
	}
	_ = c.rdb.Close()
}

func (w *world) forget(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clients, c.name)
}

// sleepUntil waits, but not for what comes after a violation.
func (w *world) sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		w.mu.Lock()
		broken := len(w.report.Violations) > 0
		w.mu.Unlock()
		if broken {
			return
		}
		time.Sleep(min(left, time.Second))
	}
}

// settle mends all that is broken, has a client in good health come, and waits until what
// is pending is due and taken.
func (w *world) settle() {
	w.sleepUntil(w.began.Add(w.plan.Length))
	w.net.heal()
	w.do(Event{At: time.Since(w.began), Kind: Start, Client: "last", Text: "4.7.0", N: 2})
	due := time.Now()
	w.server.Exclusive(func() {
		for _, score := range w.model.pending {
			if at := time.UnixMilli(score); at.After(due) {
				due = at
			}
		}
	})
	w.sleepUntil(due.Add(settleFor))
	w.mu.Lock()
	names := slices.Sorted(maps.Keys(w.clients))
	w.mu.Unlock()
	for _, name := range names {
		w.leave(w.clients[name])
	}
	if err := w.server.Close(); err != nil {
		w.violate("the server does not close: %v", err)
	}
}

// judge holds what came to what was promised.
func (w *world) judge() {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finished = true
	}()
	if len(w.report.Violations) > 0 {
		return // and it did not end
	}
	for _, v := range slices.Sorted(maps.Keys(w.model.seen)) {
		m := w.model.seen[v]
		if m.offered && !m.removed && m.popped+m.settled == 0 {
			w.violate("%s is still there at the end", v)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(w.offers)) {
		m := w.model.seen[v]
		came := w.taken[v] > 0
		switch {
		case w.offers[v] == "ok" && m == nil:
			w.violate("%s was confirmed and never seen", v)
		case w.cancels[v] == "yes" && came:
			w.violate("%s was cancelled and came", v)
		case m == nil || m.removed || came:
		case !w.plan.Reliable && w.net.lost[v]: // its taker's connection broke
		default:
			w.violate("%s was offered (%s) and nobody has it", v, w.offers[v])
		}
		if !w.plan.Reliable && w.taken[v] > 1 {
			w.violate("%s came %d times", v, w.taken[v])
		}
	}
	if w.plan.Reliable && w.report.Faults == 0 && w.report.Again > 0 {
		w.violate("%d messages came again though nothing went wrong", w.report.Again)
	}
}

// hash makes a number of a name.
func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64() << 16
}

// sortLinks puts links in the order in which they were made.
func sortLinks(links []*link) {
	slices.SortFunc(links, func(a, b *link) int {
		if n := strings.Compare(a.host.name, b.host.name); n != 0 {
			return n
		}
		return strings.Compare(pad(a.order), pad(b.order))
	})
}

func pad(n uint64) string { return fmt.Sprintf("%012s", strconv.FormatUint(n, 10)) }
