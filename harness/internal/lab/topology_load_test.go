package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// Queue is the name of the queue that is offered to and taken from. Beside it goes one that a
// Worker takes from.
const Queue = "orders"

const (
	// producers offer to each queue, one message every pace, due leastDelay to mostDelay later.
	producers             = 3
	pace                  = 20 * time.Millisecond
	leastDelay, mostDelay = 100 * time.Millisecond, 400 * time.Millisecond
	// consumers take from each queue.
	consumers = 3
	// faultTimeout bounds the fault; readyTimeout the start.
	faultTimeout, readyTimeout = 90 * time.Second, 10 * time.Second
	// callTimeout bounds what is under way when the load ends.
	callTimeout = 20 * time.Second
	// lease is for how long a message is handed out.
	lease = 2 * time.Second
	// quiet is how long nothing has to come before what is missing counts as lost, and quietKept that
	// of the queue of the Worker, where what was on its way comes again after 10 s at most.
	quiet, quietKept = 3 * time.Second, 12 * time.Second
)

// message is one offer and what became of it.
type message struct {
	sent, answered, due time.Time
	err                 error
	came                []time.Time
}

// ledger is what became of all messages of a queue.
type ledger struct {
	mu   sync.Mutex
	all  map[string]*message
	last time.Time // when the last one came
}

func (l *ledger) offered(value string, m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	came := l.entry(value).came
	m.came = came
	*l.all[value] = m
}

func (l *ledger) took(value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	m := l.entry(value)
	m.came = append(m.came, l.last)
}

// entry needs mu.
func (l *ledger) entry(value string) *message {
	if l.all == nil {
		l.all = map[string]*message{}
	}
	if l.all[value] == nil {
		l.all[value] = &message{}
	}
	return l.all[value]
}

// missing is how many that were acknowledged have not come, and since when nothing has.
func (l *ledger) missing() (n int, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since = l.last
	for _, m := range l.all {
		if m.err == nil && len(m.came) == 0 {
			n++
		}
		if m.due.After(since) {
			since = m.due
		}
	}
	return n, since
}

// Load runs a load of two services, one that offers and one that takes, has the fault happen after and before
// some calm, and accounts for every message. The error says that the fault could not be done, or the services could
// not begin.
func (t *Topology) Load(ctx context.Context, f Fault, calm time.Duration) (_ *Outcome, err error) {
	var plain, kept ledger
	offering, err := t.serve(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, offering.close()) }()
	taking, err := t.serve(ctx, &kept)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, taking.close()) }()

	consuming, stopTakes := context.WithCancel(ctx)
	var takers sync.WaitGroup
	for range consumers {
		takers.Go(func() { take(consuming, taking.orders, &plain) })
	}
	takers.Go(func() { _ = taking.worker.Run(consuming) })
	defer takers.Wait()
	defer stopTakes()
	began := time.Now()
	producing, stopOffers := context.WithCancel(ctx)
	defer stopOffers()
	var offers sync.WaitGroup
	for range producers {
		offers.Go(func() { offer(producing, offering.orders, &plain) })
		offers.Go(func() { offer(producing, offering.kept, &kept) })
	}
	defer offers.Wait()
	defer stopOffers()

	if err := sleep(ctx, calm); err != nil {
		return nil, err
	}
	from := time.Now()
	failing, cancel := context.WithTimeout(ctx, faultTimeout)
	defer cancel()
	if err := f.do(failing); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	to := time.Now()
	if err := sleep(ctx, calm); err != nil {
		return nil, err
	}
	stopOffers()
	offers.Wait()
	ended := time.Now()
	if err := errors.Join(drained(ctx, &plain, quiet), drained(ctx, &kept, quietKept)); err != nil {
		return nil, err
	}
	stopTakes()
	takers.Wait()
	span := span{began: began, from: from, to: to, ended: ended}
	return account(f.Loses, span, plain.all, kept.all), nil
}

// drained waits until all has come, or nothing any more.
func drained(ctx context.Context, l *ledger, quiet time.Duration) error {
	for {
		n, since := l.missing()
		if n == 0 || time.Since(since) > quiet {
			// What was uncertain, or is a duplicate, comes hardly later than the rest.
			return sleep(ctx, mostDelay)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// service is a client of both queues.
type service struct {
	orders, kept *dq.Queue[string]
	worker       *dq.Worker
	close        func() error
}

// serve makes a service, whose worker notes in kept.
func (t *Topology) serve(ctx context.Context, kept *ledger) (*service, error) {
	rdb := t.dial()
	client, err := dq.NewClient(rdb)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	s := &service{}
	var errs [2]error
	s.orders, errs[0] = dq.NewQueue(client, Queue, codec.String{})
	s.kept, errs[1] = dq.NewQueue(client, t.kept, codec.String{})
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, client.Close(), rdb.Close())
	}
	s.worker = dq.NewWorker(client, dq.WorkerOptions{Concurrency: consumers, Lease: lease})
	dq.Handle(s.worker, s.kept, func(_ context.Context, m *dq.Message[string]) error { kept.took(m.Value); return nil })
	s.close = func() error { return errors.Join(client.Close(), rdb.Close()) }
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := errors.Join(s.orders.Ready(ctx), s.kept.Ready(ctx)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func offer(ctx context.Context, queue *dq.Queue[string], l *ledger) {
	name := rand.Uint64()
	next := time.NewTicker(pace)
	defer next.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		value := fmt.Sprintf("%x-%d", name, i)
		delay := (leastDelay + rand.N(mostDelay-leastDelay)).Truncate(time.Millisecond) // as due times are
		sent := time.Now()
		// An offer that is under way when the load ends may take its time.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		_, err := queue.Offer(bounded, value, delay)
		cancel()
		l.offered(value, message{sent: sent, answered: time.Now(), due: sent.Add(delay), err: err})
	}
}

// again is the pause after a call that failed.
const again = 5 * time.Millisecond

func take(ctx context.Context, queue *dq.Queue[string], l *ledger) {
	for ctx.Err() == nil {
		value, err := queue.Take(ctx)
		if err == nil {
			l.took(value)
			continue
		}
		_ = sleep(ctx, again)
	}
}
