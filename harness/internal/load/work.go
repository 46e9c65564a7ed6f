package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// work is a phase of a run under way, over all parts.
type work struct {
	engine   *engine
	phase    plan.Phase
	plan     plan.PhasePlan
	start    time.Time
	timeline *timeline

	mu     sync.Mutex
	parts  []*member // those that have begun and not ended
	ended  []*outcome
	coming []*member // those that are still to begin

	lastChange instant       // the latest that a member has begun
	asked      time.Duration // after the start, what is held was asked for
	unread     bool          // it could not be read
}

// begin starts a phase in all open parts.
func (e *engine) begin(ctx context.Context, phase plan.Phase, start time.Time, progress func(Progress)) (*work, error) {
	p := e.Plan.Phase(phase)
	w := &work{engine: e, phase: phase, plan: p, start: start, timeline: newTimeline(phase, p, e.own(p.Schedule.Messages()), start, progress)}
	for _, m := range e.openMembers() {
		if err := w.beginPart(ctx, m); err != nil {
			return w, err
		}
	}
	for _, m := range e.members {
		if phase == plan.Measured && m.From > 0 {
			w.coming = append(w.coming, m)
		}
	}
	return w, nil
}

// expects reports whether a member of some kind is still to begin.
func (w *work) expects(kind func(*member) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.coming, kind)
}

// came notes that a member has begun, or never will.
func (w *work) came(m *member) {
	w.lastChange.raise(w.engine.epoch.wall(time.Now()))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coming = slices.DeleteFunc(w.coming, func(other *member) bool { return other == m })
}

func (w *work) beginPart(ctx context.Context, m *member) error {
	w.timeline.join(m.part)
	if err := m.part.begin(ctx, w.phase, w.start, func(s second) { w.timeline.tell(m.part, s) }); err != nil {
		w.timeline.leave(m.part)
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, m)
	return nil
}

// awaitOffers waits until a member that is to close has offered all that it was to offer, and been
// answered: nobody else will, however late it is. It gives up after a while.
func (w *work) awaitOffers(ctx context.Context, m *member) {
	ctx, cancel := context.WithTimeout(ctx, abandonAfter)
	defer cancel()
	ticker := time.NewTicker(awaitTick)
	defer ticker.Stop()
	for {
		if c, err := m.part.counts(ctx, w.phase); err != nil || !c.Offering {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// awaitTick is how often a member that is to close is asked whether it still offers.
const awaitTick = 5 * time.Millisecond

// endPart ends a part, by its method end or kill, and keeps what came of it.
func (w *work) endPart(ctx context.Context, m *member, end func(context.Context, plan.Phase) (*outcome, error)) error {
	o, err := end(ctx, w.phase)
	w.mu.Lock()
	for i, other := range w.parts {
		if other == m {
			w.parts = append(w.parts[:i:i], w.parts[i+1:]...)
			break
		}
	}
	if err == nil {
		o.span = spanOf(m.From, m.To, w.plan.Schedule.Duration())
		w.ended = append(w.ended, o)
	}
	w.mu.Unlock()
	if err == nil {
		for _, s := range o.seconds {
			w.timeline.tell(m.part, s)
		}
	}
	w.timeline.leave(m.part)
	return err
}

// underWay are the members that have begun and not ended.
func (w *work) underWay() []*member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*member(nil), w.parts...)
}

// counts adds up over all parts, those that have ended too.
func (w *work) counts(ctx context.Context) (counts, error) {
	w.mu.Lock()
	parts, sum := append([]*member(nil), w.parts...), counts{}
	for _, o := range w.ended {
		sum = sum.add(o.counts)
	}
	w.mu.Unlock()
	for _, m := range parts {
		c, err := m.part.counts(ctx, w.phase)
		if err != nil {
			return sum, err
		}
		sum = sum.add(c)
	}
	if w.phase == plan.Measured {
		w.engine.Live.count(sum)
	}
	return sum, nil
}

// stop ends the offers of all parts.
func (w *work) stop(ctx context.Context, abandon bool) error {
	var errs []error
	for _, m := range w.underWay() {
		errs = append(errs, m.part.stop(ctx, w.phase, abandon))
	}
	return errors.Join(errs...)
}

// end ends all parts, side by side, and closes the timeline.
func (w *work) end(ctx context.Context) error {
	var ending sync.WaitGroup
	members := w.underWay()
	errs := make([]error, len(members))
	for i, m := range members {
		ending.Go(func() { errs[i] = w.endPart(ctx, m, m.part.end) })
	}
	ending.Wait()
	return errors.Join(append(errs, w.timeline.finish())...)
}
