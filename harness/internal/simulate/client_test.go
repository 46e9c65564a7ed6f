package simulate_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// errShutDown is why a Shutdown waits no longer.
var errShutDown = errors.New("the Shutdown has taken its time")

// client is one process.
type client struct {
	name   string
	rdb    *redis.Client
	dq     *dq.Client
	clock  *skewed
	worker *dq.Worker // of a reliable plan
	queue  *dq.Queue[string]
	stop   context.CancelFunc // ends what it takes
	ctx    context.Context
	work   sync.WaitGroup
	calls  sync.WaitGroup
	rng    *rand.Rand
	rngMu  sync.Mutex

	durable  bool
	replicas int // that have to have what it offers
	closing  atomic.Bool
	idle     bool          // does not transfer
	patient  time.Duration // for how long it offers again
	busy     int           // handlers; the world's lock guards what follows
	free     time.Time     // since when another has a place
	began    time.Time
	ceased   time.Time         // when its last Queue that transfers was closed
	deaf     time.Time         // until when it may hear no announcement
	polls    bool              // its Worker, seldom
	replaced bool              // or about to be
	shut     map[string]bool   // messages whose handlers Shutdown ended, by id
	handled  map[string]string // messages that were in a handler and not acknowledged, by id
}

func (w *world) start(e Event) {
	c := &client{
		name: e.Client, clock: &skewed{late: w.options.TimersLate}, rng: rand.New(rand.NewPCG(w.plan.Seed, numberOf(e.Client)+1)),
		handled: map[string]string{}, patient: 5 * time.Second, free: time.Now(), began: time.Now(), shut: map[string]bool{},
	}
	c.clock.step(e.Span)
	c.rdb = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", Dialer: w.net.dialer(e.Client), MaxRetries: -1, DisableIdentity: true,
	})
	options := []dq.Option{
		dq.WithRelease(e.Text), dq.WithClock(c.clock), dq.WithClockStepDetection(!w.options.Unguarded),
		dq.WithRandom(rand.NewPCG(w.plan.Seed, numberOf(e.Client))), dq.WithObserver(func(event dq.Event) { w.observe(c, event) }),
	}
	if c.draw(4) == 0 {
		c.patient = time.Duration(c.draw(10)) * time.Second
		options = append(options, dq.WithOfferRetryTimeout(c.patient))
	}
	if w.plan.Strict {
		options = append(options, dq.WithRedissonCommands())
	}
	if c.durable = c.draw(8) == 0; c.durable {
		c.replicas = c.draw(2)
		options = append(options, dq.WithDurability(c.replicas, 1, 50*time.Millisecond))
	}
	var idle []dq.QueueOption
	c.idle = c.draw(8) == 0 && e.N > 0
	if w.plan.Lone {
		c.idle = strings.TrimRight(e.Client, "'")[len(strings.TrimRight(e.Client, "'"))-1]%3 != '1'%3
	}
	if c.idle = c.idle && e.Client != "last"; c.idle {
		idle = append(idle, dq.WithoutTransfer())
	}
	var err error
	if c.dq, err = dq.NewClient(c.rdb, options...); err != nil {
		w.violate("%s does not start: %v", e.Client, err)
		return
	}
	if c.queue, err = dq.NewQueue(c.dq, queue, picky{}, idle...); err != nil {
		w.violate("%s has no queue: %v", e.Client, err)
		return
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	if w.plan.Reliable {
		w.consume(c, e.N)
	} else {
		for range e.N {
			c.work.Go(func() { w.take(c) })
		}
	}
	c.calls.Go(func() { w.call(c, e, "Ready", c.queue.Ready) })
	if c.draw(4) == 0 {
		other, _ := dq.NewQueue(c.dq, queue, codec.String{})
		c.calls.Go(func() { _ = sleep(c.ctx, 5*time.Second); _ = other.Close() })
	}
	if c.draw(8) == 0 {
		w.mistakes(c)
	}
	if c.draw(8) == 0 {
		c.calls.Go(func() { w.call(c, e, "Remove", func(ctx context.Context) error { return w.twins(ctx, c) }) })
	}
	w.mu.Lock()
	w.clients[e.Client], w.takers[e.Client], c.deaf = c, e.N, time.Now().Add(w.recovery) // it has just begun to listen
	w.mu.Unlock()
}

