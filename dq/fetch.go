package dq

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

const (
	// olderPoll is how often a server without BLMOVE is asked.
	olderPoll = 50 * time.Millisecond
	// failedPause follows a BLMOVE that failed, and a take while a message is handled by itself.
	failedPause = 500 * time.Millisecond
)

// takePlaces waits for least places of handlers, takes all others that are free, and returns how many it took; 0 when ctx has
// ended. One call waits at a time, so that no other call gets a place first.
func (w *Worker) takePlaces(ctx context.Context, least int) (n int) {
	select {
	case w.placing <- struct{}{}:
		defer func() { <-w.placing }()
	case <-ctx.Done():
		return 0
	}
	for ; n < cap(w.places); n++ {
		select {
		case <-w.places:
			continue
		default:
		}
		if n >= least {
			break
		}
		select {
		case <-w.places:
		case <-ctx.Done():
			w.freePlaces(n)
			return 0
		}
	}
	return n
}

func (w *Worker) freePlaces(n int) {
	for range n {
		w.places <- struct{}{}
	}
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
	n := w.takePlaces(w.taking, 1)
	w.mu.Lock()
	q.woken = false
	w.mu.Unlock()
	if n == 0 {
		return
	}
	got, next, more, err := w.take(q, n, scripts.HandedOut{})
	w.freePlaces(n - len(got))
	for _, d := range got {
		go w.run(d)
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
	if q.stop != nil && (isFull || w.holdsAlone.Load()) {
		q.stop() // a message that BLMOVE stages now would wait
	}
	w.mu.Unlock()
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

// alone handles a claimed message, which may have ended the processes that had it. It is taken once all others have ended, so that
// no other costs it an attempt, and is by itself for a lease. Then others are handled for as long again, or nine times as long if
// they did not end: they are waited for twice as long the next time.
func (w *Worker) alone(q *leased, claim scripts.HandedOut) {
	began := time.Now()
	ctx, stop := context.WithTimeout(w.taking, w.gathers)
	go func() { // others claim it if this fails
		claimed := []*delivery{{Delivery: Delivery{ID: claim.ID, Attempt: int(claim.Delivery)}}}
		for conn.Pause(ctx, w.options.Lease/3) == nil {
			if answers, err := w.settleOnce(ctx, q, extend, fmt.Sprint(w.options.Lease.Milliseconds()), claimed); err == nil && answers[0] != settled {
				stop()
			}
		}
	}()
	n := w.takePlaces(ctx, cap(w.places))
	stop()
	got, _, _, _ := w.take(q, n, claim) // without places the claim ends; what fails is told by the next take
	gathers, rests := w.options.Lease/10, time.Duration(1)
	if len(got) == 0 {
		gathers, rests = min(2*w.gathers, 10*w.options.Lease), 9
	}
	w.gathers = gathers
	go func() {
		ended, end := context.WithTimeout(context.Background(), w.options.Lease)
		defer end()
		for _, d := range got {
			go func() {
				w.run(d)
				end()
			}()
			n--
			<-ended.Done()
		}
		w.freePlaces(n)
		w.holdsAlone.Store(false)
		w.wake(q)
		time.AfterFunc(rests*time.Since(began), func() {
			w.isAlone.Unlock()
			w.wake(q)
		})
	}()
}

// block has a queue looked at when BLMOVE has staged a message of it.
func (w *Worker) block(q *leased) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.stop != nil || w.holdsAlone.Load() {
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
