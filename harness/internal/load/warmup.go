package load

import (
	"context"
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
	length := e.Plan.Phase(plan.Warmup).Length()
	var limit time.Time
	if !e.startAt.IsZero() {
		if e.Plan.WarmupEnds {
			length -= e.Plan.Warmup - time.Second
		}
		if limit = e.startAt.Add(-readyBefore); time.Until(limit) < length {
			e.note("no warm-up: --start-at left less than %s for it", length+readyBefore)
			return nil
		}
	}
	still := newStillness()
	progress := e.Progress
	var until <-chan struct{}
	if e.Plan.WarmupEnds {
		watching, stop := context.WithCancel(ctx)
		defer stop()
		until = e.warmUntil(watching, still, limit)
		progress = func(p Progress) {
			still.look(p)
			p.Planned = 0
			e.Progress(p)
		}
	}
	w, err := e.begin(ctx, plan.Warmup, time.Now(), progress)
	if err != nil {
		return err
	}
	if err := w.offerAll(ctx, until); err != nil {
		return err
	}
	e.warmup = &run.Warmup{Seconds: min(time.Since(w.start), e.Plan.Warmup).Seconds(), Fixed: !e.Plan.WarmupEnds}
	if e.Worker.Shared() {
		w.drainShared(ctx, limit)
	} else if err := w.drain(ctx); err != nil {
		return err
	}
	if err := w.end(ctx); err != nil {
		return err
	}
	e.warmup.Warm = still.done
	if e.Plan.WarmupEnds && !still.done && ctx.Err() == nil {
		e.note("the warm-up ended after %.0f s, before lateness and round trip stood still", e.warmup.Seconds)
	}
	return e.tellWarmup(ctx, w)
}

// warmUntil is closed when the warm-up has lasted long enough.
func (e *engine) warmUntil(ctx context.Context, still *stillness, limit time.Time) <-chan struct{} {
	longest := e.Plan.Warmup
	if float64(e.Plan.Schedule()[0].Rate)*stillSeconds < stillMessages {
		longest = min(longest, thinWarmup)
	}
	if !limit.IsZero() {
		drained := e.Plan.Phase(plan.Warmup).Delay.Max + 2*readyBefore
		longest = min(longest, time.Until(limit)-drained)
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

// tellWarmup notes what of the warm-up never came.
func (e *engine) tellWarmup(ctx context.Context, w *work) error {
	c, failed := w.joined()
	if n := c.Outstanding; n > 0 && !e.Worker.Shared() && ctx.Err() == nil {
		e.note("%d warm-up messages never came", n)
	}
	if n := c.unknown(); n > 0 {
		e.note("%d offers of the warm-up failed, the first: %s", n, failed.Offer)
	}
	return nil
}
