package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

const (
	flushEvery  = 20 * time.Millisecond       // samples are sent
	takeRetry   = 100 * time.Millisecond      // after a take that failed
	mostKept    = 64 << 20                    // bytes of samples that a coordinator has not read
	lineSamples = 20_000 * program.SampleSize // bytes of samples in a line
	endTimeout  = 5 * time.Second             // in which cancelled offers and takes end
)

// agent is a load: only the coordinator knows the plan and counts. An agent gets items shortly before their instants and consumers
// that take, and reports a sample for each event.
type agent struct {
	server *server
	setup  program.Setup
	run    uint32
	client io.Closer
	queues []driver.Queue
	event  func(name string, fields map[string]any) // one call at a time

	work     sync.WaitGroup
	takes    context.Context
	endTakes context.CancelFunc

	mu        sync.Mutex // guards what follows
	more      *sync.Cond // of items, or the end
	items     []due
	ready     int        // of the first items: their instants have come
	free      *sync.Cond // where senders wait for ready items, or the end
	senders   int
	idle      int // of them
	offers    context.Context
	endOffers context.CancelFunc
	skip      context.Context // of later items
	halt      context.CancelFunc
	out       []byte
	dropped   int64
	errors    map[string]string // the first of each of program.Failing
	news      bool              // among them

	writing sync.Mutex
}

// due is an item, to be skipped once skip ends and cancelled once offers do, and the time since which it is ready.
type due struct {
	program.Item
	since        time.Time
	skip, offers context.Context
}

// makeLoad adds the ops load.*, and the abilities of all queues that connect's client opens.
func (s *server) makeLoad(polls, removes, lists bool, connect func(ctx context.Context, redisURL string) (opener, io.Closer, error)) {
	s.clock, s.epoch, s.connect = clock.System(), program.NewEpoch(), connect
	s.ops[program.LoadOp] = s.load
	for ability, has := range map[string]bool{"queues": true, "poll": polls, "cancel": removes, "held": lists} {
		if has {
			s.ops["load("+ability+")"] = nil
		}
	}
}

func (s *server) load(ctx context.Context, r request) (any, error) {
	if r.Op == "load.open" {
		return s.openLoad(ctx, r)
	}
	s.mu.Lock()
	a := s.agents[r.Handle]
	if r.Op == "load.close" {
		delete(s.agents, r.Handle)
	}
	s.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("%s: handle %q is not open", r.Op, r.Handle)
	}
	switch r.Op {
	case "load.offer":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.more.Signal()
		return nil, program.Decode(r.Items, func(i program.Item) error {
			a.items = append(a.items, due{Item: i, skip: a.skip, offers: a.offers})
			return nil
		})
	case "load.take":
		var consumers []int
		err := json.Unmarshal(r.given["consumers"], &consumers)
		if err != nil || slices.Min(append(consumers, 0)) < 0 {
			return nil, fmt.Errorf("load.take: expected consumers from 0 on, got %.60s", r.given["consumers"])
		}
		for _, c := range consumers {
			a.work.Go(func() { a.consume(a.queues[c%len(a.queues)]) })
		}
		return nil, nil
	case "load.halt":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.halt()
		a.skip, a.halt = context.WithCancel(a.takes)
		if r.Abandon {
			a.endOffers()
			a.offers, a.endOffers = context.WithCancel(a.takes)
		}
		return nil, nil
	case "load.usage":
		return program.ReadUsage(), nil
	case "load.held":
		return a.held(ctx)
	case "load.end":
		return nil, a.end()
	case "load.close":
		return nil, a.close()
	}
	return nil, fmt.Errorf("op %q: %w", r.Op, errors.ErrUnsupported)
}

