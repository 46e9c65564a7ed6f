package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
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

type agent struct {
	server *server
	setup  program.Setup
	run    uint32
	queues []driver.Queue
	event  func(fields map[string]any) // one call at a time

	items   *fifo // before their instants
	ready   *fifo
	free    atomic.Int64 // senders without work, less the items that wait for one
	senders int
	work    sync.WaitGroup

	takes    context.Context
	endTakes context.CancelFunc

	mu        sync.Mutex // guards what follows
	offers    context.Context
	endOffers context.CancelFunc
	skip      context.Context // of later items
	halt      context.CancelFunc
	out       []byte
	dropped   int64
	errors    map[string]string // the first of each of program.Failing
	reported  int               // of them

	writing sync.Mutex
}

// due is an item, to be skipped once skip ends, and the time since which it is ready.
type due struct {
	program.Item
	since time.Time
	skip  context.Context
}

func (a *agent) cannot(do string) error {
	return &driver.CapabilityError{Driver: a.server.driver.Identity(), Need: do}
}

// forget skips the items that have not been sent; abandon also cancels the offers under way.
func (a *agent) forget(abandon bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.halt()
	a.skip, a.halt = context.WithCancel(a.takes)
	if abandon {
		a.endOffers()
		a.offers, a.endOffers = context.WithCancel(a.takes)
	}
}

