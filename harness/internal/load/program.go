package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	// programTimeout bounds the start of a program, the first build included.
	programTimeout = 10 * time.Minute
	// silenceLimit is how long a program may take to answer anything but a phase.
	silenceLimit = 30 * time.Second
)

// remote is a part in a program that has the ops load.* of PROTOCOL.md.
type remote struct {
	process *program.Process
	part    plan.Part
	handle  string
	redis   *Redis // nil if the driver needs none
	name    string // of the connections of the part
	answers map[plan.Phase]chan answered

	// ledger is the file of a part that is to be killed.
	ledger string
	start  time.Time // of the measured phase
	killed atomic.Bool
	mu     sync.Mutex
	last   counts // that were told of the measured phase
}

type answered struct {
	result json.RawMessage
	err    error
	told   toldSoFar
}

// openRemote opens a part in a program. beside may be nil, and ledger empty.
func openRemote(ctx context.Context, p *program.Process, redisURL string, beside *Redis, what plan.Part, ledger string) (*remote, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	codec := "string"
	if !slices.Contains(p.Hello.Codecs, codec) {
		codec = "bytes"
	}
	encoded, err := json.Marshal(what)
	if err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	client := fmt.Sprintf("dq-bench-%08x-%d-%d", what.RunID, what.Role.Member, what.Role.Worker.Number)
	texts := map[string]string{"redis": redisURL, "codec": codec, "client_name": client}
	if ledger != "" {
		texts["ledger"] = ledger
	}
	for name, text := range texts {
		if fields[name], err = json.Marshal(text); err != nil {
			return nil, err
		}
	}
	r := &remote{process: p, part: what, redis: beside, name: client, ledger: ledger, answers: map[plan.Phase]chan answered{}}
	result, err := p.Call(opening, "load.open", fields)
	var opened struct {
		Handle string `json:"handle"`
	}
	if err == nil {
		if err = json.Unmarshal(result, &opened); err == nil && opened.Handle == "" {
			err = fmt.Errorf(`expected a "handle" in answer to load.open, got %.120s`, result)
		}
	}
	if errors.Is(err, program.ErrUnsupported) {
		return nil, &driver.CapabilityError{Driver: p.Identity(), Need: "run this plan (" + err.Error() + ")"}
	}
	if err != nil {
		return nil, fmt.Errorf("open driver %s: %w", p.Identity(), err)
	}
	r.handle = opened.Handle
	return r, nil
}

// called are the arguments of an op on a phase.
func (r *remote) called(phase plan.Phase) map[string]any {
	return map[string]any{"handle": r.handle, "phase": string(phase)}
}

// ask calls an op that is answered at once.
func (r *remote) ask(ctx context.Context, op string, arguments any) (json.RawMessage, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), silenceLimit)
	defer cancel()
	result, err := r.process.Call(asking, op, arguments)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s was not answered within %s", op, silenceLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", r.process.Identity(), err)
	}
	return result, nil
}

func (r *remote) begin(ctx context.Context, phase plan.Phase, at time.Time, told func(second)) error {
	if ctx.Err() != nil { // interrupted before it began
		if err := r.stop(ctx, phase, false); err != nil {
			return err
		}
	}
	arguments := r.called(phase)
	arguments["at"] = fmt.Sprint(at.UnixNano())
	answers := make(chan answered, 1)
	r.answers[phase] = answers
	if phase == plan.Measured {
		r.start = at
	}
	var mu sync.Mutex
	var all toldSoFar
	go func() {
		result, err := r.process.CallEvents(context.WithoutCancel(ctx), "load.run", arguments, func(e program.Event) {
			var s second
			if e.Name != "progress" || json.Unmarshal(e.Line, &s) != nil {
				return
			}
			mu.Lock()
			all = all.add(s)
			mu.Unlock()
			told(s)
		})
		mu.Lock()
		defer mu.Unlock()
		answers <- answered{result, err, all}
	}()
	return nil
}

func (r *remote) stop(ctx context.Context, phase plan.Phase, _ bool) error {
	_, err := r.ask(ctx, "load.stop", r.called(phase))
	if r.killed.Load() {
		return nil
	}
	return err
}

func (r *remote) counts(ctx context.Context, phase plan.Phase) (counts, error) {
	var c counts
	result, err := r.ask(ctx, "load.counts", r.called(phase))
	if r.killed.Load() {
		return r.lastCounts(), nil
	}
	if err == nil {
		err = json.Unmarshal(result, &c)
	}
	if err == nil && phase == plan.Measured {
		r.mu.Lock()
		r.last = c
		r.mu.Unlock()
	}
	return c, err
}

// lastCounts are those of the measured phase that the program told last.
func (r *remote) lastCounts() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *remote) end(ctx context.Context, phase plan.Phase) (*outcome, error) {
	if _, err := r.ask(ctx, "load.end", r.called(phase)); err != nil {
		return nil, err
	}
	limit := time.NewTimer(silenceLimit)
	defer limit.Stop()
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	// A take that is cancelled loses the value it meets; one that is unblocked does not.
	unblocks := phase == plan.Measured && r.redis != nil
	for {
		select {
		case a := <-r.answers[phase]:
			if a.err != nil {
				return nil, fmt.Errorf("driver %s: %w", r.process.Identity(), a.err)
			}
			o, err := r.read(a, r.part.Plan.Phase(phase).Schedule.Messages())
			if err != nil {
				return nil, fmt.Errorf("driver %s: answer to load.run: %w", r.process.Identity(), err)
			}
			return o, nil
		case <-tick.C:
			// A server that cannot, or a user that may not: the program cancels its takes.
			unblocks = unblocks && r.redis.unblock(context.WithoutCancel(ctx), r.name) == nil
		case <-limit.C:
			return nil, fmt.Errorf("driver %s: load.run was not answered within %s of load.end", r.process.Identity(), silenceLimit)
		}
	}
}

