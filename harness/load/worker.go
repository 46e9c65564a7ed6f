package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/run"
)

// Worker is one of Count processes or hosts that split a scenario: it runs the
// producers and consumers whose number is Number modulo Count, and with them
// their part of the schedule. The zero value is a worker that does it all.
//
// All offer to the same queues, and each takes what comes, whoever offered it.
// What was lost can be told only by joining their run files: run.Merge.
type Worker struct{ Number, Count int }

// ParseWorker reads i/n. Workers may be counted from 1 or from 0: n and 0 are the
// same share.
func ParseWorker(text string) (Worker, error) {
	number, count, ok := strings.Cut(text, "/")
	i, errI := strconv.Atoi(number)
	n, errN := strconv.Atoi(count)
	if !ok || errI != nil || errN != nil || n < 1 || i < 0 || i > n {
		return Worker{}, fmt.Errorf("worker: expected i/n with i from 1 to n, or from 0 to n-1, such as 2/4; got %q", text)
	}
	return Worker{Number: i, Count: n}, nil
}

// String returns the form that ParseWorker reads.
func (w Worker) String() string { return fmt.Sprintf("%d/%d", w.Number, w.Count) }

// Shared reports whether there are other workers.
func (w Worker) Shared() bool { return w.Count > 1 }

// owns reports whether the nth producer or consumer is this worker's.
func (w Worker) owns(n int) bool { return !w.Shared() || n%w.Count == w.Number%w.Count }

// Check refuses a plan that so many workers cannot split. Its error is wrong
// usage.
func (w Worker) Check(p Plan) error {
	switch {
	case !w.Shared():
		return nil
	case min(int64(p.Producers), p.Messages()) < int64(w.Count):
		return fmt.Errorf("worker: %d workers need a producer and a message each, got %d and %d", w.Count, p.Producers, p.Messages())
	case p.Consumers < w.Count:
		return fmt.Errorf("worker: %d workers need a consumer each, got %d", w.Count, p.Consumers)
	case p.Messages() > run.MaxSharedMessages:
		return fmt.Errorf("worker: expected a scenario of at most %d messages, got %d", run.MaxSharedMessages, p.Messages())
	}
	return nil
}

const (
	// readyBefore is how long before the start the warm-up is over, for what is
	// asked of the server between the two.
	readyBefore = 250 * time.Millisecond
	// clockSamples is how often the server's clock is asked.
	clockSamples = 16
)

// LateStartError says that a worker was not ready at the agreed start.
type LateStartError struct{ By time.Duration }

func (e *LateStartError) Error() string {
	return fmt.Sprintf("--start-at passed %s before this worker was ready; choose a later instant", e.By.Round(time.Millisecond))
}

// checkWorker refuses what can never be right.
func (o Options) checkWorker() error {
	if o.Worker.Shared() && o.Redis == nil {
		return fmt.Errorf("worker: expected a driver whose messages are on a server that all workers share, got %s", o.Driver.Identity())
	}
	if o.Worker.Shared() && o.StartAt.IsZero() {
		return errors.New("worker: expected --start-at, so that all workers begin at one instant")
	}
	return o.Worker.Check(o.Plan)
}

// heldByWorkers reports whether all that a queue holds is of this run: other
// workers warm up already.
func (o Options) heldByWorkers(ctx context.Context, queue string) bool {
	if !o.Worker.Shared() {
		return false
	}
	foreign := false
	err := o.stores(queue).Values(ctx, func(value []byte) {
		h, ok := FindPayload(value)
		foreign = foreign || !ok || h.RunID != o.RunID
	})
	return err == nil && !foreign
}

// agree measures the clocks and turns the agreed start into an instant of this
// machine. It fails if that has passed.
func (r *runner) agree(ctx context.Context, o Options) error {
	if o.StartAt.IsZero() {
		return nil
	}
	if o.Redis != nil {
		offset, err := o.Redis.ClockOffset(ctx)
		if err != nil {
			r.note("the server's clock is unknown, so the start is by this machine's: %v", err)
		} else {
			r.clockOffset = &offset
		}
	}
	ns := o.StartAt.UnixNano()
	if r.clockOffset != nil {
		ns -= int64(r.clockOffset.Ahead)
		if o.Notice != nil {
			o.Notice(r.clockOffset.String())
		}
	}
	r.startAt = r.epoch.instant(ns)
	return r.tooLate()
}

func (r *runner) tooLate() error {
	by := time.Since(r.startAt)
	if by <= 0 {
		return nil
	}
	return &LateStartError{By: by}
}

// awaitStart waits until just before the agreed start, or until ctx ends.
func (r *runner) awaitStart(ctx context.Context) error {
	if !r.startAt.IsZero() && ctx.Err() == nil {
		if err := r.tooLate(); err != nil {
			return err
		}
		pause(ctx, time.Until(r.startAt)-readyBefore)
	}
	return nil
}

// timeToWarmUp reports whether s can be run and drained before the agreed start.
func (r *runner) timeToWarmUp(s *stage) bool {
	return r.startAt.IsZero() || time.Until(r.startAt) > readyBefore+r.length(s)
}