// end ends offers and takes, and returns when all samples are written. It fails if they go on.
func (a *agent) end() error {
	a.forget(true)
	a.endTakes()
	a.items.close()
	ended := make(chan struct{})
	go func() {
		a.work.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-time.After(endTimeout):
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
	return errors.Join(errs...)
}

// pace makes each item ready at its instant. It waits for no sender.
func (a *agent) pace() {
	defer a.ready.close()
	timer := a.server.clock.NewTimer()
	defer timer.Close()
	for next, ok := a.items.pop(); ok; next, ok = a.items.pop() {
		if clock.SleepUntil(next.skip, a.server.clock, timer, a.server.epoch.Instant(next.At)) != nil {
			a.sample(program.Sample{Kind: program.Skipped, Index: next.Index})
			continue
		}
		if a.free.Add(-1) < 0 && a.senders < a.setup.MostSenders {
			a.startSender()
		}
		next.since = time.Now()
		a.ready.push(next)
	}
}

// startSender is called by one goroutine at a time.
func (a *agent) startSender() {
	a.senders++
	a.free.Add(1)
	a.work.Go(func() {
		for next, ok := a.ready.pop(); ok; next, ok = a.ready.pop() {
			a.send(next)
			a.free.Add(1)
		}
	})
}

// send offers one message, unless it is to be skipped. Its due instant is taken just before the call.
func (a *agent) send(i due) {
	if i.skip.Err() != nil {
		a.sample(program.Sample{Kind: program.Skipped, Index: i.Index})
		return
	}
	a.mu.Lock()
	offers := a.offers
	a.mu.Unlock()
	sent := time.Now()
	wall := a.server.epoch.Wall(sent)
	value := program.Payload(a.run, i.Index, i.DueAt(wall), a.setup.PayloadSize)
	if a.setup.Each {
		a.sample(program.Sample{Kind: program.Offering, Index: i.Index, A: wall, B: i.DueAt(wall)})
	}
	queue := a.queues[int(i.Index&^program.Warm)%len(a.queues)]
	err := queue.Offer(offers, value, time.Duration(i.DelayAt(wall))*time.Millisecond)
	kind := program.Offered
	switch {
	case errors.Is(err, driver.ErrRefused):
		kind = program.Refused
	case err != nil:
		kind = program.Failed
	}
	a.failed("offer", err)
	a.sample(program.Sample{Kind: kind, Waited: uint32(sent.Sub(i.since).Microseconds()), Index: i.Index, A: wall, B: a.server.epoch.Wall(time.Now())})
	if remover, can := queue.(driver.Remover); can && err == nil && i.CancelAfter > 0 {
		at := sent.Add(time.Duration(i.CancelAfter-1) * time.Millisecond)
		time.AfterFunc(time.Until(at), func() { a.remove(remover, i.Index, value) })
	}
}

func (a *agent) remove(q driver.Remover, index uint32, value []byte) {
	began := time.Now()
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
	a.failed("remove", err)
	a.sample(program.Sample{Kind: kind, Index: index, A: a.server.epoch.Wall(began), B: a.server.epoch.Wall(time.Now())})
}

// consume takes until takes end, and then until a take returns no value: one that was popped already is still reported.
func (a *agent) consume(q driver.Queue) {
	for a.takes.Err() == nil {
		var value []byte
		var err error
		if a.setup.Poll == 0 {
			value, err = q.Take(a.takes)
		} else if program.Pause(a.takes, a.setup.Poll) {
			var found bool
			if value, found, err = q.(driver.Poller).Poll(a.takes); !found {
				value = nil
			}
		}
		came := time.Now()
		switch {
		case err != nil && a.takes.Err() != nil:
		case err != nil:
			a.failed("take", err)
			a.sample(program.Sample{Kind: program.TakeFail})
			program.Pause(a.takes, takeRetry)
		case value != nil:
			kind, index, due := program.ParsePayload(value, a.run)
			a.sample(program.Sample{Kind: kind, Index: index, A: due, B: a.server.epoch.Wall(came)})
			program.Pause(a.takes, a.setup.Work)
		}
	}
}

func (a *agent) failed(call string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && a.errors[call] == "" {
		a.errors[call] = err.Error()
	}
}

// sample keeps a sample until it is sent. Unread samples are dropped in the end, and counted.
func (a *agent) sample(s program.Sample) {
	a.mu.Lock()
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
	a.mu.Lock()
	out, dropped, errs, news := a.out, a.dropped, maps.Clone(a.errors), len(a.errors) > a.reported
	a.out, a.dropped, a.reported = nil, 0, len(a.errors)
	a.mu.Unlock()
	if dropped > 0 {
		out = program.Append(out, program.Sample{Kind: program.Dropped, A: dropped})
	}
	for len(out) > lineSamples {
		a.event(map[string]any{"samples": out[:lineSamples]})
		out = out[lineSamples:]
	}
	last := map[string]any{"samples": append([]byte{}, out...)} // an empty list is not null
	if news {
		last["errors"] = errs
	}
	a.event(last)
}

func (a *agent) held(ctx context.Context) (all program.HeldBy, err error) {
	for _, q := range a.queues {
		holder, can := q.(driver.Inspector)
		if !can {
			return all, a.cannot("list its messages")
		}
		n, err := holder.Held(ctx)
		if err != nil {
			return all, err
		}
		all.Held += n
		err = holder.Values(ctx, func(value []byte) {
			if index, due, ok := program.FindPayload(value, a.run); ok {
				all.Samples = program.Append(all.Samples, program.Sample{Kind: program.Held, Index: index, A: due})
			}
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// fifo is a queue of items without a bound.
type fifo struct {
	mu     sync.Mutex
	some   *sync.Cond
	items  []due
	closed bool
}

func newFIFO() *fifo {
	f := new(fifo)
	f.some = sync.NewCond(&f.mu)
	return f
}

func (f *fifo) push(item due) {
	f.mu.Lock()
	f.items = append(f.items, item)
	f.mu.Unlock()
	f.some.Signal()
}

// pop waits for an item; ok is false once the queue is closed and empty.
func (f *fifo) pop() (item due, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.items) == 0 && !f.closed {
		f.some.Wait()
	}
	if len(f.items) == 0 {
		return item, false
	}
	item, f.items = f.items[0], f.items[1:]
	return item, true
}

func (f *fifo) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.some.Broadcast()
}
