package dq

import (
	"context"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

const (
	// olderPoll is how often a server without BLMOVE is asked.
	olderPoll = 50 * time.Millisecond
	// failedPause follows a BLMOVE that failed, and a take while a message is handled by itself.
	failedPause = 500 * time.Millisecond
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

// take waits for least places, takes all others that are free, and returns how many it took; 0 when ctx has ended.
func (p places) take(ctx context.Context, least int) (n int) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return 0
	}
	for n < least {
		select {
		case <-p.free:
			n++
		case <-ctx.Done():
			p.release(n)
			return 0
		}
	}
	for ; n < cap(p.free); n++ {
		select {
		case <-p.free:
		default:
			return n
		}
	}
	return n
}

// wake has a queue looked at.
func (w *Worker) wake(q *leased) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.wakeAt = time.Time{}
	if !q.woken && w.taking.Err() == nil {
		q.woken = true
		w.fetching.Go(func() { w.fetch(q) })
	}
}

// wakeIn has a queue looked at after that time, or before.
func (w *Worker) wakeIn(q *leased, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := time.Now().Add(wait); q.wakeAt.IsZero() || at.Before(q.wakeAt) {
		q.wakeAt = at
		q.timer.Reset(wait)
	}
}

// fetch takes as many messages of a queue as there are free places.
func (w *Worker) fetch(q *leased) {
	n := w.places.take(w.taking, 1)
	w.mu.Lock()
	q.woken = false
	w.mu.Unlock()
	if n == 0 {
		return
	}
	mayBeAlone := w.isAlone.TryLock()
	got, next, more, err := w.take(q, n, mayBeAlone)
	w.places.release(n - len(got))
	switch {
	case mayBeAlone && len(got) == 1 && got[0].alone:
		go w.alone(got[0])
	case mayBeAlone:
		w.isAlone.Unlock()
		fallthrough
	default:
		for _, d := range got {
			go w.run(d, 1)
		}
	}
	if err != nil {
		w.client.tell(TakeFailed{Queue: q.queue, Err: err})
		w.mu.Lock()
		wait := q.retry.Next()
		w.mu.Unlock()
		w.wakeIn(q, wait)
		return
	}
	w.mu.Lock()
	q.retry = conn.Backoff{}
	isFull := more || len(got) == n
	if isFull && q.stop != nil {
		q.stop() // what BLMOVE stages now would wait
	}
	w.mu.Unlock()
	if !mayBeAlone {
		w.wakeIn(q, failedPause)
	}
	switch {
	case isFull:
		w.wake(q)
		return
	case !w.polls():
		w.block(q)
		if next < 0 || next > mostWait {
			next = mostWait
		}
	case next < 0:
		return
	}
	w.wakeIn(q, next)
}

// alone handles a message while no other is handled: it may have ended the processes that had it. The next such
// message has to wait as long as this one took, so that others are handled at least half of the time.
func (w *Worker) alone(d *delivery) {
	began := time.Now()
	w.places.release(1)
	if all := w.places.take(w.taking, cap(w.places.free)); all > 0 {
		w.run(d, all)
	} else {
		w.giveBack(d)
		w.forget(d)
	}
	time.AfterFunc(time.Since(began), func() {
		w.isAlone.Unlock()
		w.wake(d.of)
	})
}

// block has a queue looked at when BLMOVE has staged a message of it.
func (w *Worker) block(q *leased) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(w.taking)
	q.stop = stop
	w.fetching.Go(func() {
		_, err := w.client.conns.Block(ctx, q.queue, "BLMOVE", q.queue, q.keys.Staged, "LEFT", "RIGHT")
		switch {
		case err == nil || ctx.Err() != nil:
		case strings.HasPrefix(err.Error(), "ERR unknown command"): // before Redis 6.2
			_ = conn.Pause(ctx, olderPoll)
		default:
			w.client.tell(TakeFailed{Queue: q.queue, Err: in("take", q.queue, err)})
			_ = conn.Pause(ctx, failedPause)
		}
		stop()
		w.mu.Lock()
		q.stop = nil
		w.mu.Unlock()
		w.wake(q)
	})
}