// read checks an answer: figures that contradict each other are refused.
func (r *remote) read(a answered, messages int64) (*outcome, error) {
	var in answer
	if err := json.Unmarshal(a.result, &in); err != nil {
		return nil, err
	}
	h, c := in.Histograms, in.Counts
	switch {
	case h.Lateness == nil || h.PastDue == nil || h.OfferRTT == nil || h.ResponseTime == nil || h.ScheduleLag == nil:
		return nil, errors.New("expected the histograms lateness, past_due, offer_rtt, response_time and schedule_lag")
	case h.Lateness.Count() != c.Delivered || h.PastDue.Count() != c.Delivered:
		return nil, fmt.Errorf("%d messages delivered, but %d values of lateness and %d of past_due", c.Delivered, h.Lateness.Count(), h.PastDue.Count())
	case c.Confirmed+c.Failed > c.Attempted:
		return nil, fmt.Errorf("%d offers confirmed and %d failed of %d attempted", c.Confirmed, c.Failed, c.Attempted)
	case int64(len(in.Latest)) > c.Delivered:
		return nil, fmt.Errorf("%d messages delivered, but %d that came latest", c.Delivered, len(in.Latest))
	}
	o := &outcome{counts: c, histograms: h, errs: in.Errors, notes: in.Notes, latest: decode(in.Latest), tool: in.Tool, process: r.process}
	for _, s := range in.Seconds {
		if s.End > a.told.end {
			o.seconds = append(o.seconds, s)
		}
	}
	for _, set := range []struct {
		from run.MessageSet
		into *[]byte
		want int64
	}{
		{in.Messages.Confirmed, &o.sets.Confirmed, c.Confirmed}, {in.Messages.Delivered, &o.sets.Delivered, c.Delivered},
		{in.Messages.Removed, &o.sets.Removed, -1},
	} {
		bitmap, err := set.from.Bitmap(messages)
		if err != nil {
			return nil, err
		}
		if got := run.Ones(bitmap); set.want >= 0 && got != set.want {
			return nil, fmt.Errorf("a set holds %d messages, the counts say %d", got, set.want)
		}
		*set.into = bitmap
	}
	return o, nil
}

// holding asks the program what it holds, if it can tell.
func (r *remote) holding() holding {
	if !r.process.Hello.Can("load(held)") {
		return nil
	}
	return remoteHolding{r}
}

type remoteHolding struct{ *remote }

// heldAnswer is the result of load.held.
type heldAnswer struct {
	Held     int64          `json:"held"`
	Messages run.MessageSet `json:"messages"`
	NotDue   run.MessageSet `json:"not_due"`
}

func (h remoteHolding) look(ctx context.Context, phase plan.Phase) (heldAnswer, error) {
	var a heldAnswer
	result, err := h.ask(ctx, "load.held", h.called(phase))
	if err == nil {
		err = json.Unmarshal(result, &a)
	}
	return a, err
}

func (h remoteHolding) held(ctx context.Context) (int64, error) {
	a, err := h.look(ctx, plan.Measured)
	return a.Held, err
}

func (h remoteHolding) sets(ctx context.Context, phase plan.Phase) (held, notDue []byte, err error) {
	a, err := h.look(ctx, phase)
	if err != nil {
		return nil, nil, err
	}
	n := h.part.Plan.Phase(phase).Schedule.Messages()
	held, err = a.Messages.Bitmap(n)
	if err == nil {
		notDue, err = a.NotDue.Bitmap(n)
	}
	return held, notDue, err
}

func (r *remote) close() error {
	_, err := r.ask(context.Background(), "load.close", map[string]any{"handle": r.handle})
	return err
}

// missing names what a program lacks to run a plan by itself; empty if nothing.
func missing(p *program.Process, of plan.Plan) string {
	if !p.Hello.Can(program.LoadOp) {
		return "run a plan by itself (load)"
	}
	for _, feature := range of.Features() {
		if op := program.LoadOp + "(" + feature + ")"; !p.Hello.Can(op) {
			return op
		}
	}
	return ""
}

// programs are those that a run has started, by what they are: members of the same
// implementation share one, in which each has a client of its own.
type programs map[string]*program.Process

func (all programs) start(ctx context.Context, s program.Spec, notice func(string)) (*program.Process, error) {
	if p := all[s.String()]; p != nil {
		return p, nil
	}
	p, err := s.StartProcess(ctx, notice, nil)
	if err == nil {
		all[s.String()] = p
	}
	return p, err
}

// close ends them. What they measured stands, however they end.
func (all programs) close() (problems []error) {
	for _, p := range all {
		if err := p.Close(); err != nil {
			problems = append(problems, fmt.Errorf("the program did not end well, after it had given its result: %w", err))
		}
	}
	return problems
}