// beginning is when s begins: now, unless that was agreed on.
func (r *runner) beginning(s *stage) time.Time {
	if s.phase == Measured && !r.startAt.IsZero() {
		return r.startAt
	}
	return time.Now()
}

// drainAny drains s as the number of workers asks for.
func (r *runner) drainAny(ctx context.Context, s *stage, o Options) {
	if !r.worker.Shared() {
		r.drain(ctx, s)
		return
	}
	var limit time.Time
	if s.phase == Warmup {
		limit = r.startAt.Add(-readyBefore)
	}
	r.drainShared(ctx, s, r.holders(o), limit)
}

// environment is the machine, and its clock against the server's.
func (r *runner) environment() run.Environment {
	e := environment()
	if r.clockOffset != nil {
		ahead := int64(r.clockOffset.Ahead)
		e.ClockOffsetNs, e.ClockErrorNs = &ahead, int64(r.clockOffset.Error)
	}
	return e
}

// drainShared is drain where other workers take messages of this one: it waits
// until the whole schedule is due and nothing is held any more. It gives up when
// nothing has changed for the drain timeout, at limit if that is not zero, and
// after an interrupt as drain does.
func (r *runner) drainShared(ctx context.Context, s *stage, holders []driver.Holder, limit time.Time) {
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	interrupt := ctx.Done()
	due := s.start.Add(r.length(s))
	changed, last := due, int64(-1)
	for {
		select {
		case <-tick.C:
		case <-interrupt:
			interrupt = nil
			due = time.Now()
			if end := due.Add(r.plan.DrainTimeout); limit.IsZero() || end.Before(limit) {
				limit = end
			}
		}
		now := time.Now()
		if !limit.IsZero() && now.After(limit) {
			return
		}
		if now.Before(due) {
			continue
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		held, err := heldByAll(asking, holders)
		cancel()
		if err == nil && held == 0 {
			return
		}
		if err == nil && held != last {
			changed, last = now, held
		}
		if now.Sub(changed) > r.plan.DrainTimeout {
			return
		}
	}
}

// length is how long s takes until its last message is due, or is waited for.
func (r *runner) length(s *stage) time.Duration {
	length := s.schedule.duration() + s.delay.Max
	if s.delay.Together {
		length = max(s.schedule.duration(), s.delay.Max)
	}
	if s.phase == Measured && r.plan.Horizon > 0 {
		length = min(length, s.schedule.duration()+r.plan.Horizon)
	}
	return length
}

// share is what this worker knows of each message, for run.Merge; nil if it
// is the only one.
func (r *runner) share(l *ledger) (*run.Worker, error) {
	if !r.worker.Shared() {
		return nil, nil
	}
	w := &run.Worker{Number: r.worker.Number, Count: r.worker.Count}
	words := func(p, i int) uint64 { return l.words[p][i].Load() }
	held := func(p, i int) uint64 {
		if l.held == nil || l.held[p] == nil {
			return 0
		}
		return l.held[p][i]
	}
	for _, set := range []struct {
		into *run.MessageSet
		word func(p, i int) uint64
		bit  uint64
	}{
		{&w.Confirmed, words, confirmedBit}, {&w.Delivered, words, deliveredBit}, {&w.Removed, words, removedBit},
		{&w.Held, held, heldBit}, {&w.NotDue, held, futureBit},
	} {
		encoded, err := run.NewMessageSet(l.bitmap(set.word, set.bit))
		if err != nil {
			return nil, err
		}
		*set.into = encoded
	}
	return w, nil
}

// bitmap has a bit for each message, by its number in the whole schedule.
func (l *ledger) bitmap(word func(p, i int) uint64, bit uint64) []byte {
	bitmap := make([]byte, (l.messages+7)/8)
	for p := range l.words {
		for w := range l.words[p] {
			seq := int64(w) * messagesPerWord
			for bits := word(p, w); bits != 0; bits >>= bitsPerMessage {
				if bits&bit != 0 {
					i := l.index(p, seq)
					bitmap[i/8] |= 1 << (i % 8)
				}
				seq++
			}
		}
	}
	return bitmap
}

// own is how many messages this worker offers.
func (l *ledger) own() int64 {
	if !l.worker.Shared() {
		return l.messages
	}
	n := int64(0)
	for p := range l.words {
		if l.worker.owns(p) {
			n += l.share(p)
		}
	}
	return n
}

// closeShare is the balance as far as one of several workers sees it
// (run.Document.Worker).
func (l *ledger) closeShare() balance {
	b := balance{offered: l.confirmed.Load(), delivered: l.delivered.Load()}
	for p := range l.words {
		for w := range l.words[p] {
			word, held := l.words[p][w].Load(), uint64(0)
			if l.held != nil && l.held[p] != nil {
				held = l.held[p][w]
			}
			for ; word != 0; word, held = word>>bitsPerMessage, held>>bitsPerMessage {
				switch {
				case word&confirmedBit == 0 || word&deliveredBit != 0:
				case word&removedBit != 0:
					b.removed++
				case held&heldBit != 0:
					b.pending++
					b.notDue += int64(held & futureBit / futureBit)
				}
			}
		}
	}
	return b
}
