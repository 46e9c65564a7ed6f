package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// drawing makes the steps of a history.
type drawing struct {
	*rand.Rand
	can     func(op string) bool
	still   bool
	steps   []*Step
	values  []string
	delays  map[string]string // of values
	take    string            // a take that waits; "" for none
	crowded bool
}

// draw makes the history of a seed, of operations that the port has.
func draw(seed uint64, can func(op string) bool) *Case {
	d := &drawing{Rand: rand.New(rand.NewPCG(seed, 1)), can: can, delays: map[string]string{}}
	d.still = d.IntN(2) == 0
	for range 4 + d.IntN(20) {
		d.step()
	}
	return historyOf(fmt.Sprintf("random/%d", seed), d.still, d.steps)
}

func historyOf(id string, still bool, steps []*Step) *Case {
	c := &Case{
		ID: id, Requirement: "No message is lost, delivered twice, early or stranded.", Source: "drawn", Trace: "drawn",
		Steps: steps, history: &history{still: still},
	}
	_ = c.resolveReleases() // it names none
	return c
}

func (d *drawing) add(s *Step) { d.steps = append(d.steps, s) }

func (d *drawing) call(op string, with map[string]any) {
	if d.can(op) {
		d.add(&Step{Call: op, With: with})
	}
}

func (d *drawing) delay() string {
	if d.still {
		return []string{"1h", "2h", "90m"}[d.IntN(3)]
	}
	return []string{"0ms", "1ms", "20ms", "60ms", "150ms", "1h", "2h"}[d.IntN(7)]
}

// offer offers a new value, or one that was offered before, with the same delay: dq removes the one of equal values
// that is due first, which is then also the one offered first.
func (d *drawing) offer(delay string) {
	v := fmt.Sprintf("vä%02d", len(d.values)+1) // more bytes than characters
	if d.still && len(d.values) > 0 && d.IntN(4) == 0 {
		v = d.values[d.IntN(len(d.values))]
		delay = d.delays[v]
	}
	d.values, d.delays[v] = append(d.values, v), delay
	d.call("dq.offer", map[string]any{"value": v, "delay": delay})
}

// farDue is a due time that does not come, in Unix ms.
const farDue = 9_999_999_999_000

// seeded has a client open the queue after a seed: that runs a transfer.
func (d *drawing) seeded(s *Seed) {
	d.crowded = true
	d.add(&Step{Seed: s})
	if !d.still {
		d.add(&Step{Open: &Open{As: "again", Client: "again", Unattended: true}})
	}
}

func (d *drawing) step() {
	switch n := d.IntN(100); {
	case n < 42:
		d.offer(d.delay())
	case n < 49 && d.still:
		d.call("dq.poll", nil)
	case n < 56 && len(d.values) > 0:
		d.call("dq.remove", map[string]any{"value": d.values[d.IntN(len(d.values))]})
	case n < 62 && d.still:
		d.call("dq.readAll", nil)
	case n < 64 && d.still:
		d.call("dq.size", nil)
	case n < 68 && !d.crowded && !d.still: // due at 0, in one millisecond, or each in its own
		d.seeded(&Seed{Count: 100 + d.IntN(160), Due: int64(d.IntN(2)), Step: int64(d.IntN(2))})
	case n < 71 && d.still && !d.crowded:
		d.seeded(&Seed{Count: 90 + d.IntN(60), Due: farDue, Step: 1})
	case n < 73 && d.still: // a ghost, and its twin
		d.add(&Step{Seed: &Seed{Values: []string{"twin"}, Due: farDue, FirstID: 500, Skip: "timeouts"}})
		d.add(&Step{Seed: &Seed{Values: []string{"twin"}, Due: farDue, FirstID: 500}})
	case n < 77:
		d.add(&Step{Redis: []string{"SCRIPT", "FLUSH"}})
	case n < 79:
		d.add(&Step{Redis: []string{"CLIENT", "KILL", "TYPE", "pubsub"}})
	case n < 86 && !d.still && d.take == "" && d.can("q.take"):
		d.take = fmt.Sprintf("take%d", len(d.steps))
		d.add(&Step{Call: "q.take", Async: d.take})
	case n < 93 && d.take != "":
		d.add(&Step{Cancel: d.take})
		if d.IntN(2) == 0 { // due while the take may still wait
			d.offer("60ms")
		}
		d.add(&Step{Await: d.take})
		d.add(&Step{Wait: &Wait{Unblocked: true, Within: endsWithin}})
		d.take = ""
	case !d.still:
		d.add(&Step{Pause: Duration(time.Duration(1+d.IntN(80)) * time.Millisecond), Because: "drawn"})
	}
}

