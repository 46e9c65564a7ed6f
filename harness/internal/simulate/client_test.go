package simulate_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// errShutDown is why a Shutdown waits no longer.
var errShutDown = errors.New("the Shutdown has taken its time")

// client is one process.
type client struct {
	name   string
	how    string // its Worker "polls", or its handlers take "long"
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
	full     time.Time     // since when none has, if none has
	began    time.Time
	ceased   time.Time            // when its last Queue that transfers was closed
	deaf     time.Time            // until when it may hear no announcement
	polls    bool                 // its Worker, seldom
	replaced bool                 // or about to be
	shut     map[string]bool      // messages whose handlers Shutdown ended, by id
	handled  map[string]string    // messages that were in a handler and not acknowledged, by id
	open     map[string]time.Time // when the lease of a delivery was last told of whose outcome was not, by id and number
	most     int                  // handlers at a time
	limit    time.Duration        // of each
	alone    bool                 // the one that runs is to run alone
}

func (w *world) start(e Event) {
	release, how, _ := strings.Cut(e.Text, " ")
	c := &client{how: how,
		name: e.Client, clock: &skewed{}, rng: rand.New(rand.NewPCG(w.plan.Seed, numberOf(e.Client)+1)),
		handled: map[string]string{}, patient: 5 * time.Second, free: time.Now(), began: time.Now(), shut: map[string]bool{}, open: map[string]time.Time{}, most: e.N,
	}
	c.clock.step(e.Span)
	c.rdb = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", Dialer: w.net.dialer(e.Client), MaxRetries: -1, DisableIdentity: true,
	})
	options := []dq.Option{
		dq.WithRelease(release), dq.WithClock(c.clock), dq.WithClockStepDetection(true),
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
		if c.draw(3) == 0 {
			w.aside(c, nil)
		}
	}
	c.calls.Go(func() {
		w.call(c, e, "Ready", func(ctx context.Context) error {
			err := c.queue.Ready(ctx)
			if ctx.Err() != nil && err != nil && !c.idle && !w.refuses && w.calm(15*time.Second) {
				w.violate("%s is not ready after %s: %v", c.name, time.Since(c.began), err)
			}
			w.server.Exclusive(func() {
				if said := w.model.said[c.name]; err == nil && !c.idle && (!said["SUBSCRIBE"] || !said["transfer"] && !said["Redisson"]) {
					w.violate("%s is ready, and has not subscribed and transferred: %v", c.name, said)
				}
			})
			return err
		})
	})
	if c.draw(4) == 0 {
		other, _ := dq.NewQueue(c.dq, queue, codec.String{})
		c.calls.Go(func() { _ = sleep(c.ctx, 5*time.Second); _ = errors.Join(other.Close(), other.Close()) })
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

func (p picky) Decode(data []byte) (string, error) {
	if len(data) != valueLength || data[0] != 'm' {
		return "", errors.New("expected a message")
	}
	return p.String.Decode(data)
}

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
	case err != nil && ctx.Err() == nil && !blames.MatchString(err.Error()):
		w.violate("%s of %s fails, and neither the server nor the network has: %v", name, c.name, err)
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
		if ends, limited := ctx.Deadline(); limited && (time.Since(ends) > time.Second+lateBy || time.Since(ends) > lateBy && !w.lacks && w.quiet()) {
			w.violate("Take of %s ends %s after its context", c.name, time.Since(ends))
		}
		if v != "" {
			w.took(c, v)
		}
		switch {
		case err == nil || ctx.Err() != nil || errors.As(err, new(*dq.DecodeError)):
		case errors.Is(err, dq.ErrClosed):
			cancel()
			return
		default:
			says := func(text string) bool { return strings.Contains(err.Error(), text) }
			known := says("times in a row") || says("no connection to") || w.refuses || w.leaves
			if !known || strings.Contains(err.Error(), ": UNBLOCKED") && !says("times in a row") {
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
	torn := false
	w.server.Exclusive(func() { torn = w.model.message(v).torn })
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[v]++; w.taken[v] > 1 {
		w.report.Kinds["again"]++
		if w.plan.Reliable && !w.excused[v] && !torn {
			w.violateLocked("%s was handled again by %s, and no event said that it might be", v, c.name)
		}
	}
	w.report.Kinds["taken"]++
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
	alone, torn, count := false, false, ""
	w.server.Exclusive(func() {
		_, over := w.model.overrun[m.Value] // perhaps a dead letter since, and replayed
		alone, torn, count = w.model.alones[m.ID], w.model.message(m.Value).torn || over, w.model.counts[m.ID]
	})
	if w.quiet() && strconv.Itoa(m.Attempt) != count {
		w.violate("%s is handled in attempt %d, and the server counts %s", m.Value, m.Attempt, count)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ends, limited := ctx.Deadline(); limited != (c.limit > 0) || limited && time.Until(ends) != c.limit {
		w.violateLocked("a handler of %s has until %s", c.name, ends)
	}
	if errors.Is(context.Cause(ctx), dq.ErrLeaseLost) {
		w.violateLocked("a handler of %s is called for %s, whose lease is lost", c.name, m.Value)
	}
	c.alone = c.alone && time.Since(c.full) < w.plan.Visibility
	if c.busy++; c.busy > c.most || c.busy > 1 && (alone || c.alone) {
		w.violateLocked("%s has %d handlers at a time, of %d; one alone: %t, %t", c.name, c.busy, c.most, c.alone, alone)
	}
	c.alone = alone
	c.full = time.Now()
	if _, held := c.open[m.ID+" "+strconv.Itoa(m.Attempt)]; !held {
		w.violateLocked("a handler of %s has %s, which it has not told to hold", c.name, m.Value)
	}
	c.handled[m.ID] = m.Value
	if other := w.running[m.Value]; other != nil && other.Err() == nil && !torn {
		w.violateLocked("%s has two handlers at a time, the second of %s", m.Value, c.name)
	}
	ctx, cancel := context.WithCancel(ctx)
	w.running[m.Value] = ctx
	context.AfterFunc(ctx, func() { w.server.Exclusive(func() { w.model.ends(c, m) }) })
	return func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		c.busy--
		c.alone, c.free = false, time.Now()
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
	options := dq.WorkerOptions{Concurrency: workers, Lease: w.plan.Visibility, MaxAttempts: int(w.plan.Seed % 3 * 2)}
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
		stalls := c.rng.IntN(150) == 0
		fails := c.rng.IntN(30)
		if c.how == "long" {
			work, stalls, fails = 25*time.Second, false, 10
		}
		if m.Attempt > 1 && c.rng.IntN(2) == 0 {
			fails = 8
		}
		if c.how == "fails" {
			if work, stalls, fails = 0, false, 4; m.Attempt > 1 {
				work, fails = 25*time.Second, 10
			}
		}
		c.rngMu.Unlock()
		if m.Attempt > 1 && m.Attempt == int(w.plan.Seed%3*2) && c.draw(3) == 0 {
			go w.replace(c.name, Stop) // in its last attempt
			work = 10 * time.Second
		}
		if stalls && !w.settles() {
			w.do(Event{Kind: Stall, Client: c.name, Span: w.plan.Visibility + 4*time.Second})
			work = w.plan.Visibility
		}
		if w.settles() { // so that it is not a dead letter once more
			work = min(work, time.Second)
		}
		if err := sleep(ctx, work); err != nil {
			if errors.Is(context.Cause(ctx), errShutDown) {
				w.locked(func() { c.shut[m.ID] = true })
			}
			if errors.Is(context.Cause(ctx), dq.ErrLeaseLost) {
				w.locked(func() { w.report.Kinds["leases lost"]++ })
			}
			return err
		}
		if w.plan.Seed%4 == 1 && c.draw(4) == 0 && !w.settles() { // of the settlement
			w.do(Event{At: time.Since(w.began), Kind: LoseReplies, Client: c.name})
		}
		wrong, attempt := errors.New("it went wrong"), m.Attempt
		expect := func(how string, least, most time.Duration) {
			if limit := int(w.plan.Seed % 3 * 2); how == "retry" && limit > 0 && attempt >= limit {
				how = "bury"
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.wants[m.ID+" "+strconv.Itoa(attempt)] = want{how, least, most}
		}
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
		pause := time.Second << min(attempt-1, 20)
		switch expect("retry", min(pause, 5*time.Minute)*3/4, min(pause, 5*time.Minute)); {
		case fails < 0 || fails > 5:
			expect("ack", 0, 0)
		case fails < 4 && options.Backoff != nil:
			expect("retry", 5*time.Second, 5*time.Second)
		}
		switch fails {
		case 0, 1:
			return wrong
		case 2:
			runtime.Goexit()
		case 3:
			panic(wrong)
		case 4:
			again := time.Duration(c.draw(10_000)) * time.Millisecond
			if c.how == "fails" {
				again = 2 * time.Second
			}
			expect("retry", again, again)
			return dq.RetryIn(again, wrong)
		case 5:
			expect("bury", 0, 0)
			return dq.Bury(wrong)
		}
		w.took(c, m.Value)
		if fails == 6 {
			return dq.Drop(wrong)
		}
		return nil
	}
	if c.draw(2) == 0 {
		options.Backoff = func(int) time.Duration { return 5 * time.Second }
	}
	if c.draw(3) == 0 || w.plan.Scenes && c.idle {
		if options.PollEvery = 200 * time.Millisecond; !c.idle && !w.plan.Strict && c.draw(3) > 0 {
			options.PollEvery, c.polls = 4*time.Second, true
		}
	}
	switch c.how {
	case "polls":
		options.PollEvery, c.polls = 4*time.Second, true
	case "long", "blocks", "fails":
		options.PollEvery, c.polls = 0, false
	}
	if c.draw(3) == 0 {
		options.Timeout, c.limit = 15*time.Second, 15*time.Second
	}
	c.worker = dq.NewWorker(c.dq, options)
	dq.Handle(c.worker, c.queue, handler)
	if c.draw(3) == 0 {
		w.aside(c, make(chan string, 100))
	}
	c.work.Go(func() {
		if err := c.worker.Run(c.ctx); err != nil && !errors.Is(err, dq.ErrClosed) {
			w.violate("Run of %s: %v", c.name, err)
		}
	})
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
		w.expect[v], w.spans[v] = c.clock.Now().Add(e.Span).UnixMilli(), e.Span
	}
	w.report.Kinds["offered"] += len(values)
	w.mu.Unlock()
	confirmed, uncertain := 0, false
	w.call(c, e, "Offer", func(ctx context.Context) (err error) {
		defer func() { uncertain = errors.Is(err, dq.ErrUncertain) }()
		if e.N > 0 {
			if confirmed, err = c.queue.OfferAll(ctx, e.Span, values...); err == nil && confirmed < len(values) {
				w.violate("OfferAll of %s confirms %d of %d, and has no error", c.name, confirmed, len(values))
			}
			return err
		}
		if w.pure && c.draw(8) == 0 {
			n := w.model.names
			_, err = c.dq.Redisson(ctx, wire.ScriptOffer, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel},
				time.Now().Add(e.Span).UnixMilli(), e.Text, e.Text) // by a clock that is right
			confirmed = map[bool]int{true: 1}[err == nil]
			return err
		}
		began := time.Now()
		ticket, err := c.queue.Offer(ctx, e.Text, e.Span)
		if took := time.Since(began); took > c.patient+4*time.Second && w.net.prompt(c.name, began) {
			w.violate("Offer of %s is tried again for %s, not %s: %v", c.name, took, c.patient, err)
		}
		if took := time.Since(began); err != nil && patient.MatchString(err.Error()) && ctx.Err() == nil && !errors.Is(err, dq.ErrUncertain) &&
			!c.closing.Load() && took < c.patient {
			w.violate("Offer of %s is tried again for %s, not %s: %v", c.name, took, c.patient, err)
		}
		if err == nil {
			confirmed = 1
			w.locked(func() {
				if !c.ceased.IsZero() && c.ceased.Before(began) {
					w.violateLocked("%s offers %s by a Queue that was closed", c.name, e.Text)
				}
			})
		}
		w.server.Exclusive(func() {
			if errors.Is(err, dq.ErrUncertain) && errors.As(err, new(resp.Error)) && !c.durable && !w.model.message(e.Text).offered {
				w.violate("Offer of %s is uncertain, and was refused: %v", c.name, err)
			}
		})
		if err == nil || errors.Is(err, dq.ErrUncertain) {
			w.locked(func() { w.tickets[e.Text] = ticket.String() })
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
	w.report.Kinds["unconfirmed"] += len(values) - confirmed
}

// blames finds the errors that the server or the network answers for, or Close.
var blames = regexp.MustCompile(`(^|: )-?[A-Z]{3,} |no connection to|not sent|reply is lost|dq: closed|context`)

// patient finds the errors after which an offer is tried again.
var patient = regexp.MustCompile(`: (LOADING|READONLY|BUSY|MASTERDOWN|CLUSTERDOWN|ERR max number of clients) |no connection to`)

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
	w.locked(func() { w.asking[e.Text]++ })
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
		case e.N == 3 && w.pure && !w.lacks:
			var n any
			n, err = c.dq.Redisson(ctx, wire.ScriptRemove, []string{w.model.names.Pending, w.model.names.TimeoutSet}, e.Text)
			removed = n == int64(1)
		default:
			removed, err = c.queue.Remove(ctx, e.Text)
		}
		w.mu.Lock()
		outdated := e.N == 0 && w.expect[e.Text] == 0 // its ticket may be from before a reschedule
		w.mu.Unlock()
		if err == nil && !removed && before != 0 && e.N != 3 && !outdated && w.waiting()[e.Text] == before && !c.hides(before) {
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
		w.report.Kinds["cancelled"]++
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
	if c == nil || !c.idle {
		return
	}
	since := cmp.Or(c.ceased, c.began.Add(5*time.Second)) // and then the other is closed
	if since.Before(before) && w.net.prompt(name, before) {
		w.violateLocked("%s transfers, %s after its Queue was closed, if it had one that does", name, time.Since(since))
	}
}

// hides reports whether a message may be out of the list, and about to come by the client's clock.
func (c *client) hides(due int64) bool { return due <= c.clock.Now().UnixMilli() }

func (w *world) reschedule(c *client, e Event) {
	ticket, ticketed := w.ticket(e.Text)
	if !ticketed {
		return
	}
	w.locked(func() { w.expect[e.Text] = 0 })
	w.call(c, e, "Reschedule", func(ctx context.Context) error {
		least := c.clock.Now().Add(e.Span).UnixMilli()
		before := w.waiting()[e.Text]
		moved, err := c.queue.Reschedule(ctx, ticket, e.Span)
		switch {
		case errors.Is(err, dq.ErrNotWaiting):
			if before == ticket.Due().UnixMilli() && w.waiting()[e.Text] == before && !c.hides(before) {
				w.violate("%s waits, and Reschedule of %s does not find it", e.Text, c.name)
			}
			return nil
		case err == nil || errors.Is(err, dq.ErrUncertain):
			w.locked(func() { w.tickets[e.Text] = moved.String() })
		}
		if err == nil && moved.Due().UnixMilli() < least && w.steady() {
			w.violate("%s was rescheduled for %s, before %d", e.Text, moved, least)
		}
		return err
	})
}

func (w *world) poll(c *client, e Event) {
	w.call(c, e, "Poll", func(ctx context.Context) error {
		polls := w.polls(c)
		values, err := c.queue.Poll(ctx, e.N)
		for _, v := range values {
			w.took(c, v)
		}
		undecodable := strings.Count(fmt.Sprint(err), "expected a message")
		if after := w.polls(c); len(after) == len(polls)+1 && len(values)+undecodable > 0 && len(values)+undecodable != after[len(polls)] {
			w.violate("Poll of %s popped %d, and returns %v, %v", c.name, after[len(polls)], values, err)
		}
		if undecodable > 0 {
			return nil
		}
		if len(values) > e.N || len(values) == 0 && err == nil {
			w.violate("Poll of %d returns %d", e.N, len(values))
		}
		w.server.Exclusive(func() {
			if !slices.IsSortedFunc(values, func(a, b string) int { return cmp.Compare(w.model.message(a).place, w.model.message(b).place) }) {
				w.violate("Poll of %s returns %v, in another order than they were", c.name, values)
			}
		})
		if errors.Is(err, dq.ErrEmpty) {
			return nil
		}
		return err
	})
}

// polls are how many values each Poll of a client popped.
func (w *world) polls(c *client) (all []int) {
	w.server.Exclusive(func() { all = w.model.polls[c.name] })
	return all
}

// lookAt compares what the queue reports with what the server has, if that stays the same meanwhile.
func (w *world) lookAt(c *client, e Event) {
	if e.N == 3 {
		w.call(c, e, "Remove", func(ctx context.Context) error { return w.twins(ctx, c) })
		return
	}
	w.call(c, e, "Waiting", func(ctx context.Context) error {
		writes, before := w.server.Writes(), w.waiting()
		seen, last := map[string]int{}, time.Time{}
		for m, err := range c.queue.Waiting(ctx) {
			if err != nil && m.Ticket == (dq.Ticket{}) {
				return err
			}
			if err == nil {
				seen[m.Value]++
				if due := m.Ticket.Due(); due.Before(last) || w.server.Writes() == writes && due.UnixMilli() != before[m.Value] {
					w.violate("the walk of %s sees %s due at %d behind %d, and it is at %d", c.name, m.Value, due.UnixMilli(), last.UnixMilli(), before[m.Value])
				}
				last = m.Ticket.Due()
				w.locked(func() { w.tickets[m.Value] = m.Ticket.String() })
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
		writes, ready := w.server.Writes(), len(w.ready())
		counts, err := c.queue.Counts(ctx)
		w.server.Exclusive(func() {
			n := func(key string) int { return len(w.model.elements("ZRANGE", key, "0", "-1")) }
			there := dq.Counts{Waiting: n(w.model.names.TimeoutSet), Ready: ready, Held: n(w.model.leases.Leases), Dead: n(w.model.leases.Dead)}
			if err == nil && w.server.Writes() == writes && counts != there {
				w.violate("there are %+v, and Counts of %s is %+v", there, c.name, counts)
			}
		})
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
		var held []string
		var values []string
		w.server.Exclusive(func() {
			held = slices.Collect(maps.Keys(w.model.scores(w.model.leases.Leases)))
			for _, id := range held {
				values = append(values, w.model.held[id])
			}
		})
		asking := func(n int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, v := range values {
				w.asking[v] += n
			}
		}
		asking(1) // for it may be a dead letter by then
		n, err := c.queue.Drop(ctx, held...)
		if err == nil && n == 0 {
			asking(-1)
		}
		for _, id := range held {
			if _, buried := w.model.burial(id); buried {
				n = 0
			}
		}
		if err != nil {
			return err
		}
		if n > 0 {
			w.violate("%d were dropped, and none was a dead letter", n)
		}
		last := time.Time{}
		for letter, err := range c.queue.Dead(ctx) {
			if b, known := w.model.burial(letter.ID); err == nil && (letter.Since.Before(last) || known &&
				(letter.Reason != b.reason || strconv.Itoa(letter.Attempts) != b.delivery || b.at.Sub(letter.Since).Abs() > time.Millisecond)) {
				w.violate("the dead letter %+v, behind one of %s, was buried as %+v", letter, last, b)
			}
			last = letter.Since
			undecodable := errors.As(err, new(*dq.DecodeError))
			if err != nil && !undecodable {
				return err
			}
			if undecodable || e.Kind == Look && e.N == 1 {
				w.locked(func() { w.asking[letter.Value]++ })
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
	w.locked(func() { w.clearing, w.cleared = w.clearing+1, true })
	w.call(c, e, "Clear", func(ctx context.Context) error {
		_, err := c.queue.Clear(ctx)
		if err == nil {
			w.locked(func() { w.clearing-- })
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
	if c == nil || !w.forget(c) { // it was going already
		return
	}
	// Four, one for each take, and 16 that wait for 30 s.
	open := 0
	if w.net.each(c.name, func(*link) { open++ }); open > 24 && w.calm(40*time.Second) {
		w.violate("%s has %d connections", c.name, open)
	}
	came := time.Now()
	if c.worker != nil {
		grace := []time.Duration{time.Second, time.Second, time.Minute}[c.draw(3)]
		ctx, cancel := context.WithTimeoutCause(context.Background(), grace, errShutDown)
		err := c.worker.Shutdown(ctx)
		if err != nil && (!strings.Contains(err.Error(), "were not done") || !errors.Is(err, errShutDown)) {
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
	if w.plan.Reliable && !w.lacks && w.net.well(c.name, came.Add(-w.recovery)) {
		w.server.Exclusive(func() {
			if others := w.model.elements("LRANGE", scripts.LeaseNamesOf(c.name+"-aside").Staged, "0", "-1"); len(others) > 0 {
				w.violate("%s has ended, and %q stay staged", c.name, others)
			}
			for _, v := range w.model.elements("LRANGE", w.model.leases.Staged, "0", "-1") {
				if w.model.staged[ending(v)] == c.name || w.free() == 0 && w.calm(w.recovery) {
					w.violate("%s has ended, and %q stays staged", c.name, v)
				}
			}
		})
	}
	_ = c.queue.Close()
	c.closing.Store(true)
	began := time.Now()
	if err := errors.Join(c.dq.Close(), c.dq.Close()); err != nil {
		w.violate("%s does not close: %v", c.name, err)
	}
	if took := time.Since(began); took > 6*time.Second || took > lateBy && !w.lacks && w.quiet() {
		w.violate("Close of %s takes %s", c.name, took)
	}
	c.stop()
	c.work.Wait()
	c.calls.Wait()
	if took := time.Since(began); took > 8*time.Second {
		w.violate("a call of %s ends %s after its Close", c.name, took)
	}
	w.mu.Lock()
	w.excuse(0, w.recovery)
	w.left = append(w.left, c)
	w.mu.Unlock()
	_ = c.rdb.Close()
}

// gaveBack judges that a Shutdown leaves nothing held.
func (w *world) gaveBack(c *client, err error) {
	failed := &dq.ShutdownError{}
	errors.As(err, &failed)
	w.mu.Lock()
	if c.busy > len(failed.Running) {
		w.violateLocked("%s has shut down, %d handlers run, and it names %v", c.name, c.busy, failed.Running)
	}
	w.mu.Unlock()
	if !w.soon(c) {
		return
	}
	w.server.Exclusive(func() {
		for _, d := range failed.Running {
			if w.model.held[d.ID] != "" && w.model.counts[d.ID] == strconv.Itoa(d.Attempt) {
				w.violate("%s has shut down, and %s is still held", c.name, w.model.held[d.ID])
			}
		}
		for id, ends := range w.model.scores(w.model.leases.Leases) {
			if l := w.model.leased[id]; l.by == c.name && l.held && time.Now().UnixMilli() < ends && !w.net.isLost(w.model.held[id]) {
				w.violate("%s has shut down, and holds %s", c.name, w.model.held[id])
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

// skewed is a client's clock: ahead of the server's, and stepped. A step moves no timer that runs, as in the kernel, whose timers
// are on its monotonic clock.
type skewed struct {
	ahead atomic.Int64
}

func (s *skewed) Now() time.Time        { return time.Now().Add(s.offset()) }
func (s *skewed) NewTimer() clock.Timer { return skewedTimer{clock.Runtime().NewTimer(), s} }
func (s *skewed) offset() time.Duration { return time.Duration(s.ahead.Load()) }
func (s *skewed) step(d time.Duration)  { s.ahead.Add(int64(d)) }

type skewedTimer struct {
	clock.Timer
	clock *skewed
}

func (t skewedTimer) Reset(at time.Time) { t.Timer.Reset(at.Add(-t.clock.offset())) }