// picky is a codec that foreign values do not fit.
type picky struct{ codec.String }

// Decode is part of codec.Codec.
func (p picky) Decode(data []byte) (string, error) {
	if len(data) != valueLength || data[0] != 'm' {
		return "", errors.New("expected a message")
	}
	return p.String.Decode(data)
}

// draw is a number below n.
func (c *client) draw(n int) int {
	c.rngMu.Lock()
	defer c.rngMu.Unlock()
	return c.rng.IntN(n)
}

// call makes a call within the time of the event. An error in time and without a fault is a violation.
func (w *world) call(c *client, e Event, name string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(e.Within, callTimeout))
	defer cancel()
	began := time.Now()
	err := f(ctx)
	took := time.Since(began)
	switch {
	case took > cmp.Or(e.Within, callTimeout)+time.Second:
		w.violate("%s of %s took %s", name, c.name, took)
	case c.durable && errors.Is(err, dq.ErrUncertain): // no replica has it
	case c.closing.Load() && name == "Offer" && err != nil && ctx.Err() == nil && !errors.Is(err, dq.ErrClosed) &&
		!errors.Is(err, dq.ErrUncertain) && !errors.As(err, new(resp.Error)):
		w.violate("%s of %s, which is closed, fails with %v", name, c.name, err)
	case err != nil && ctx.Err() == nil && !errors.Is(err, dq.ErrClosed) && w.quiet():
		w.violate("%s of %s fails though nothing went wrong: %v", name, c.name, err)
	}
}

func (w *world) take(c *client) {
	for c.ctx.Err() == nil {
		ctx, cancel := c.ctx, context.CancelFunc(func() {})
		switch c.draw(4) {
		case 0: // as a service does that looks at something else now and then
			ctx, cancel = context.WithTimeout(c.ctx, time.Duration(1+c.draw(20_000))*time.Millisecond)
		case 1: // just as a message comes
			next := w.nextDue(time.Minute).Add(time.Duration(c.draw(800)) * time.Microsecond)
			ctx, cancel = context.WithDeadline(c.ctx, next)
		case 2: // just as its command is sent
			ctx, cancel = context.WithTimeout(c.ctx, time.Duration(1+c.draw(300))*time.Microsecond)
		}
		v, err := c.queue.Take(ctx)
		if ends, limited := ctx.Deadline(); limited && time.Since(ends) > lateBy && !w.refuses && w.quiet() {
			w.violate("Take of %s ends %s after its context", c.name, time.Since(ends))
		}
		if v != "" {
			w.took(c, v)
		}
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, dq.ErrClosed):
			cancel()
			return
		default:
			says := func(text string) bool { return strings.Contains(err.Error(), text) }
			known := errors.As(err, new(*dq.DecodeError)) || says("times in a row") || says("no connection to")
			if !w.refuses && !w.leaves && !known {
				w.violate("Take of %s fails: %v", c.name, err)
			}
			_ = sleep(c.ctx, time.Second)
		}
		cancel()
	}
}

// nextDue returns when a message is next due, or the end of that time.
func (w *world) nextDue(within time.Duration) time.Time {
	next := time.Now().Add(within)
	for _, due := range w.waiting() {
		if at := time.UnixMilli(due); at.After(time.Now()) && at.Before(next) {
			next = at
		}
	}
	return next
}

func (w *world) took(c *client, v string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[v]++; w.taken[v] > 1 {
		w.report.Again++
		if w.plan.Reliable && !w.excused[v] {
			w.violateLocked("%s was handled again by %s, and no event said that it might be", v, c.name)
		}
	}
	w.report.Taken++
}

