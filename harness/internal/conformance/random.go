package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// A random history is a drawn Case. What it does to a port is judged by the rules and by one of two more: where nothing
// comes due in it, by the same history with the reference, dq as Redisson does it, on another server; else by a ledger:
// each message that was offered is in one place.

// history is the outcome of a drawn case.
type history struct {
	still    bool     // nothing comes due in it
	answers  []string // of calls and awaits, in order
	left     []string // "key elements"
	timeouts []string // "value in 1h0m0s"
	stranded string   // what a client should have moved
	given    []int64  // instants of given-up takes, by the server's clock in µs: each may have lost a value
}

// settle is how long after its last message is due a history may take.
const settle = 2 * time.Second

// A value pushed so many µs before or after the end of its take may be on its way, and lost.
const beforeCancel, afterCancel = 1_000_000, 5_000

// endsWithin is how long the server may keep a cancelled take. Later values are lost to the take.
const endsWithin = Duration(300 * time.Millisecond)

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
		Section: &Section{Name: "random", File: "random"}, Steps: steps, history: &history{still: still},
	}
	if err := c.resolveReleases(); err != nil {
		panic("conformance: a drawn case has no releases to read: " + err.Error())
	}
	return c
}

func (d *drawing) call(op string, with map[string]any) {
	if d.can(op) {
		d.steps = append(d.steps, &Step{Call: op, With: with})
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
	v := fmt.Sprintf("v%02d", len(d.values)+1)
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
	d.steps = append(d.steps, &Step{Seed: s})
	if !d.still {
		d.steps = append(d.steps, &Step{Open: &Open{As: "again", Client: "again", Unattended: true}})
	}
}

func (d *drawing) step() {
	add := func(s *Step) { d.steps = append(d.steps, s) }
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
		add(&Step{Seed: &Seed{Values: []string{"twin"}, Due: farDue, FirstID: 500, Skip: "timeouts"}})
		add(&Step{Seed: &Seed{Values: []string{"twin"}, Due: farDue, FirstID: 500}})
	case n < 77:
		add(&Step{Redis: []string{"SCRIPT", "FLUSH"}})
	case n < 79:
		add(&Step{Redis: []string{"CLIENT", "KILL", "TYPE", "pubsub"}})
	case n < 86 && !d.still && d.take == "" && d.can("q.take"):
		d.take = fmt.Sprintf("take%d", len(d.steps))
		add(&Step{Call: "q.take", Async: d.take})
	case n < 93 && d.take != "":
		add(&Step{Cancel: d.take})
		if d.IntN(2) == 0 { // due while the take may still wait
			d.offer("60ms")
		}
		add(&Step{Await: d.take})
		add(&Step{Wait: &Wait{Unblocked: true, Within: endsWithin}})
		d.take = ""
	case !d.still:
		add(&Step{Pause: Duration(time.Duration(1+d.IntN(80)) * time.Millisecond), Because: "drawn"})
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

// finish waits until due messages were moved, gives takes up, and notes the remaining values.
func (r *caseRun) finish(ctx context.Context) error {
	h := r.c.history
	due := func(to time.Time) (n int64, err error) {
		return r.control.Do(ctx, "ZCOUNT", r.names.TimeoutSet, "0", strconv.FormatInt(to.UnixMilli(), 10)).Int64()
	}
	patience := settle
	if slices.ContainsFunc(r.c.Steps, func(s *Step) bool { return slices.Equal(s.Redis, []string{"SCRIPT", "FLUSH"}) }) {
		patience += trace.Retry
	}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		coming, err1 := due(time.Now().Add(time.Minute))
		overdue, err2 := due(time.Now().Add(-settle / 2))
		if err := errors.Join(err1, err2); err != nil {
			return &faultError{err}
		}
		if coming == 0 || time.Since(began) > patience {
			if overdue > 0 {
				h.stranded = fmt.Sprintf("W-TIMER-1: %d members have been due for a while, and no client moves them", overdue)
			}
			break
		}
	}
	given := len(r.async) > 0
	for name, under := range r.async {
		r.givesUp()
		under.cancel()
		if a := <-under.done; a.err == nil {
			h.answers = append(h.answers, "late "+string(a.result))
		}
		delete(r.async, name)
	}
	if given {
		if err := r.wait(ctx, &Wait{Unblocked: true, Within: endsWithin}); err != nil {
			return err
		}
		if err := r.setUp.Do(ctx, "RPUSH", r.names.Destination, probe).Err(); err != nil {
			return &faultError{err}
		}
		time.Sleep(settle / 50) // a take that still waits has the value by then
	}
	for _, key := range []string{r.names.Destination, r.names.Pending} {
		got, err := r.content(ctx, key)
		if err != nil {
			return &faultError{err}
		}
		if given && key == r.names.Destination && !slices.Contains(got, probe) {
			h.stranded = "W-BLOCK-2: a take that was given up took a later value"
		}
		h.left = append(h.left, key+" "+strings.Join(got, " "))
	}
	members, err := r.control.Do(ctx, "ZRANGE", r.names.TimeoutSet, 0, -1, "WITHSCORES").StringSlice()
	if err != nil {
		return &faultError{err}
	}
	for i := 0; i+1 < len(members); i += 2 {
		in := time.Duration(0)
		if at, _ := strconv.ParseFloat(members[i+1], 64); at < farDue {
			in = time.Until(time.UnixMilli(int64(at))).Round(10 * time.Minute)
		}
		h.timeouts = append(h.timeouts, fmt.Sprintf("%s in %s", r.element(members[i], true), in))
	}
	slices.Sort(h.timeouts)
	return nil
}

// probe is a value that shows who still waits.
const probe = "probe"

// givesUp notes that a take is given up now.
func (r *caseRun) givesUp() {
	if h := r.c.history; h != nil {
		h.given = append(h.given, time.Now().Add(r.clock.ahead).UnixMicro())
	}
}

// noteAnswer keeps what a step of a history was answered.
func (r *caseRun) noteAnswer(a answer) {
	if h := r.c.history; h != nil {
		text := string(a.result)
		if a.err != nil {
			text = "error"
		}
		h.answers = append(h.answers, text)
	}
}

// differ says where two histories of the same steps differ, in the order of a reader's interest.
func (h *history) differ(from *history) string {
	for i, want := range from.answers {
		if i < len(h.answers) && !sameJSON(want, h.answers[i]) {
			return fmt.Sprintf("answer %d: Redisson's is %.200s, this one's %.200s", i+1, want, h.answers[i])
		}
	}
	if !slices.Equal(h.timeouts, from.timeouts) {
		return fmt.Sprintf("the timeout set holds %.300q, with Redisson %.300q", h.timeouts, from.timeouts)
	}
	if !slices.Equal(h.left, from.left) {
		return fmt.Sprintf("it leaves %.300q, Redisson %.300q", h.left, from.left)
	}
	return ""
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return equalResults(x, y) || equalResults(y, x)
}

// account holds the offered messages against their places.
func (h *history) account(steps []*Step, lines []monitor.Line) string {
	places, owed, unsure := map[string]int{}, map[string]int{}, map[string]bool{}
	got := func(answer string) {
		var typed struct{ V any }
		if json.Unmarshal([]byte(strings.TrimPrefix(answer, "late ")), &typed) == nil && typed.V != nil {
			places[fmt.Sprint(typed.V)]++
		}
	}
	lost := func(v string) bool {
		i := slices.IndexFunc(h.given, func(at int64) bool {
			return slices.ContainsFunc(lines, func(l monitor.Line) bool {
				return strings.HasPrefix(l.Name(), "rpush") && slices.Contains(l.Args[1:], v) && at-beforeCancel < l.Time && l.Time < at+afterCancel
			})
		})
		if i >= 0 {
			h.given = slices.Delete(h.given, i, i+1)
		}
		return i >= 0
	}
	for _, part := range h.left {
		for _, v := range strings.Fields(part)[1:] {
			places[v]++
		}
	}
	answers := h.answers
	for _, s := range steps {
		if s.Seed != nil {
			for n := range s.Seed.Count {
				owed[fmt.Sprintf("v%03d", n+1)]++
			}
		}
		if s.Call == "" && s.Await == "" || s.Async != "" || len(answers) == 0 {
			continue
		}
		answer, v := answers[0], fmt.Sprint(s.With["value"])
		answers = answers[1:]
		switch {
		case s.Call == "dq.offer":
			owed[v]++
			unsure[v] = unsure[v] || answer == "error"
		case s.Call == "dq.remove" && answer == "true":
			places[v]++
		case s.Await != "" || strings.HasSuffix(s.Call, ".poll"):
			got(answer)
		}
	}
	for _, late := range answers {
		got(late)
	}
	for v, n := range owed {
		for places[v] < n && lost(v) {
			n--
		}
		switch {
		case unsure[v]:
		case places[v] < n:
			return fmt.Sprintf("W-BLOCK-2: %s was offered and is nowhere", v)
		case places[v] > n:
			return fmt.Sprintf("W-TIMER-6: %s is in %d places", v, places[v])
		}
	}
	return ""
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
		more := 1 // the machine may have paused
		if r.late {
			more = lateTries
		}
		for ; more > 0 && wrong != ""; more-- {
			wrong, err = r.try(ctx, draw(seed, r.Port.hello.Can))
		}
		if wrong == "" {
			continue
		}
		const tries = 60
		small := shrink(c, tries, func(less *Case) bool {
			found, err := r.try(ctx, less)
			if err != nil || found == "" {
				return false
			}
			wrong = found
			return true
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
	r.late = len(o.Failures) == 0 && !slices.ContainsFunc(o.Broken, func(b trace.Breach) bool { return !b.Late })
	if all := append(textsOf(o.Broken), o.Failures...); len(all) > 0 {
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
		text, err := yaml.Marshal(s)
		if err != nil {
			return err.Error()
		}
		var fields map[string]any
		_ = yaml.Unmarshal(text, &fields) // its own output
		line, _ := json.Marshal(fields)
		fmt.Fprintf(&b, "      - %s\n", line)
	}
	return b.String()
}
