package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// caseTimeout bounds one case, all its waits included.
const caseTimeout = 90 * time.Second

// Runner runs the cases of a plan against one program on one server.
type Runner struct {
	*Plan
	release wire.Release    // that the program is to behave as
	beside  program.Program // a second implementation, for cases in which two have the queue open; nil for none

	last      *Case  // the latest one
	unseen    string // why the server does not show the program's commands; "" where it does
	inVain    bool   // the last wait was
	warm      bool   // the program has done the warm-up
	impatient bool   // it was started anew

	broken atomic.Pointer[ProgramError] // why the program can be used no more; nil if it can

	server  *redis.Server
	program program.Program
	hello   program.Hello
	control redis.Conn
	setUp   redis.Conn
	senders *senders
	watch   *watch
	clock   serverClock
	stopped error // trace.ErrServerInUse or ErrForbidden once the run must not go on
	ends    []func() error
}

// ErrForbidden says that the user lacks a right that a run needs, so that it neither begins nor goes on.
var ErrForbidden = errors.New("the user lacks a right that a run needs; grant it, or let dq-bench start a server: --redis process")

// connect connects to the server. One that was started for the run is emptied before each case; any other server must be empty and
// unused: see trace.Guest.
func (r *Runner) connect(ctx context.Context) (err error) {
	url := r.server.URL()
	address, err := redis.ParseAddress(url)
	if err != nil || address.Topology != redis.Single {
		return errors.Join(fmt.Errorf("conformance needs one real Redis, redis://host:port: got %s", r.server), err)
	}
	if address.Database != 0 {
		return fmt.Errorf("the cases were recorded in database 0: expected an address without a database, got /%d", address.Database)
	}
	defer func() { err = asForbidden(err) }()
	for _, conn := range []*redis.Conn{&r.control, &r.setUp} {
		if *conn, err = redis.ConnectMany(url, 1); err != nil {
			return err
		}
		r.ends = append(r.ends, (*conn).Close)
	}
	if r.senders, err = newSenders(url); err != nil {
		return err
	}
	r.ends = append(r.ends, func() error { r.senders.proxy.Close(); return nil })
	if r.clock, err = clockOf(ctx, r.server, r.control); err != nil {
		return err
	}
	if r.watch, err = r.startWatch(ctx, url); err != nil {
		return err
	}
	r.ends = append(r.ends, r.watch.close)
	if r.server.How == "external" {
		r.senders.guest = &trace.Guest{
			Conn: r.control, Connections: 3, // control, set-up and MONITOR
			Sync: func(ctx context.Context) error { _, err := r.collect(ctx); return err },
		}
		if r.unseen != "" {
			r.senders.guest.Mine = r.mine
		}
	}
	for conn, who := range map[redis.Conn]string{r.control: control, r.setUp: setUp} {
		if err = conn.Do(ctx, "ECHO", r.senders.mark+who).Err(); err != nil {
			return err
		}
	}
	if r.senders.guest != nil {
		if err = r.senders.guest.Admit(ctx); err == nil {
			r.ends = append(r.ends, r.leave)
		}
	}
	return err
}

// asForbidden makes ErrForbidden of an error that says that the user lacks a right.
func asForbidden(err error) error {
	if err == nil || errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "NOPERM") {
		return err
	}
	return fmt.Errorf("%w: %w", ErrForbidden, err)
}

// Close ends what has begun, the last first.
func (r *Runner) Close() (err error) {
	for _, end := range slices.Backward(r.ends) {
		err = errors.Join(err, end())
	}
	return err
}

// leave removes what the last case left on a server that is not the run's own.
func (r *Runner) leave() error {
	if errors.Is(r.stopped, trace.ErrServerInUse) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*stopTimeout)
	defer cancel()
	return r.empty(ctx)
}

// Observation has all that a case showed.
type Observation struct {
	// Lines are the server's from before the first open to after the last close, the case mark first.
	Lines []trace.Line `json:"-"`
	// Failures are expectations on replies, waits and keys that were not met.
	Failures []string `json:"-"`
	// Broken are the statements that a rule found broken.
	Broken []trace.Breach `json:"-"`

	seen    map[string]int // how often a rule was about a statement
	vain    bool           // something was waited for that did not come
	at      *Step          // that failed; nil for what is judged after the steps
	differs bool           // a key of the case
	strange bool           // a key holds an unexpected element
	hurried bool           // it cancels a call, or a call failed whose answer depends on a message that was due by then
}

// Observe runs one case. An error means that the harness, the server or the program failed: there is no verdict.
func (r *Runner) Observe(ctx context.Context, c *Case) (*Observation, error) {
	if r.stopped != nil {
		return nil, r.stopped
	}
	observed, err := r.observe(ctx, c)
	if r.senders.guest != nil && !errors.Is(err, trace.ErrServerInUse) {
		refused := err
		if observed != nil && len(observed.Failures) > 0 {
			refused = errors.New(strings.Join(observed.Failures, "\n"))
		}
		// A case beside another client, or without a right, gives no verdict.
		if found := r.senders.guest.Disturbed(); found != nil {
			observed, err = nil, errors.Join(found, err)
		} else if refused = asForbidden(refused); errors.Is(refused, ErrForbidden) {
			observed, err = nil, refused
		}
	}
	if errors.Is(err, trace.ErrServerInUse) || errors.Is(err, ErrForbidden) {
		r.stopped = err
	}
	return observed, err
}