// observe notes the events that excuse a Worker for handling a message twice.
func (w *world) observe(c *client, event dq.Event) {
	var id string
	switch e := event.(type) {
	case dq.Offered:
		if e.Messages > 0 && c.replicas > 0 && c.name == "c1" {
			w.violate("an offer of %s is confirmed, and no replica has it", c.name)
		}
		return
	case dq.LeaseLost:
		id = e.ID
	case dq.AckFailed:
		id = e.ID
		if errors.Is(e.Err, dq.ErrLeaseLost) && w.settledFor(e) {
			w.violate("%s says that it failed to settle %s, which it did: %v", c.name, e.ID, e.Err)
		}
	case dq.Handled:
		if wrong := new(dq.PanicError); e.Err != nil && (e.Err.Error() == "" || errors.As(e.Err, &wrong) && len(wrong.Stack) == 0) {
			w.violate("a handler of %s failed without a reason", c.name)
		}
		return
	case dq.Dead:
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.shut[e.ID] && !strings.HasPrefix(e.Reason, "lost by") {
			w.violateLocked("Shutdown of %s ended the handler of %s, which is a dead letter: %s", c.name, e.ID, e.Reason)
		}
		return
	case dq.GivenBack:
		id = e.ID
	case dq.Acknowledged:
		w.mu.Lock()
		delete(c.handled, e.ID)
		w.mu.Unlock()
		return
	case dq.Requeued:
		if e.Err != nil {
			w.net.lose(e.Value)
		}
		return
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excused[c.handled[id]] = true
}

// settledFor reports whether the server has done what an event says that it has not.
func (w *world) settledFor(e dq.AckFailed) (done bool) {
	w.server.Exclusive(func() {
		how := w.model.settled[e.ID+" "+strconv.Itoa(e.Attempt)]
		again := w.model.counts[e.ID]
		done = slices.Contains([]string{"ack", "retry", "bury"}, how) && strings.Contains(e.Err.Error(), how) && (again == "" || again == strconv.Itoa(e.Attempt))
	})
	return done
}

// begun counts the calls of a handler for a message.
func (w *world) begun(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[id]++
	return w.calls[id]
}

// begin has a message in the hands of a handler, of which there may be one at a time.
func (w *world) begin(ctx context.Context, c *client, m *dq.Message[string]) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.handled[m.ID] = m.Value
	if other := w.running[m.Value]; other != nil && other.Err() == nil {
		w.violateLocked("%s has two handlers at a time, the second of %s", m.Value, c.name)
	}
	ctx, cancel := context.WithCancel(ctx)
	w.running[m.Value] = ctx
	c.busy++
	return func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		c.busy--
		c.free = time.Now()
	}
}

