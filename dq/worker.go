package dq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
)

// ErrLeaseLost is the cause with which a handler's context ends when the lease is over, or may be. Another worker may have the message.
var ErrLeaseLost = errors.New("dq: the lease of the message is over")

// ShutdownError names the messages whose handlers did not end, or could not be settled, by the end of Shutdown. They went back to
// their queues, or do so when their leases are over: then AckFailed says why.
type ShutdownError struct {
	Running []Delivery
	Err     error // the context's
}

func (e *ShutdownError) Error() string {
	names := make([]string, 0, len(e.Running))
	for _, d := range e.Running {
		names = append(names, fmt.Sprintf("%s of %q", d.ID, d.Queue))
	}
	return fmt.Sprintf("dq: Shutdown: %v, and %d messages were not done: %s", e.Err, len(e.Running), strings.Join(names, ", "))
}

// Unwrap returns the context's error.
func (e *ShutdownError) Unwrap() error { return e.Err }

// WorkerOptions configure a Worker. The zero value has defaults.
type WorkerOptions struct {
	// Concurrency is the number of handlers that run at a time, over all queues: 1 to 65,536; 0 means 10. With 1 a queue is
	// handled in order.
	Concurrency int
	// MaxAttempts is the number of failed attempts after which a message becomes a dead letter; 0 means no limit.
	MaxAttempts int
	// Lease is the time for which a Worker holds a message: 100 ms or more; 0 means 30 s. It is extended while the handler
	// runs. If the process dies, the message is delivered again when the lease is over.
	Lease time.Duration
	// Timeout bounds each call of a handler: its context ends with context.DeadlineExceeded. 0 means no limit.
	Timeout time.Duration
	// PollEvery is the interval at which all queues are polled on one connection. 0 means a blocking connection for each
	// queue, and 1 s if there are more than 100 queues. Messages that dq transfers, in any process, do not wait for a poll.
	PollEvery time.Duration
	// Backoff returns the wait after a failed attempt, counted from 1; nil means DefaultBackoff.
	Backoff func(attempt int) time.Duration
	// Wrap, unless nil, puts middleware around the handler of each queue. It is called once for each queue. The Handler that it
	// returns must pass on its context, or a context derived from it.
	Wrap func(next Handler) Handler
}

const (
	leastLease = 100 * time.Millisecond
	// mostHandlers is how many messages one call of the script has ids for.
	mostHandlers = 1 << 16
	// mostBlocking is how many queues have a blocking connection each.
	mostBlocking = 100
	// mostWait is how long a queue is waited for before it is looked at again: another process may have set a retry.
	mostWait = 5 * time.Second
	// unendedGrace is how long handlers have to end after Shutdown has ended their contexts.
	unendedGrace = time.Second
)

// Worker handles messages of queues, each at least once. A message is handed out under a lease, and leaves Redis when
// its handler returns nil. If the handler fails, the message is delivered again after Backoff; after MaxAttempts it becomes
// a dead letter. If the process dies, the message is delivered again when the lease is over. After two such losses in a row, or one right
// before its last attempt, the Worker handles the message by itself for one lease, once the other handlers have ended. It waits for them at
// most a tenth of its time. Java producers see no difference. Java consumers can take from the same queue, except messages that a Worker
// holds or has set aside for a retry.
type Worker struct {
	client  *Client
	options WorkerOptions
	queues  []*leased

	places  chan struct{} // the free ones of handlers that may run at a time
	placing chan struct{} // held by the call that takes places

	taking, handling context.Context
	stop             context.CancelFunc
	cancel           context.CancelCauseFunc
	done, abandoned  chan struct{}
	abandon          sync.Once
	unended          ShutdownError // when Shutdown gave up
	fetching         sync.WaitGroup
	holding          sync.WaitGroup // of held
	isAlone          sync.Mutex     // held while a message is handled by itself, or may be soon, and as long again

	gathers    time.Duration // for how long the others are waited for at most; guarded by isAlone
	holdsAlone atomic.Bool   // a message is handled by itself, or is to be

	mu      sync.Mutex
	err     error // a mistake in the options or a Handle
	started bool  // by Run, or never to be
	ran     bool
	held    map[*delivery]struct{}
}

