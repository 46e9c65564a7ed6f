package bridge

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
)

const (
	// callTimeout bounds one call.
	callTimeout = 10 * time.Second
	// firstRetry is how long after a failed call the next one is; each that fails too
	// doubles it, up to lastRetry.
	firstRetry, lastRetry = 100 * time.Millisecond, 5 * time.Second
	// stuckInterval is how often a queue is looked at whose announcements do not come.
	stuckInterval = time.Second
)

// queue is one that is bridged. Its goroutine runs the script; everything else wakes it.
type queue struct {
	bridge *Bridge
	names  wire.Names
	keys   []string
	woken  chan struct{}

	mu        sync.Mutex
	announced int64 // the earliest due time since the last call, never for none
	counts    Counts
}

func newQueue(b *Bridge, dest string) *queue {
	n, unlisted := wire.NamesOf(dest), scripts.UnlistingOf(dest).Unlisted
	return &queue{
		bridge: b, names: n, woken: make(chan struct{}, 1), announced: never, counts: Counts{Queue: dest},
		keys: []string{n.Destination, n.TimeoutSet, n.Pending, forensics.HeldKey(dest), scripts.Quarantine(dest), unlisted[0], unlisted[1]},
	}
}

func (q *queue) snapshot() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counts
}

// announce takes note that a member comes due then; 0 has the queue looked at now.
func (q *queue) announce(due int64) {
	q.mu.Lock()
	q.announced = min(q.announced, due)
	q.mu.Unlock()
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// takeAnnounced returns what was announced since the last time.
func (q *queue) takeAnnounced() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := q.announced
	q.announced = never
	return due
}

// run bridges the queue until ctx ends, and then delivers what is held.
func (q *queue) run(ctx context.Context) {
	timer := q.bridge.clock.NewTimer()
	defer timer.Close()
	lead := q.bridge.options.Lead.Milliseconds()
	retry := firstRetry
	for at := int64(0); ctx.Err() == nil; {
		if !q.sleep(ctx, timer, &at, lead) {
			break
		}
		now := q.now()
		done, err := q.step(ctx, now, now+lead)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			at = q.now() + retry.Milliseconds()
			retry = min(2*retry, lastRetry)
		default:
			retry = firstRetry
			at = min(before(done.next, lead), done.due, q.now()+q.bridge.options.Interval.Milliseconds())
			if done.stuck {
				at = min(at, q.now()+stuckInterval.Milliseconds())
			}
		}
	}
	q.deliverHeld(context.WithoutCancel(ctx), timer, lead)
}

// before is a time less the lead.
func before(due, lead int64) int64 {
	if due == never {
		return never
	}
	return due - lead
}

// sleep waits until at, or earlier where that is announced meanwhile; false once ctx has ended.
func (q *queue) sleep(ctx context.Context, timer clock.Timer, at *int64, lead int64) bool {
	for {
		*at = min(*at, before(q.takeAnnounced(), lead))
		if *at <= q.now() {
			return true
		}
		timer.Reset(time.UnixMilli(*at))
		select {
		case <-timer.C():
		case <-q.woken:
		case <-ctx.Done():
			return false
		}
	}
}

// deliverHeld goes on until nothing is held any more. What other bridges hold is delivered too,
// but not waited for.
func (q *queue) deliverHeld(ctx context.Context, timer clock.Timer, lead int64) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(lead)*time.Millisecond+callTimeout/2)
	defer cancel()
	for end := q.now() + lead; ; {
		done, err := q.step(ctx, q.now(), -1)
		if err != nil || done.due > end {
			return
		}
		if clock.SleepUntil(ctx, q.bridge.clock, timer, time.UnixMilli(done.due)) != nil {
			return
		}
	}
}

func (q *queue) now() int64 { return q.bridge.clock.Now().UnixMilli() }

// step runs the script once, and counts what it did.
func (q *queue) step(ctx context.Context, now, horizon int64) (stepped, error) {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var done stepped
	reply, err := step.Run(limited, q.bridge.client, q.keys,
		strconv.FormatInt(now, 10), strconv.FormatInt(horizon, 10), limit, q.bridge.options.first().String()).Result()
	if err == nil {
		done, err = readStepped(reply)
	}
	if err != nil {
		err = fmt.Errorf("queue %q: %w", q.names.Destination, err)
	}
	if err == nil || ctx.Err() == nil {
		q.note(done, err)
	}
	return done, err
}

// note counts, and tells what people should know.
func (q *queue) note(done stepped, err error) {
	q.mu.Lock()
	c := &q.counts
	was := c.Failing
	c.Calls++
	c.Failing = ""
	if err != nil {
		c.Failures++
		c.Failing = err.Error()
	} else {
		c.DLc0 += int64(done.dLc0)
		c.Bc0Lc0 += int64(done.bc0Lc0)
		c.Quarantined += int64(done.quarantined)
		c.Held = int64(done.held)
		c.Failing = done.failing(q.names.Destination)
	}
	is := c.Failing
	q.mu.Unlock()
	switch {
	case is != "" && was == "":
		q.bridge.notice("%s; it is tried again", is)
	case is == "" && was != "":
		q.bridge.notice("queue %q: it works again", q.names.Destination)
	}
	if done.quarantined > 0 {
		q.bridge.notice("queue %q: set %d members aside in %s, for nobody can read them", q.names.Destination, done.quarantined, q.keys[4])
	}
}

// failing says what a call went on without; nothing where it lacked nothing.
func (s *stepped) failing(dest string) string {
	if s.wrong == "" {
		return ""
	}
	text := fmt.Sprintf("queue %q: %s: all else is done", dest, s.wrong)
	if s.kept > 0 {
		text += fmt.Sprintf("; members that are due and nobody can read stay held: %d", s.kept)
	}
	return text
}

// rewrote counts what was rewritten ahead.
func (q *queue) rewrote(entries int) {
	q.mu.Lock()
	q.counts.Rewritten += int64(entries)
	q.mu.Unlock()
}