func (w *world) consume(c *client, workers int) {
	if workers == 0 {
		return
	}
	mean := time.Second
	if c.draw(2) == 0 {
		mean = 200 * time.Microsecond // so that a worker holds several at a time
	}
	handler := func(ctx context.Context, m *dq.Message[string]) error {
		if most := int(w.plan.Seed % 3 * 2); most > 0 && w.begun(m.ID) > most { // not each attempt reaches the handler
			w.violate("%s is handled in attempt %d, of %d", m.Value, m.Attempt, most)
		}
		defer w.begin(ctx, c, m)()
		c.rngMu.Lock()
		work := time.Duration(c.rng.ExpFloat64() * float64(mean))
		switch c.rng.IntN(50) {
		case 0:
			work = time.Second // and some wait behind one that takes long
		case 1, 2, 3:
			work = min(2*w.plan.Visibility, 25*time.Second) // and some are longer than a lease
		case 4, 5, 6, 7, 8, 9:
			work = 3 * time.Second
		}
		fails := c.rng.IntN(30)
		if m.Attempt > 1 && c.rng.IntN(2) == 0 {
			fails = 8
		}
		c.rngMu.Unlock()
		if m.Attempt > 1 && m.Attempt == int(w.plan.Seed%3*2) && c.draw(3) == 0 {
			go w.replace(c.name, Stop) // in its last attempt
			work = 10 * time.Second
		}
		if w.settles() { // so that it is not a dead letter once more
			work = min(work, time.Second)
		}
		if err := sleep(ctx, work); err != nil {
			if errors.Is(context.Cause(ctx), errShutDown) {
				w.mu.Lock()
				c.shut[m.ID] = true
				w.mu.Unlock()
			}
			if errors.Is(context.Cause(ctx), dq.ErrLeaseLost) {
				w.mu.Lock()
				w.report.LeasesLost++
				w.mu.Unlock()
			}
			return err
		}
		if w.plan.Seed%4 == 1 && c.draw(4) == 0 && !w.settles() { // of the settlement
			w.do(Event{At: time.Since(w.began), Kind: LoseReplies, Client: c.name})
		}
		wrong := errors.New("it went wrong")
		if w.settles() {
			fails = -1
			if m.Attempt == 1 && c.draw(2) == 0 { // in quiet times
				fails = 4
			}
		}
		if fails == 8 && m.Attempt < 4 && m.Value[len(m.Value)-1] == '5' {
			go w.replace(c.name, Kill) // such a message ends its process, again and again
		}
		if fails == 7 || fails > 27 {
			time.Sleep(10 * time.Second) // whatever becomes of ctx
		}
		switch fails {
		case 0, 1:
			return wrong
		case 2:
			runtime.Goexit()
		case 3:
			panic(wrong)
		case 4:
			return dq.RetryIn(time.Duration(c.draw(10_000))*time.Millisecond, wrong)
		case 5:
			return dq.Bury(wrong)
		}
		w.took(c, m.Value)
		if fails == 6 {
			return dq.Drop(wrong)
		}
		return nil
	}
	options := dq.WorkerOptions{Concurrency: workers, Lease: w.plan.Visibility, MaxAttempts: int(w.plan.Seed % 3 * 2)}
	if c.draw(2) == 0 {
		options.Backoff = func(int) time.Duration { return 5 * time.Second }
	}
	if c.draw(3) == 0 {
		if options.PollEvery = 200 * time.Millisecond; !c.idle && !w.plan.Strict && c.draw(3) > 0 {
			options.PollEvery, c.polls = 4*time.Second, true
		}
	}
	if c.draw(3) == 0 {
		options.Timeout = 15 * time.Second
	}
	c.worker = dq.NewWorker(c.dq, options)
	dq.Handle(c.worker, c.queue, handler)
	c.work.Go(func() { _ = c.worker.Run(c.ctx) })
}