// NewWorker returns a Worker without queues. Add them with Handle, then call Run.
func NewWorker(c *Client, o WorkerOptions) *Worker {
	w := &Worker{client: c, held: map[*delivery]struct{}{}, done: make(chan struct{}), abandoned: make(chan struct{})}
	switch {
	case c == nil || c.ctx == nil:
		w.err = errors.New("dq: NewWorker: got no Client of NewClient")
	case o.Concurrency > mostHandlers:
		w.err = fmt.Errorf("dq: NewWorker: Concurrency: expected %d or less, got %d", mostHandlers, o.Concurrency)
	case o.Concurrency < 0, o.MaxAttempts < 0, o.Timeout < 0, o.PollEvery < 0:
		w.err = fmt.Errorf("dq: NewWorker: expected options of 0 or more, got %d, %d, %s, %s", o.Concurrency, o.MaxAttempts, o.Timeout, o.PollEvery)
	case o.Lease != 0 && o.Lease < leastLease:
		w.err = fmt.Errorf("dq: NewWorker: Lease: expected %s or more, got %s", leastLease, o.Lease)
	}
	if w.err != nil {
		return w
	}
	o.Concurrency, o.Lease = cmp.Or(o.Concurrency, 10), cmp.Or(o.Lease, 30*time.Second)
	if o.Backoff == nil {
		o.Backoff = DefaultBackoff
	}
	if o.Wrap == nil {
		o.Wrap = func(next Handler) Handler { return next }
	}
	w.options, w.places, w.placing = o, make(chan struct{}, o.Concurrency), make(chan struct{}, 1)
	w.freePlaces(o.Concurrency)
	w.gathers = o.Lease / 10
	w.taking, w.stop = context.WithCancel(c.ctx)
	w.handling, w.cancel = context.WithCancelCause(context.WithoutCancel(c.ctx))
	return w
}

// Handle registers the handler for the messages of q. Run calls it. The handler's context ends with the cause ErrLeaseLost a
// twentieth of the lease before the lease ends, if it was not extended; after Timeout; when the context of Shutdown ends; and
// when the Client is closed. A panic is a failure with a *PanicError. RetryIn, Bury and Drop make other outcomes. A message that
// cannot be decoded becomes a dead letter.
//
// Call Handle once for each queue, before Run. Run returns an error after a second call, for nil, and for another Client's queue.
func Handle[T any](w *Worker, q *Queue[T], handler func(context.Context, *Message[T]) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil: // the first mistake counts
	case w.started:
		w.err = errors.New("dq: Handle: the Worker was started or shut down before; call Handle before Run")
		w.stop()
	case q == nil || handler == nil:
		w.err = fmt.Errorf("dq: Handle: expected a queue and a handler, got %t, %t", q != nil, handler != nil)
	case q.client != w.client:
		w.err = fmt.Errorf("dq: Handle: queue %q belongs to another Client", q.Name())
	case slices.ContainsFunc(w.queues, func(l *leased) bool { return l.queue == q.Name() }):
		w.err = fmt.Errorf("dq: Handle: queue %q has a handler already", q.Name())
	}
	if w.err != nil {
		return
	}
	l := &leased{queue: q.Name(), keys: scripts.LeaseNamesOf(q.Name()), moved: q.task}
	l.handle = w.options.Wrap(func(ctx context.Context, d Delivery) error {
		data, _ := ctx.Value(valueKey{}).([]byte)
		v, err := q.codec.Decode(data)
		if err != nil {
			return Bury(&DecodeError{Data: data, Err: err})
		}
		return handler(ctx, &Message[T]{Delivery: d, Value: v})
	})
	l.wake = func() { w.wake(l) }
	l.timer = time.AfterFunc(time.Hour, l.wake)
	l.timer.Stop()
	w.queues = append(w.queues, l)
}