func (s *server) openLoad(ctx context.Context, r request) (_ any, err error) {
	a := &agent{server: s, event: r.event, out: []byte{}, errors: map[string]string{}}
	a.more, a.free = sync.NewCond(&a.mu), sync.NewCond(&a.mu)
	if err := json.Unmarshal(r.line, &a.setup); err != nil {
		return nil, fmt.Errorf("load.open: %w", err)
	}
	setup := a.setup
	if _, err := fmt.Sscanf(setup.RunID, "%08x", &a.run); err != nil || len(setup.Queues) == 0 || setup.Senders < 0 || setup.MostSenders < setup.Senders {
		return nil, fmt.Errorf("load.open: expected a run_id of 8 hex digits, queues and senders, got %+v", setup)
	}
	open, client, err := s.connect(ctx, setup.Redis)
	if err != nil {
		return nil, err
	}
	a.client = client
	for _, name := range setup.Queues {
		q, err := open(ctx, name)
		_, polls := q.(driver.Poller)
		_, removes := q.(driver.Remover)
		if err == nil {
			a.queues = append(a.queues, q)
			switch {
			case setup.Poll > 0 && !polls:
				err = a.cannot("look for a message without waiting for one")
			case setup.Cancels && !removes:
				err = a.cannot("cancel a message")
			}
		}
		if err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	a.takes, a.endTakes = context.WithCancel(context.Background())
	a.offers, a.endOffers = context.WithCancel(a.takes)
	a.skip, a.halt = context.WithCancel(a.takes)
	a.work.Go(a.pace)
	go func() {
		for program.Pause(a.takes, flushEvery) {
			a.flush()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	handle := "load-" + strconv.Itoa(s.made)
	s.agents[handle] = a
	return program.Opened{Handle: handle, Now: s.epoch.Wall(time.Now())}, nil
}

func (a *agent) cannot(do string) error {
	return &driver.CapabilityError{Driver: a.server.hello.Identity, Need: do}
}

// end ends offers and takes, and returns when all samples are written. It fails if they go on.
func (a *agent) end() (err error) {
	a.mu.Lock()
	a.endTakes()
	a.more.Signal()
	a.free.Broadcast()
	a.mu.Unlock()
	if !ends(&a.work, endTimeout) {
		err = fmt.Errorf("offers or takes did not end within %s after load.end", endTimeout)
	}
	a.flush()
	return err
}

func (a *agent) close() error {
	var errs []error
	for _, q := range a.queues {
		errs = append(errs, q.Close())
	}
	return errors.Join(append(errs, a.client.Close())...)
}

// pace makes each item ready at its instant. It waits for no sender, and starts another one if all are busy.
func (a *agent) pace() {
	timer := a.server.clock.NewTimer()
	defer timer.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.ready < len(a.items) || a.takes.Err() == nil {
		if a.ready == len(a.items) {
			a.more.Wait()
			continue
		}
		next := a.items[a.ready]
		a.mu.Unlock()
		_ = clock.SleepUntil(next.skip, a.server.clock, timer, a.server.epoch.Instant(next.At))
		since := time.Now()
		a.mu.Lock()
		a.items[a.ready].since = since
		a.ready++
		a.free.Signal()
		if a.ready > a.idle && a.senders < a.setup.MostSenders {
			a.senders++
			a.work.Go(a.sendReady)
		}
	}
}

// sendReady is a sender: it ends with the takes, and the items that are ready then.
func (a *agent) sendReady() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.ready > 0 || a.takes.Err() == nil {
		if a.ready == 0 {
			a.idle++
			a.free.Wait()
			a.idle--
			continue
		}
		next := a.items[0]
		a.items, a.ready = a.items[1:], a.ready-1
		a.mu.Unlock()
		a.send(next)
		a.mu.Lock()
	}
	a.senders--
}

// send offers one message, unless it is to be skipped. Its due instant is taken just before the call.
func (a *agent) send(i due) {
	if i.skip.Err() != nil {
		a.sample(program.Sample{Kind: program.Skipped, Index: i.Index}, "offer", nil)
		return
	}
	sent := time.Now()
	wall := a.server.epoch.Wall(sent)
	value := program.Payload(a.run, i.Index, i.DueAt(wall), a.setup.PayloadSize)
	if a.setup.Each {
		a.sample(program.Sample{Kind: program.Offering, Index: i.Index, A: wall, B: i.DueAt(wall)}, "offer", nil)
	}
	queue := a.queues[int(i.Index&^program.Warm)%len(a.queues)]
	err, kind := queue.Offer(i.offers, value, time.Duration(i.DelayAt(wall))*time.Millisecond), program.Offered
	switch {
	case errors.Is(err, driver.ErrRefused):
		kind = program.Refused
	case err != nil:
		kind = program.Failed
	}
	a.sample(program.Sample{Kind: kind, Waited: uint32(sent.Sub(i.since).Microseconds()), Index: i.Index, A: wall, B: a.now()}, "offer", err)
	if remover, can := queue.(driver.Remover); can && err == nil && i.CancelAfter > 0 {
		at := sent.Add(time.Duration(i.CancelAfter-1) * time.Millisecond)
		time.AfterFunc(time.Until(at), func() { a.remove(remover, i.Index, value) })
	}
}

func (a *agent) now() int64 { return a.server.epoch.Wall(time.Now()) } // Unix ns

func (a *agent) remove(q driver.Remover, index uint32, value []byte) {
	began := a.now()
	found, err := q.Remove(a.takes, value)
	if a.takes.Err() != nil {
		return
	}
	kind := program.Removed
	switch {
	case err != nil:
		kind = program.Unmoved
	case !found:
		kind = program.TooLate
	}
	a.sample(program.Sample{Kind: kind, Index: index, A: began, B: a.now()}, "remove", err)
}

// consume takes until takes end, and then until a take returns no value: one that was popped already is still reported.
func (a *agent) consume(q driver.Queue) {
	for a.takes.Err() == nil {
		var value []byte
		var err error
		if a.setup.Poll == 0 {
			value, err = q.Take(a.takes)
		} else if program.Pause(a.takes, a.setup.Poll) {
			value, err = q.(driver.Poller).Poll(a.takes)
		}
		came := a.now()
		switch {
		case err != nil && a.takes.Err() == nil:
			a.sample(program.Sample{Kind: program.TakeFail}, "take", err)
			program.Pause(a.takes, takeRetry)
		case err == nil && value != nil:
			kind, index, due := program.ParsePayload(value, a.run)
			a.sample(program.Sample{Kind: kind, Index: index, A: due, B: came}, "take", nil)
			program.Pause(a.takes, a.setup.Work)
		}
	}
}

// sample keeps a sample of a call until it is sent, and the call's first error. Unread samples are dropped in the end, and counted.
func (a *agent) sample(s program.Sample, call string, err error) {
	a.mu.Lock()
	if err != nil && a.errors[call] == "" {
		a.errors[call], a.news = err.Error(), true
	}
	if len(a.out) < mostKept {
		a.out = program.Append(a.out, s)
	} else {
		a.dropped++
	}
	a.mu.Unlock()
	if a.setup.Each {
		a.flush()
	}
}

// flush sends what there is, also nothing: it is the sign of life. A caller that adds samples does not wait
// for it, so that a coordinator that hangs delays no offer and no take.
func (a *agent) flush() {
	a.writing.Lock()
	defer a.writing.Unlock()
	last := map[string]any{}
	a.mu.Lock()
	out, dropped := a.out, a.dropped
	if a.news {
		last["errors"] = maps.Clone(a.errors)
	}
	a.out, a.dropped, a.news = []byte{}, 0, false // an empty list is not null
	a.mu.Unlock()
	if dropped > 0 {
		out = program.Append(out, program.Sample{Kind: program.Dropped, A: dropped})
	}
	for ; len(out) > lineSamples; out = out[lineSamples:] {
		a.event("samples", map[string]any{"samples": out[:lineSamples]})
	}
	last["samples"] = out
	a.event("samples", last)
}

func (a *agent) held(ctx context.Context) (all program.HeldBy, err error) {
	for _, q := range a.queues {
		holder, can := q.(driver.Inspector)
		if !can {
			return all, a.cannot("list its messages")
		}
		n, err := holder.Held(ctx, func(value []byte) {
			if index, due, ok := program.FindPayload(value, a.run); ok {
				all.Samples = program.Append(all.Samples, program.Sample{Kind: program.Held, Index: index, A: due})
			}
		})
		if err != nil {
			return all, err
		}
		all.Held += n
	}
	return all, nil
}