func (w *world) offer(c *client, e Event) {
	values := []string{e.Text}
	var first int
	_, _ = fmt.Sscanf(e.Text, "m-%d", &first)
	for n := range e.N {
		values = append(values, valueOf(first+1+n))
	}
	w.mu.Lock()
	for _, v := range values {
		w.offers[v] = "?"
		w.expect[v] = c.clock.Now().Add(e.Span).UnixMilli()
	}
	w.report.Offered += len(values)
	w.mu.Unlock()
	confirmed, uncertain := 0, false
	w.call(c, e, "Offer", func(ctx context.Context) (err error) {
		defer func() { uncertain = errors.Is(err, dq.ErrUncertain) }()
		if e.N > 0 {
			confirmed, err = c.queue.OfferAll(ctx, e.Span, values...)
			return err
		}
		began := time.Now()
		ticket, err := c.queue.Offer(ctx, e.Text, e.Span)
		if took := time.Since(began); took > c.patient+2*time.Second && w.net.prompt(c.name, began) {
			w.violate("Offer of %s is tried again for %s, not %s: %v", c.name, took, c.patient, err)
		}
		if err == nil {
			confirmed = 1
		}
		if err == nil || errors.Is(err, dq.ErrUncertain) {
			w.mu.Lock()
			w.tickets[e.Text] = ticket.String()
			w.mu.Unlock()
		}
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range values[:confirmed] {
		w.offers[v] = "ok"
	}
	for _, v := range values[confirmed:] {
		if !uncertain {
			w.offers[v] = "no"
		}
	}
	w.report.Refused += len(values) - confirmed
}

// ticket returns the ticket of a message, if its offer has returned one.
func (w *world) ticket(value string) (t dq.Ticket, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := t.UnmarshalText([]byte(w.tickets[value]))
	return t, err == nil
}

func (w *world) cancel(c *client, e Event) {
	if e.Text = cmp.Or(e.Text, w.pick(c)); e.Text == "" {
		return
	}
	w.mu.Lock()
	w.asking[e.Text]++
	w.mu.Unlock()
	ticket, ticketed := w.ticket(e.Text)
	result := "no"
	w.call(c, e, "Cancel", func(ctx context.Context) (err error) {
		var removed bool
		before := w.waiting()[e.Text]
		switch {
		case e.N == 0 && ticketed:
			err = c.queue.Cancel(ctx, ticket)
			if removed = err == nil; errors.Is(err, dq.ErrNotWaiting) {
				err = nil
			}
		case e.N == 1:
			var n int
			n, err = c.queue.RemoveFunc(ctx, func(v string) bool { return v == e.Text })
			removed = n > 0
		case e.N == 3 && w.pure:
			var n any
			n, err = c.dq.Redisson(ctx, wire.ScriptRemove, []string{w.model.names.Pending, w.model.names.TimeoutSet}, e.Text)
			removed = n == int64(1)
		default:
			removed, err = c.queue.Remove(ctx, e.Text)
		}
		w.mu.Lock()
		outdated := e.N == 0 && w.expect[e.Text] == 0 // its ticket may be from before a reschedule
		w.mu.Unlock()
		if err == nil && !removed && before != 0 && e.N != 3 && !outdated && w.waiting()[e.Text] == before {
			w.violate("%s waits, and Cancel of %s does not find it", e.Text, c.name)
		}
		switch {
		case removed:
			result = "yes"
		case err != nil:
			result = "?"
		}
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case result == "?":
		return
	case result == "yes":
		w.cancels[e.Text] = "yes"
		w.report.Cancelled++
	case w.cancels[e.Text] == "":
		w.cancels[e.Text] = "no"
	}
	w.asking[e.Text]--
}

// pick returns a message that waits, "" if none does.
func (w *world) pick(c *client) string {
	all := slices.Sorted(maps.Keys(w.waiting()))
	all = append(slices.DeleteFunc(all, func(v string) bool { return v[0] != 'm' }), "")
	return all[c.draw(max(1, len(all)-1))]
}

// shut closes a client's Queue: it transfers no more, and takes on.
func (w *world) shut(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.polls && time.Since(c.began) > 6*time.Second { // no other Queue of the name is open
		_ = c.queue.Close()
		c.idle, c.ceased = true, time.Now()
	}
}

// mayTransfer judges a transfer of a client: one that was under way when its Queue was closed may last 10 s.
func (w *world) mayTransfer(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, before := w.clients[name], time.Now().Add(-12*time.Second)
	if c != nil && !c.ceased.IsZero() && c.ceased.Before(before) && w.net.prompt(name, before) {
		w.violateLocked("%s transfers, %s after its Queue was closed", name, time.Since(c.ceased))
	}
}

func (w *world) reschedule(c *client, e Event) {
	ticket, ticketed := w.ticket(e.Text)
	if !ticketed {
		return
	}
	w.mu.Lock()
	w.expect[e.Text] = 0
	w.mu.Unlock()
	w.call(c, e, "Reschedule", func(ctx context.Context) error {
		least := c.clock.Now().Add(e.Span).UnixMilli()
		moved, err := c.queue.Reschedule(ctx, ticket, e.Span)
		switch {
		case errors.Is(err, dq.ErrNotWaiting):
			return nil
		case err == nil || errors.Is(err, dq.ErrUncertain):
			w.mu.Lock()
			w.tickets[e.Text] = moved.String()
			w.mu.Unlock()
		}
		if err == nil && moved.Due().UnixMilli() < least && w.steady() {
			w.violate("%s was rescheduled for %s, before %d", e.Text, moved, least)
		}
		return err
	})
}

func (w *world) poll(c *client, e Event) {
	w.call(c, e, "Poll", func(ctx context.Context) error {
		values, err := c.queue.Poll(ctx, e.N)
		for _, v := range values {
			w.took(c, v)
		}
		if errors.As(err, new(*dq.DecodeError)) {
			return nil
		}
		if len(values) > e.N || len(values) == 0 && err == nil {
			w.violate("Poll of %d returns %d", e.N, len(values))
		}
		if errors.Is(err, dq.ErrEmpty) {
			return nil
		}
		return err
	})
}

// lookAt compares what the queue reports with what the server has, if that stays the same meanwhile.
func (w *world) lookAt(c *client, e Event) {
	w.call(c, e, "Waiting", func(ctx context.Context) error {
		before := w.waiting()
		seen := map[string]int{}
		for m, err := range c.queue.Waiting(ctx) {
			if err != nil && m.Ticket == (dq.Ticket{}) {
				return err
			}
			if err == nil {
				seen[m.Value]++
				w.mu.Lock()
				w.tickets[m.Value] = m.Ticket.String()
				w.mu.Unlock()
			}
		}
		after := w.waiting()
		for v, due := range before {
			if v[0] == 'm' && after[v] == due && seen[v] != 1 {
				w.violate("%s waits, and the walk of %s sees it %d times", v, c.name, seen[v])
			}
		}
		return nil
	})
	w.call(c, e, "Counts", func(ctx context.Context) error {
		before, ready := w.waiting(), w.ready()
		counts, err := c.queue.Counts(ctx)
		if err == nil && slices.Equal(ready, w.ready()) && counts.Ready < len(ready) {
			w.violate("%d are ready, and Counts of %s is %+v", len(ready), c.name, counts)
		}
		if err == nil && maps.Equal(before, w.waiting()) && counts.Waiting < len(before) {
			w.violate("%d wait, and Counts of %s is %+v", len(before), c.name, counts)
		}
		return err
	})
	w.revive(c, e)
	if !w.plan.Strict {
		return // its script cannot read the other layout
	}
	w.call(c, e, "readAll", func(ctx context.Context) error {
		_, err := c.dq.Redisson(ctx, wire.ScriptReadAll, []string{w.model.names.Pending})
		return err
	})
}

// revive replays dead letters, or drops them.
func (w *world) revive(c *client, e Event) {
	w.call(c, e, "Dead", func(ctx context.Context) error {
		for letter, err := range c.queue.Dead(ctx) {
			undecodable := errors.As(err, new(*dq.DecodeError))
			if err != nil && !undecodable {
				return err
			}
			if undecodable || e.Kind == Look && e.N == 1 {
				w.mu.Lock()
				w.asking[letter.Value]++
				w.mu.Unlock()
				_, err = c.queue.Drop(ctx, letter.ID)
			} else {
				_, err = c.queue.Replay(ctx, letter.ID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// clear removes what waits: also what is offered meanwhile, and if it fails, what is offered later.
func (w *world) clear(c *client, e Event) {
	w.mu.Lock()
	w.clearing++
	w.cleared = true
	w.mu.Unlock()
	w.call(c, e, "Clear", func(ctx context.Context) error {
		_, err := c.queue.Clear(ctx)
		if err == nil {
			w.mu.Lock()
			w.clearing--
			w.mu.Unlock()
		}
		return err
	})
}

// replace kills or stops a client, and has another come in its place.
func (w *world) replace(name string, kind Kind) {
	w.mu.Lock()
	c := w.clients[name]
	there := c != nil && name != "last" && !c.replaced
	if there {
		c.replaced = true
	}
	w.mu.Unlock()
	if there && !w.settles() {
		w.do(Event{At: time.Since(w.began), Kind: kind, Client: name})
	}
	if there && !w.settles() {
		w.do(Event{At: time.Since(w.began), Kind: Start, Client: name + "'", Text: "4.7.0", N: 1})
	}
}

// mistakes are calls that a program must not make. Each has an error, and none a consequence.
func (w *world) mistakes(c *client) {
	ctx, none := context.Background(), (*dq.Queue[string])(nil)
	other, err := dq.NewClient(c.rdb)
	if err != nil {
		w.violate("no second client: %v", err)
		return
	}
	defer other.Close()
	foreign, _ := dq.NewQueue(other, queue, codec.String{}, dq.WithoutTransfer())
	handler := func(context.Context, *dq.Message[string]) error { return nil }
	run := func(handle func(*dq.Worker), o dq.WorkerOptions) error {
		worker := dq.NewWorker(c.dq, o)
		handle(worker)
		return worker.Run(ctx)
	}
	of := func(rdb redis.UniversalClient, o ...dq.Option) error { _, err := dq.NewClient(rdb, o...); return err }
	named := func(c *dq.Client, name string, o ...dq.QueueOption) error {
		_, err := dq.NewQueue(c, name, codec.String{}, o...)
		return err
	}
	idle := dq.NewWorker(c.dq, dq.WorkerOptions{})
	if err := idle.Shutdown(ctx); err != nil {
		w.violate("Shutdown before Run: %v", err)
	}
	dq.Handle(idle, c.queue, handler)
	twice := func(x *dq.Worker) { dq.Handle(x, c.queue, handler); dq.Handle(x, c.queue, handler) }
	_, negative := c.queue.Offer(ctx, "m-000000", -time.Second)
	_, nothing := c.queue.Poll(ctx, 0)
	_, keyless := c.dq.Redisson(ctx, wire.ScriptReadAll, nil)
	_, back := c.queue.Reschedule(ctx, dq.Ticket{}, -1)
	_, noTicket := dq.ParseTicket("1-2")
	if text, err := (dq.Ticket{}).MarshalText(); err != nil || c.dq.Release() == "" {
		w.violate("release %q, ticket %q: %v", c.dq.Release(), text, err)
	}
	_, uncoded := dq.NewQueue[string](c.dq, queue, nil)
	_, nilCoded := dq.NewQueue[string](c.dq, queue, (*picky)(nil))
	_ = foreign.Close()
	_, closed := foreign.Offer(ctx, "m-000000", 0)
	for i, err := range []error{
		uncoded, nilCoded, closed, idle.Run(ctx), dq.NewWorker(nil, dq.WorkerOptions{}).Run(ctx),
		negative, nothing, keyless, back, noTicket, of(nil), of(&redis.Client{}), of(c.rdb, nil), of(c.rdb, dq.WithRelease("0.1")),
		of(c.rdb, dq.WithClock(nil)), of(c.rdb, dq.WithRandom(nil)), of(c.rdb, dq.WithObserver(nil)), of(c.rdb, dq.WithOfferRetryTimeout(-1)),
		of(c.rdb, dq.WithDurability(0, 0, 0)), named(nil, queue), named(&dq.Client{}, queue), named(c.dq, ""), named(c.dq, queue, nil),
		run(twice, dq.WorkerOptions{}), run(func(*dq.Worker) {}, dq.WorkerOptions{}), run(func(*dq.Worker) {}, dq.WorkerOptions{Concurrency: -1}),
		run(func(*dq.Worker) {}, dq.WorkerOptions{Concurrency: 1 << 20}), run(func(*dq.Worker) {}, dq.WorkerOptions{Lease: 1}),
		run(func(x *dq.Worker) { dq.Handle(x, none, handler) }, dq.WorkerOptions{}), run(func(x *dq.Worker) { dq.Handle(x, foreign, handler) }, dq.WorkerOptions{}),
	} {
		if err == nil {
			w.violate("mistake %d has no error", i)
		}
	}
}

// twins has Remove choose among equal values, which the plan's messages are not.
func (w *world) twins(ctx context.Context, c *client) error {
	twins, err := dq.NewQueue(c.dq, c.name, codec.String{}, dq.WithoutTransfer())
	var tickets [3]dq.Ticket
	for i, span := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		if err == nil {
			tickets[i], err = twins.Offer(ctx, "twin", span)
		}
	}
	if err != nil {
		return err
	}
	if _, err = twins.Remove(ctx, "twin"); err != nil {
		return err
	}
	if err = twins.Cancel(ctx, tickets[0]); err == nil {
		w.violate("Remove by %s leaves the value that was offered first", c.name)
	}
	if errors.Is(err, dq.ErrNotWaiting) {
		_, err = twins.Clear(ctx)
	}
	return err
}

// kill ends a client as the kernel does: nothing it does reaches anybody any more.
func (w *world) kill(c *client) {
	w.forget(c)
	w.mu.Lock()
	for _, v := range c.handled {
		w.excused[v], w.running[v] = true, nil
	}
	w.mu.Unlock()
	w.net.kill(c.name)
	c.stop()
	_ = c.dq.Close()
	_ = c.rdb.Close()
}

func (w *world) leave(c *client) {
	if !w.forget(c) {
		return
	}
	if c.worker != nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errShutDown)
		err := c.worker.Shutdown(ctx)
		if err != nil && (!strings.Contains(err.Error(), "still ran") || !errors.Is(err, errShutDown)) {
			w.violate("Shutdown of %s: %v", c.name, err)
		}
		w.gaveBack(c, err)
		cancel()
	}
	abrupt := !w.plan.Reliable && c.draw(2) == 0 // Close meets each Take
	if abrupt && c.draw(2) == 0 {                // and may not end it
		w.mu.Lock()
		w.bad(10 * time.Second)
		w.refusing = append(w.refusing, refusing{c.name, time.Now().Add(10 * time.Second), "NOPERM", 2 + slices.Index(rights, "CLIENT")})
		w.mu.Unlock()
	}
	if abrupt { // just as a message comes
		time.Sleep(time.Until(w.nextDue(5 * time.Second).Add(time.Duration(c.draw(800)) * time.Microsecond)))
	} else {
		c.stop()
		if c.draw(2) == 0 { // else calls meet Close
			c.calls.Wait()
		}
		c.work.Wait()
	}
	if w.plan.Reliable && w.calm(w.recovery) {
		w.server.Exclusive(func() {
			for _, v := range w.model.elements("LRANGE", w.model.leases.Staged, "0", "-1") {
				if w.free() == 0 || w.model.staged[ending(v)] == c.name {
					w.violate("%s has ended, and %q stays staged", c.name, v)
				}
			}
		})
	}
	_ = c.queue.Close()
	c.closing.Store(true)
	if err := errors.Join(c.dq.Close(), c.dq.Close()); err != nil {
		w.violate("%s does not close: %v", c.name, err)
	}
	c.stop()
	c.work.Wait()
	c.calls.Wait()
	w.mu.Lock()
	w.excuse(0, w.recovery)
	w.mu.Unlock()
	_ = c.rdb.Close()
}

// gaveBack judges that a Shutdown leaves nothing held.
func (w *world) gaveBack(c *client, err error) {
	var failed *dq.ShutdownError
	if !errors.As(err, &failed) || !w.quiet() {
		return
	}
	w.server.Exclusive(func() {
		for _, d := range failed.Running {
			if w.model.held[d.ID] != "" && w.model.counts[d.ID] == strconv.Itoa(d.Attempt) {
				w.violate("%s has shut down, and %s is still held", c.name, w.model.held[d.ID])
			}
		}
	})
}

// forget reports whether the client was there.
func (w *world) forget(c *client) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.clients[c.name] == c
	delete(w.clients, c.name)
	return was
}