// Run handles messages until ctx ends or Shutdown is called, then waits for the handlers, without a limit: their contexts do not end
// with ctx. It returns nil, ErrClosed if the Client is closed, or an error at once if the Worker cannot start or was started before.
func (w *Worker) Run(ctx context.Context) error {
	w.mu.Lock()
	again, shut, err := w.ran, w.started, w.err
	if err == nil && len(w.queues) == 0 {
		err = errors.New("dq: Run: no queue; call Handle first")
	}
	if err == nil && !shut {
		w.started, w.ran = true, true
	}
	w.mu.Unlock()
	switch {
	case again:
		return errors.New("dq: Run: the Worker was started before; a new Worker can be")
	case err != nil:
		return err
	case shut:
		return nil // Shutdown was first
	}
	defer close(w.done)
	defer context.AfterFunc(ctx, w.stop)()
	defer context.AfterFunc(w.client.ctx, func() { w.cancel(ErrClosed) })()
	var keeper sync.WaitGroup
	keeping, kept := context.WithCancel(context.WithoutCancel(w.handling))
	keeper.Go(func() { w.keep(keeping) })
	for _, q := range w.queues {
		w.wake(q)
	}
	if w.polls() {
		w.client.scheduler.watch(w.queues, true)
		defer w.client.scheduler.watch(w.queues, false)
		w.fetching.Go(w.poll)
	}
	<-w.taking.Done()
	w.mu.Lock()   // after the last wake
	w.mu.Unlock() //nolint:staticcheck // nothing to guard
	w.fetching.Wait()
	settled := make(chan struct{})
	go func() { w.holding.Wait(); close(settled) }()
	select {
	case <-settled:
	case <-w.abandoned: // by Shutdown
	}
	w.cancel(ErrClosed)
	kept()
	keeper.Wait()
	if w.client.ctx.Err() != nil {
		return ErrClosed
	}
	w.giveBackStaged()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Shutdown makes Run take no more messages, and waits for the handlers. If ctx ends first, it ends the handlers' contexts and waits
// a second more. Then the messages of handlers that still run go back to their queues, Run returns, and Shutdown returns a
// *ShutdownError that names them. These messages may be handled twice. A server that does not answer may add 4 s.
func (w *Worker) Shutdown(ctx context.Context) error {
	w.mu.Lock()
	ran, err := w.ran, w.err
	w.started = true // it does not start any more
	w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
	if !ran {
		return err
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.cancel(context.Cause(ctx))
		select {
		case <-w.done:
		case <-time.After(unendedGrace):
			w.abandon.Do(func() { w.releaseAll(ctx) })
			<-w.done
		}
	}
	if len(w.unended.Running) == 0 {
		return nil
	}
	return &w.unended // also where another Shutdown gave up
}

// releaseAll gives all messages that are held back to their queues, of all queues at once: each may have to wait for a server.
func (w *Worker) releaseAll(ctx context.Context) {
	w.unended.Err = context.Cause(ctx)
	var releasing sync.WaitGroup
	for q, all := range w.byQueue() {
		for _, d := range all {
			w.unended.Running = append(w.unended.Running, d.Delivery)
		}
		releasing.Go(func() {
			released, err := w.settleOnce(context.WithoutCancel(ctx), q, release, "", all)
			for i, d := range all {
				d.unkept.Store(true)
				if err == nil && released[i] == settled {
					w.client.tell(GivenBack{d.Delivery})
				} else {
					w.client.tell(AckFailed{Delivery: d.Delivery, Err: in(string(release), d.Queue, cmp.Or(err, ErrLeaseLost))})
				}
			}
		})
	}
	releasing.Wait()
	close(w.abandoned)
}

// giveBackStaged puts what BLMOVE has staged for this Worker back to the front of the queues: no other process may have one.
func (w *Worker) giveBackStaged() {
	if w.polls() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.handling), settleTimeout)
	defer cancel()
	for _, q := range w.queues {
		for more := true; more; {
			reply, err := w.client.do(ctx, q.queue, "RPOPLPUSH", q.keys.Staged, q.queue)
			more = reply != nil && err == nil
		}
	}
}
