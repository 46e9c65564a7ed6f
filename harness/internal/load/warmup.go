package load

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Rule of a warm-up that ends by itself: from a window of stillSeconds to the next one,
// the median and the 90th percentile of lateness and of the offer's round trip fall by
// less than a stillShare of what they were, or by less than stillNs. A window of fewer
// than stillMessages tells nothing: such a warm-up takes its full length, but no more
// than thinWarmup.
const (
	stillSeconds  = 3
	stillShare    = .15
	stillNs       = int64(50 * time.Microsecond)
	stillMessages = 100
	thinWarmup    = 5 * time.Second
)

// stillness watches the seconds of a warm-up.
type stillness struct {
	seconds []Progress
	still   chan struct{} // closed when the rule is met
	done    bool
}

func newStillness() *stillness { return &stillness{still: make(chan struct{})} }

// look takes a second. Those in which nothing came say nothing.
func (s *stillness) look(p Progress) {
	if s.done || p.Lateness.Count() == 0 || p.OfferRTT.Count() == 0 {
		return
	}
	s.seconds = append(s.seconds, p)
	if s.stands() {
		s.done = true
		close(s.still)
	}
}

// stands reports whether nothing falls any more.
func (s *stillness) stands() bool {
	n := len(s.seconds)
	if n < 2*stillSeconds {
		return false
	}
	before, after := s.seconds[n-2*stillSeconds:n-stillSeconds], s.seconds[n-stillSeconds:]
	for _, w := range [][]Progress{before, after} {
		came := int64(0)
		for _, p := range w {
			came += p.Lateness.Count()
		}
		if came < stillMessages {
			return false
		}
	}
	for _, figure := range []func(Progress) *run.Histogram{
		func(p Progress) *run.Histogram { return p.Lateness }, func(p Progress) *run.Histogram { return p.OfferRTT },
	} {
		for _, q := range []float64{.5, .9} {
			old, now := window(before, figure, q), window(after, figure, q)
			if fell := old - now; fell > stillNs && float64(fell) > stillShare*float64(max(old, -old)) {
				return false
			}
		}
	}
	return true
}

// window is a quantile over several seconds.
func window(seconds []Progress, figure func(Progress) *run.Histogram, q float64) int64 {
	all := run.NewHistogram(run.IntervalDigits)
	for _, s := range seconds {
		_ = all.Merge(figure(s)) // of the same bounds
	}
	return all.Quantile(q)
}

// warmUp runs the warm-up until its last message is consumed, so that nothing of
// it is under way when the measurement begins.
func (e *engine) warmUp(ctx context.Context) error {
	if e.Plan.Warmup <= 0 {
		return nil
	}
	still := newStillness()
	progress := e.Progress
	var until <-chan struct{}
	if e.Plan.WarmupEnds {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		until = e.warmUntil(watching, still)
		progress = func(p Progress) {
			still.look(p)
			p.Planned = 0
			e.Progress(p)
		}
	}
	outlives, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	p := e.begin(outlives, plan.Warmup, time.Now().Add(readyBefore), progress)
	p.offerAll(ctx, until)
	e.warmup = &run.Warmup{Seconds: min(time.Since(p.start), e.Plan.Warmup).Seconds(), Fixed: !e.Plan.WarmupEnds, Warm: still.done}
	p.drain(ctx)
	p.end()
	if ctx.Err() != nil {
		return ErrNothingMeasured
	}
	if e.broke() {
		e.mu.Lock()
		defer e.mu.Unlock()
		return fmt.Errorf("in the warm-up, before anything was measured, %s %s", e.faults[0].Agent, e.faults[0].Text)
	}
	if e.Plan.WarmupEnds && !still.done {
		e.note("the warm-up ended after %.0f s, before lateness and round trip stood still", e.warmup.Seconds)
	}
	if s := p.stands(); s.unsure > 0 {
		e.note("%d offers of the warm-up failed, the first: %s", s.unsure, e.errs.Offer)
	}
	return nil
}

// warmUntil is closed when the warm-up has lasted long enough.
func (e *engine) warmUntil(ctx context.Context, still *stillness) <-chan struct{} {
	longest := e.Plan.Warmup
	if float64(e.Plan.Schedule()[0].Rate)*stillSeconds < stillMessages {
		longest = min(longest, thinWarmup)
	}
	until := make(chan struct{})
	go func() {
		timer := time.NewTimer(longest)
		defer timer.Stop()
		select {
		case <-still.still:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		close(until)
	}()
	return until
}

// tellWarmup counts what of the warm-up never came, until the end of the run.
func (e *engine) tellWarmup(ctx context.Context) {
	p := e.phases[plan.Warmup]
	if p == nil || p.stands().outstanding <= 0 {
		return
	}
	unread := e.keepHeld(ctx, p)
	c := p.balance(unread, func(uint16) int64 { return 0 }, e.broke())
	e.warmup.Lost, e.warmup.Pending = c.Lost, c.Pending
}
