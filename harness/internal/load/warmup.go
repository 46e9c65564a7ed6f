package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Rule of a warm-up that ends by itself: from a window of stillSeconds to the next one, the median and the 90th percentile of
// lateness and of the offer's round trip fall by less than a stillShare of the earlier value, or by less than stillNs. A window of
// fewer than stillMessages says nothing: such a warm-up takes its full length, but no more than thinWarmup.
const (
	stillSeconds  = 3
	stillShare    = .15
	stillNs       = int64(50 * time.Microsecond)
	stillMessages = 100
	thinWarmup    = 5 * time.Second
)

// still reports whether nothing falls any more in the last seconds of a warm-up.
func still(seconds []Progress) bool {
	n := len(seconds)
	if n < 2*stillSeconds {
		return false
	}
	window := func(of func(Progress) *run.Histogram, from int) *run.Histogram {
		all := run.NewHistogram()
		for _, s := range seconds[n-from:][:stillSeconds] {
			all.Merge(of(s))
		}
		return all
	}
	late := func(p Progress) *run.Histogram { return p.Lateness }
	for _, figure := range []func(Progress) *run.Histogram{late, func(p Progress) *run.Histogram { return p.OfferRTT }} {
		before, after := window(figure, 2*stillSeconds), window(figure, stillSeconds)
		if min(before.Count(), after.Count()) < stillMessages {
			return false
		}
		for _, q := range []float64{.5, .9} {
			old := before.Quantile(q)
			if fell := old - after.Quantile(q); fell > stillNs && float64(fell) > stillShare*float64(max(old, -old)) {
				return false
			}
		}
	}
	return true
}

// warmUp runs the warm-up until its last message is consumed, so that nothing of it is under way when the measurement begins.
func (e *engine) warmUp(ctx context.Context) error {
	if e.Plan.Warmup <= 0 {
		return nil
	}
	longest := e.Plan.Warmup
	if e.Plan.WarmupEnds && float64(e.Plan.Schedule()[0].Rate)*stillSeconds < stillMessages {
		longest = min(longest, thinWarmup)
	}
	until, isWarm := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer isWarm()
	var seconds []Progress
	p := e.begin(plan.Warmup, time.Now().Add(readyBefore), func(p Progress) {
		if e.Plan.WarmupEnds {
			p.Planned = 0
			if p.Lateness.Count() > 0 && p.OfferRTT.Count() > 0 { // seconds without deliveries do not count
				seconds = append(seconds, p)
			}
			if still(seconds) {
				isWarm()
			}
		}
		e.Progress(p)
	})
	ends := until.Done()
	if !e.Plan.WarmupEnds {
		ends = nil
	}
	p.offerAll(ctx, ends)
	e.warmup = &run.Warmup{Seconds: min(time.Since(p.start), e.Plan.Warmup).Seconds(), Fixed: !e.Plan.WarmupEnds, Warm: errors.Is(until.Err(), context.Canceled)}
	p.drain(ctx)
	p.end()
	if ctx.Err() != nil {
		return nothingMeasured{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broke() {
		return fmt.Errorf("in the warm-up, before anything was measured, %s %s", e.faults[0].Agent, e.faults[0].Text)
	}
	if e.Plan.WarmupEnds && !e.warmup.Warm {
		e.notes = append(e.notes, fmt.Sprintf("the warm-up ended after %.0f s, before lateness and round trip were stable", e.warmup.Seconds))
	}
	if n := p.unsure(); n > 0 {
		e.notes = append(e.notes, fmt.Sprintf("%d offers of the warm-up failed, the first: %s", n, e.errs["offer"]))
	}
	return nil
}