func (r *Runner) observe(ctx context.Context, c *Case) (_ *Observation, err error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	if err := r.renew(ctx); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, c); err != nil {
		return nil, fmt.Errorf("preparing the server: %w", err)
	}
	r.last = c
	run := &caseRun{
		Runner: r, c: c, names: c.names(), found: Observation{hurried: slices.ContainsFunc(c.Steps, func(s *Step) bool { return s.Cancel != "" })},
		handles: map[string]handle{}, clients: map[string]string{}, async: map[string]async{},
	}
	o := &run.found
	o.Failures, err = run.steps(ctx)
	switch {
	case err != nil || len(o.Failures) > 0:
	case c.history != nil:
		err = run.finish(ctx)
	default:
		o.Failures, err = run.checkKeys(ctx)
	}
	healthy := time.Now().Add(r.clock.ahead).UnixMicro()
	for _, p := range run.fresh {
		err = errors.Join(err, p.Close())
	}
	if r.failed() == nil {
		ended := run.end(ctx)
		if isProgram(ended) {
			if len(o.Failures) == 0 {
				o.Failures = []string{ended.Error()}
			}
			ended = nil
		}
		err = errors.Join(err, ended)
	}
	if err != nil {
		return nil, err
	}
	if o.Lines, err = r.collect(ctx); err != nil {
		return nil, err
	}
	if len(o.Failures) == 0 && r.Level != State {
		o.Failures = run.checkPublished(o.Lines)
	}
	if hidden := r.senders.unexpected(r.Level); len(o.Failures) == 0 {
		o.Failures = hidden
	}
	if r.unseen != "" { // the rules are about effects of commands
		return o, nil
	}
	timeline := trace.NewTimeline(c.queues()...)
	timeline.Off = (r.clock.off - r.clock.ahead).Milliseconds()
	own := func(peer string) bool { return !r.senders.is(peer, setUp) }
	o.Broken, o.seen = breaches(timeline, o.Lines, own, r.release, healthy), timeline.Seen
	o.Broken = append(o.Broken, offBy(o.Lines, run.offers(), r.clock)...)
	for _, f := range o.Failures {
		if strings.Contains(f, "NOSCRIPT") {
			o.Broken = append(o.Broken, trace.Breach{Statement: "W-SCRIPT-5", Text: f})
		}
	}
	if misnamed := c.misnamed(o.Lines, own); misnamed != nil && len(o.Broken)+len(o.Failures) > 0 {
		o.Broken = misnamed
	}
	return o, nil
}

// prepare empties the server and marks the beginning of the case.
func (r *Runner) prepare(ctx context.Context, c *Case) error {
	if err := r.empty(ctx); err != nil {
		return err
	}
	if err := r.setUp.Do(ctx, "PING").Err(); err != nil {
		return err
	}
	if _, err := r.collect(ctx); err != nil {
		return err
	}
	return r.control.Do(ctx, "ECHO", "case:"+c.ID).Err()
}

// empty removes all keys, on a shared server only the keys of the run, and all scripts.
func (r *Runner) empty(ctx context.Context) error {
	if err := r.alone(ctx); err != nil {
		return err
	}
	defer r.senders.forget()
	var err error
	if r.senders.guest != nil {
		err = r.senders.guest.Remove(ctx)
	} else {
		err = r.control.Do(ctx, "FLUSHALL").Err()
	}
	if err != nil {
		return err
	}
	err = r.control.Do(ctx, "SCRIPT", "FLUSH").Err()
	if r.unseen != "" && errors.As(err, new(redis.Error)) {
		return nil // scripts that stay make no difference to replies and keys
	}
	return err
}

// collect returns all lines up to now.
func (r *Runner) collect(ctx context.Context) ([]trace.Line, error) {
	if r.unseen != "" {
		return r.watch.take(), nil
	}
	marker := fmt.Sprintf("dq-bench:%d", time.Now().UnixNano())
	if err := r.control.Do(ctx, "ECHO", marker).Err(); err != nil {
		return nil, err
	}
	end := func(lines []trace.Line) int {
		return slices.IndexFunc(lines, func(l trace.Line) bool { return len(l.Args) == 2 && l.Args[1] == marker })
	}
	if err := r.watch.until(ctx, "the end mark", func(lines []trace.Line) bool { return end(lines) >= 0 }); err != nil {
		return nil, &faultError{err}
	}
	lines := r.watch.take()
	return lines[:end(lines)], nil
}

// alone waits until no connection of the program is left.
func (r *Runner) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("timed out after %s", stopTimeout))
	defer cancel()
	if proxy := r.senders.proxy; proxy.Until(ctx, func() bool { return proxy.Open() == 0 }) != nil { // its text has commands, AUTH among them
		return fmt.Errorf("the program keeps %s after close: %w", text.Plural(int64(proxy.Open()), "connection"), context.Cause(ctx))
	}
	return nil
}
