package dq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

// leased is a queue of a Worker.
type leased struct {
	queue     string
	keys      scripts.LeaseNames
	moved     *task // whose transfers wake the queue
	handle    Handler
	extending atomic.Bool
	wake      func()
	timer     *time.Timer // calls wake

	// The Worker's mu guards the rest.
	woken  bool
	wakeAt time.Time          // by the timer; zero for not
	stop   context.CancelFunc // ends a BLMOVE; nil without one
	retry  conn.Backoff
}

// delivery is a message that is held.
type delivery struct {
	of *leased
	Delivery
	value []byte
	ctx   context.Context
	end   context.CancelCauseFunc

	unkept atomic.Bool               // the lease is lost, or given back, or its handler has ended: no extension is tried
	until  atomic.Pointer[time.Time] // the lease's end, at the earliest
}

// left is how long the lease is known to last.
func (d *delivery) left() time.Duration { return time.Until(*d.until.Load()) }

// settlement is the outcome of a delivery, in the words of the script.
type settlement string

const (
	ack     settlement = "ack"
	extend  settlement = "extend"
	retry   settlement = "retry"
	bury    settlement = "bury"
	release settlement = "release"
)

// The answers of the script.
const (
	settled     = int64(1)
	notHeld     = int64(0)
	handedAgain = int64(-1)

	// settleTimeout bounds one try to settle.
	settleTimeout = 2 * time.Second
	// mostReason bounds the reason of a dead letter, in bytes.
	mostReason = 1000
)

// take holds up to n messages, or the one that was claimed, and may claim one, which is handed to alone. next is how long until a
// lease or pause ends, less than 0 if there is no such time.
func (w *Worker) take(q *leased, n int, claim scripts.HandedOut) (got []*delivery, next time.Duration, more bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.taking), w.options.Lease/2)
	defer cancel()
	if claim.ID == "" && w.isAlone.TryLock() {
		claim.ID = "1"
		defer func() {
			if !claim.Claimed {
				w.isAlone.Unlock()
			}
		}()
	} else if claim.ID == "" {
		w.wakeIn(q, failedPause)
	}
	until, most := time.Now().Add(w.options.Lease), w.options.MaxAttempts
	reply, err := w.client.runOwn(ctx, conn.Calls, scripts.Take(),
		[]string{q.queue, q.keys.Staged, q.keys.Leases, q.keys.Bodies, q.keys.Counts, q.keys.Dead},
		n, w.options.Lease.Milliseconds(), fmt.Sprintf("%016x", w.client.random()), most, claim.ID, claim.Delivery)
	if err != nil {
		return nil, 0, false, in("take", q.queue, err)
	}
	handed, ms, more, err := scripts.ReadHandedOut(reply)
	if err != nil {
		return nil, 0, false, in("take", q.queue, err)
	}
	for _, h := range handed {
		d := &delivery{of: q, Delivery: Delivery{Queue: q.queue, ID: h.ID, Attempt: int(h.Delivery)}, value: h.Value}
		if h.Claimed {
			claim.Claimed = true
			w.holdsAlone.Store(true)
			w.fetching.Go(func() { w.alone(q, h) })
			continue
		} else if h.Buried {
			w.client.tell(Dead{Delivery: d.Delivery, Reason: fmt.Sprintf("lost by its worker in attempt %d of %d", d.Attempt, most)})
			continue
		}
		d.until.Store(&until)
		d.ctx, d.end = context.WithCancelCause(w.handling)
		w.holding.Add(1)
		w.mu.Lock()
		w.held[d] = struct{}{}
		w.mu.Unlock()
		got = append(got, d)
		w.client.tell(Held{d.Delivery})
	}
	if len(got) > 0 {
		w.client.tell(Taken{Queue: q.queue, Messages: len(got)})
	}
	return got, time.Duration(ms) * time.Millisecond, more, nil
}

// run has a message handled, and settles it while the next takes its place.
func (w *Worker) run(d *delivery) {
	defer w.forget(d)
	if d.ctx.Err() != nil || d.left() <= w.options.Lease/20 {
		w.freePlaces(1)
		w.settle(d, verdict{how: release}) // the handler was not called
		return
	}
	err := w.handle(d)
	w.freePlaces(1)
	runtime.Gosched() // the next take is sent first: a handler waits for it
	w.settle(d, w.verdict(d, err))
}

// handle calls the handler.
func (w *Worker) handle(d *delivery) error {
	ctx := d.ctx
	if w.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.options.Timeout)
		defer cancel()
	}
	began := time.Now()
	err := call(ctx, d)
	w.client.tell(Handled{Delivery: d.Delivery, Took: time.Since(began), Err: err})
	return err
}

// verdict says what becomes of a message after its handler.
func (w *Worker) verdict(d *delivery, err error) verdict {
	var wants *verdict
	switch most := w.options.MaxAttempts; {
	case err == nil:
		return verdict{how: ack}
	case errors.As(err, &wants) && wants.how != retry:
		return verdict{wants.how, 0, err}
	case w.handling.Err() != nil:
		return verdict{release, 0, err}
	case most > 0 && d.Attempt >= most:
		return verdict{bury, 0, err}
	case wants != nil:
		return verdict{retry, wants.wait, err}
	}
	return verdict{retry, w.backoff(d), err}
}

// arg is the argument of the script for the outcome.
func (v verdict) arg() string {
	switch {
	case v.how == retry:
		return strconv.FormatInt(v.wait.Milliseconds(), 10)
	case v.how == release || v.error == nil:
		return ""
	}
	text := v.Error()
	return strings.ToValidUTF8(text[:min(len(text), mostReason)], "")
}

