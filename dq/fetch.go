package dq

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

// places are the handlers that may run at a time.
type places struct {
	free chan struct{}
	turn chan struct{} // held by the call that waits for places, so that no other call gets one first
}

func newPlaces(n int) places {
	p := places{free: make(chan struct{}, n), turn: make(chan struct{}, 1)}
	p.release(n)
	return p
}

func (p places) release(n int) {
	for range n {
		p.free <- struct{}{}
	}
}

// some waits for a place, and returns how many it took of the free ones; 0 when ctx has ended.
func (p places) some(ctx context.Context) (n int) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return 0
	}
	select {
	case <-p.free:
	case <-ctx.Done():
		return 0
	}
	for n = 1; n < cap(p.free); n++ {
		select {
		case <-p.free:
		default:
			return n
		}
	}
	return n
}

// all waits for all places; false when given has been closed first.
func (p places) all(given <-chan struct{}) bool {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	for n := range cap(p.free) {
		select {
		case <-p.free:
		case <-given:
			p.release(n)
			return false
		}
	}
	return true
}

// wake has a queue looked at.
func (w *Worker) wake(q *leased) {
	if q.woken.CompareAndSwap(false, true) {
		w.ready <- q // has room for all
	}
}

// fetchers takes messages of queues that were woken.
func (w *Worker) fetchers(all *sync.WaitGroup) {
	for {
		select {
		case <-w.taking.Done():
			return
		case q := <-w.ready:
			q.woken.Store(false)
			w.fetch(q, all)
		}
	}
}

// fetch takes as many messages of a queue as there are free places.
func (w *Worker) fetch(q *leased, all *sync.WaitGroup) {
	n := w.places.some(w.taking)
	if n == 0 {
		return
	}
	alone := w.mayBeAlone()
	got, next, more, err := w.take(q, n, alone)
	one := len(got) == 1 && got[0].alone
	if alone && !one {
		w.aloneFor(0)
	}
	w.places.release(n - len(got))
	switch {
	case err != nil:
		w.client.tell(TakeFailed{Queue: q.queue, Err: err})
		q.mu.Lock()
		wait := q.retry.Next()
		q.mu.Unlock()
		w.wakeIn(q, wait)
		return
	case one:
		w.alone(got[0])
	default:
		for _, d := range got {
			go w.run(d)
		}
	}
	q.mu.Lock()
	q.retry = conn.Backoff{}
	q.mu.Unlock()
	if one || !alone {
		w.wakeIn(q, w.untilAlone())
	}
	switch {
	case more || len(got) == n:
		w.wake(q)
	case w.polls():
		if next >= 0 {
			w.wakeIn(q, next)
		}
	default:
		w.block(q, next, all)
	}
}

// alone handles a message while no other is handled: it may have ended the processes that had it. The next such
// message has to wait as long as this one took, so that others are handled at least half of the time.
func (w *Worker) alone(d *delivery) {
	began := time.Now()
	defer func() { w.aloneFor(time.Since(began)) }()
	w.places.release(1)
	if !w.places.all(w.taking.Done()) {
		w.giveBack(d)
		w.forget(d)
		return
	}
	w.run(d)
	w.places.release(cap(w.places.free) - 1)
}

// mayBeAlone reports whether a message may be handled by itself now. aloneFor follows, and says for how long one was.
func (w *Worker) mayBeAlone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isAlone || time.Now().Before(w.nextAlone) {
		return false
	}
	w.isAlone = true
	return true
}

func (w *Worker) aloneFor(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isAlone, w.nextAlone = false, time.Now().Add(took)
}

// untilAlone is how long until a message may be handled by itself.
func (w *Worker) untilAlone() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isAlone {
		return failedPause
	}
	return max(time.Until(w.nextAlone), 0)
}

// wakeIn has a queue looked at after that time, or before.
func (w *Worker) wakeIn(q *leased, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := time.Now().Add(wait)
	if !q.at.IsZero() && !at.Before(q.at) {
		return
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.at = at
	q.timer = time.AfterFunc(wait, func() {
		q.mu.Lock()
		q.at = time.Time{}
		q.mu.Unlock()
		if interrupt := q.interrupt.Load(); interrupt != nil {
			(*interrupt)()
			return
		}
		w.wake(q)
	})
}

// block has a queue looked at when BLMOVE has staged a message of it, or when next is over.
func (w *Worker) block(q *leased, next time.Duration, all *sync.WaitGroup) {
	if next < 0 || next > mostWait {
		next = mostWait
	}
	ctx, cancel := context.WithTimeout(w.taking, max(next, time.Millisecond))
	if !q.interrupt.CompareAndSwap(nil, &cancel) {
		cancel() // another waits
		return
	}
	all.Go(func() {
		defer w.wake(q)
		defer cancel()
		defer q.interrupt.Store(nil)
		_, err := w.client.block(ctx, q.queue, "BLMOVE", q.queue, q.keys.Staged, "LEFT", "RIGHT")
		switch {
		case err == nil || ctx.Err() != nil:
		case strings.HasPrefix(err.Error(), "ERR unknown command"): // before Redis 6.2
			_ = conn.Pause(ctx, olderPoll)
		default:
			w.client.tell(TakeFailed{Queue: q.queue, Err: err})
			_ = conn.Pause(ctx, failedPause)
		}
	})
}

const (
	// olderPoll is how often a server without BLMOVE is asked.
	olderPoll = 50 * time.Millisecond
	// failedPause follows a BLMOVE that failed.
	failedPause = 500 * time.Millisecond
)