// whole drops the steps of a shrunk history that refer to a missing one.
func whole(steps []*Step) (kept []*Step) {
	open, given := map[string]bool{}, map[string]bool{}
	for i, s := range steps {
		alone := s.Seed != nil && s.Seed.Due < farDue && (i+1 == len(steps) || steps[i+1].Open == nil)
		if alone || s.Cancel != "" && (!open[s.Cancel] || given[s.Cancel]) || s.Await != "" && !open[s.Await] {
			continue
		}
		open[s.Async], given[s.Cancel] = true, true
		delete(open, s.Await)
		kept = append(kept, s)
	}
	return kept
}

// shrink takes steps out for as long as the rest still fails, in so many tries at most.
func shrink(c *Case, tries int, fails func(*Case) bool) *Case {
	for size := len(c.Steps) / 2; size > 0 && tries > 0; {
		smaller := false
		for from := 0; from < len(c.Steps) && tries > 0; {
			less := historyOf(c.ID, c.history.still, whole(slices.Delete(slices.Clone(c.Steps), from, min(from+size, len(c.Steps)))))
			tries--
			if len(less.Steps) < len(c.Steps) && fails(less) {
				c, smaller = less, true
				continue
			}
			from += size
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return c
}

// Random runs drawn histories with a port until one fails, and shrinks that one. The seeds count from 1.
type Random struct {
	Port, Reference *Runner
	// Seeds is how many histories to run; 0 for as many as the context's time allows.
	Seeds uint64

	late bool // the last history had late reactions, and nothing else
}

// Run returns the shortest failing history in the cases' own format, with what is wrong; "" for none in so many.
func (r *Random) Run(ctx context.Context) (failure string, histories uint64, err error) {
	r.Port.Level = State
	for seed := uint64(1); r.Seeds == 0 || seed <= r.Seeds; seed++ {
		c := draw(seed, r.Port.hello.Can)
		wrong, err := r.try(ctx, c)
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return "", histories, fmt.Errorf("interrupted after %d random histories: no statement broken so far", histories)
		case ctx.Err() != nil:
			return "", histories, nil //nolint:nilerr // the time is over
		case err != nil:
			return "", histories, fmt.Errorf("random history %d: %w", seed, err)
		}
		histories++
		if wrong == "" {
			continue
		}
		for more := map[bool]int{false: 1, true: lateTries}[r.late]; more > 0 && wrong != ""; more-- {
			time.Sleep(rest) // the machine may have paused
			wrong, err = r.try(ctx, draw(seed, r.Port.hello.Can))
		}
		if wrong == "" {
			continue
		}
		late := r.late
		small := shrink(c, 60, func(less *Case) bool {
			found, err := r.try(ctx, less)
			same := err == nil && found != "" && r.late == late
			if same {
				wrong = found
			}
			return same
		})
		return fmt.Sprintf("seed %d, %d of %d steps: %s\n%s", seed, len(small.Steps), len(c.Steps), wrong, small.yaml()), histories, err
	}
	return "", histories, nil
}

// try runs a history and says what is wrong.
func (r *Random) try(ctx context.Context, c *Case) (wrong string, err error) {
	o, err := r.Port.Observe(ctx, c)
	if err != nil {
		return "", err
	}
	wrongly := slices.IndexFunc(o.Broken, func(b trace.Breach) bool { return !b.Late })
	r.late = len(o.Failures) == 0 && wrongly < 0
	if all := append(textsOf(o.Broken[max(wrongly, 0):]), o.Failures...); len(all) > 0 { // what is late may be the machine's
		return all[0], nil
	}
	if c.history.stranded != "" {
		return c.history.stranded, nil
	}
	if !c.history.still {
		return c.history.account(c.Steps, o.Lines), nil
	}
	same := historyOf(c.ID, true, c.Steps)
	if _, err := r.Reference.Observe(ctx, same); err != nil {
		return "", errors.Join(errors.New("the reference failed"), err)
	}
	return c.history.differ(same.history), nil
}

// yaml is a history in the cases' own format.
func (c *Case) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - id: %s\n    requirement: %s\n    source: drawn\n    no-trace: drawn\n    steps:\n", c.ID, c.Requirement)
	for _, s := range c.Steps {
		text, _ := yaml.Marshal(s) // which was drawn
		var fields map[string]any
		_ = yaml.Unmarshal(text, &fields) // its own output
		line, _ := json.Marshal(fields)
		fmt.Fprintf(&b, "      - %s\n", line)
	}
	return b.String()
}