// valueKey is the key of a delivery's value in its handler's context.
type valueKey struct{}

// call runs the handler, whose end no panic and no runtime.Goexit prevents. An error whose methods panic is one, too.
func call(ctx context.Context, d *delivery) error {
	ended := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			p := recover()
			if p != nil && err != errGoexit { //nolint:errorlint // this very value
				p = fmt.Sprintf("a method of its error, a %T: %v", err, p)
			}
			if p != nil {
				err = &PanicError{Value: p, Stack: debug.Stack()}
			}
			ended <- err
		}()
		if err = d.of.handle(context.WithValue(ctx, valueKey{}, d.value), d.Delivery); err != nil {
			_ = err.Error()
			_ = errors.As(err, new(*verdict))
		}
	}()
	return <-ended
}

// backoff is Backoff, or DefaultBackoff if that panics.
func (w *Worker) backoff(d *delivery) (wait time.Duration) {
	defer func() {
		if recover() != nil {
			wait = DefaultBackoff(d.Attempt)
		}
	}()
	return max(w.options.Backoff(d.Attempt), 0)
}

func (w *Worker) forget(d *delivery) {
	w.mu.Lock()
	delete(w.held, d)
	w.mu.Unlock()
	d.end(nil)
	w.holding.Done()
}

// byQueue returns the deliveries that are held.
func (w *Worker) byQueue() map[*leased][]*delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[*leased][]*delivery{}
	for d := range w.held {
		all[d.of] = append(all[d.of], d)
	}
	return all
}

// settle settles a delivery, and reports it. It tries until the server has answered, or the lease is about over, and once if it
// is: to send it twice does no harm.
func (w *Worker) settle(d *delivery, v verdict) {
	d.unkept.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.handling), cmp.Or(max(d.left()-w.options.Lease/100, 0), settleTimeout)) // AckFailed precedes the next attempt
	defer cancel()
	var pauses conn.Backoff
	var err error
	for sent := false; ; {
		var answers []any
		if answers, err = w.settleOnce(ctx, d.of, v.how, v.arg(), []*delivery{d}); err == nil {
			if answers[0] == handedAgain || answers[0] == notHeld && !sent { // else an earlier try was done, and not answered
				err = ErrLeaseLost
			}
			break
		}
		sent = sent || errors.Is(err, conn.ErrLost)
		if errors.Is(err, ErrClosed) || d.left() <= 0 || conn.Pause(ctx, pauses.Next()) != nil {
			break
		}
	}
	if err != nil {
		w.client.tell(AckFailed{Delivery: d.Delivery, Err: in(string(v.how), d.Queue, err)})
		return
	}
	switch v.how {
	case ack:
		w.client.tell(Acknowledged{d.Delivery})
	case release:
		w.client.tell(GivenBack{d.Delivery})
	case bury:
		w.client.tell(Dead{Delivery: d.Delivery, Reason: v.arg()})
	case retry:
		w.client.tell(Retry{Delivery: d.Delivery, At: time.Now().Add(v.wait.Truncate(time.Millisecond)), Err: v.error})
		w.wakeIn(d.of, v.wait)
	}
}

// settleOnce runs the script for deliveries of one queue.
func (w *Worker) settleOnce(ctx context.Context, q *leased, how settlement, arg string, all []*delivery) (answers []any, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(settleTimeout, max(w.options.Lease/6, leastLease)))
	defer cancel()
	args := []any{string(how), arg}
	for _, d := range all {
		args = append(args, d.ID, d.Attempt)
	}
	answers, err = replyList(w.client.runOwn(ctx, conn.Calls, scripts.Settle(), []string{q.keys.Leases, q.keys.Bodies, q.keys.Counts, q.keys.Dead, q.queue}, args...))
	if err == nil && len(answers) != len(all) {
		err = fmt.Errorf("script settle: expected %d integers from the server, got %d", len(all), len(answers))
	}
	return answers, err
}

// keep extends leases at a third, and ends the contexts of handlers whose lease is not known to be held a twentieth
// before it is over: by then another worker has not begun. It goes on after Shutdown, and Close, have ended the contexts.
func (w *Worker) keep(ctx context.Context) {
	tick := time.NewTicker(max(w.options.Lease/60, time.Millisecond))
	defer tick.Stop()
	var extending sync.WaitGroup
	defer extending.Wait()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for q, due := range w.byQueue() {
			due = slices.DeleteFunc(due, func(d *delivery) bool {
				left := d.left()
				if left <= w.options.Lease/20 {
					w.loseLease(d)
				}
				return left >= w.options.Lease*2/3 || d.unkept.Load() || w.client.ctx.Err() != nil
			})
			if len(due) > 0 && q.extending.CompareAndSwap(false, true) {
				extending.Go(func() {
					defer q.extending.Store(false)
					w.extend(ctx, q, due)
				})
			}
		}
	}
}

// extend tries once; the next tick tries again.
func (w *Worker) extend(ctx context.Context, q *leased, all []*delivery) {
	until := time.Now().Add(w.options.Lease)
	answers, err := w.settleOnce(ctx, q, extend, strconv.FormatInt(w.options.Lease.Milliseconds(), 10), all)
	for i, d := range all {
		switch {
		case err != nil:
			w.client.tell(ExtensionFailed{Delivery: d.Delivery, Err: err})
		case answers[i] == settled:
			d.until.Store(&until)
			w.client.tell(Extended{d.Delivery})
		default:
			w.loseLease(d)
		}
	}
}

func (w *Worker) loseLease(d *delivery) {
	if d.unkept.CompareAndSwap(false, true) {
		d.end(ErrLeaseLost)
		w.client.tell(LeaseLost{d.Delivery})
	}
}
