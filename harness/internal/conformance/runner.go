package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// caseTimeout bounds one case, all its waits included.
const caseTimeout = 90 * time.Second

// Runner runs cases against one program on one server.
type Runner struct {
	// Release is the Redisson release that the program is to behave as.
	Release wire.Release
	// Level is how like Redisson it must be; empty for Wire.
	Level Level
	// Baseline are cases that it is known to fail; nil for none.
	Baseline Baseline
	// Notice is what people should know of the server; empty for nothing.
	Notice string
	// Restart starts the program anew after it has ended or does not answer; nil where that
	// is not done.
	Restart func(context.Context) (program.Program, error)

	home string // a queue that the server has, of a node of a cluster; "" for any

	inVain bool // the last wait was
	vain   int  // how many were
	warm   bool // the program has once done what the warm-up asks for

	mu        sync.Mutex
	broken    *ProgramError // why the program can be used no more
	impatient bool          // it was started anew
	renewed   bool          // and has been before
	first     time.Duration // is how long a call may take that has to warm the program up; 0 for firstTimeout
	wait      time.Duration // is how long a wait may take that names no time; 0 for waitTimeout

	program program.Program
	hello   program.Hello
	url     string     // for the program
	control redis.Conn // polls, marks and empties; never part of a case
	setUp   redis.Conn // sends the cases' own commands
	setUpBy string     // as the peer that MONITOR shows
	watch   *watch
	clock   serverClock
	hidden  *hidden // nil for a server that was not started for the run
	around  surroundings
	shared  *shared // nil for a server that was started for the run
	stopped error
}

// ErrServerInUse says that somebody else uses the server, so that a run neither
// begins nor goes on.
var ErrServerInUse = guest.ErrInUse

// ErrForbidden says that the user lacks a right that a run needs, so that it neither
// begins nor goes on.
var ErrForbidden = guest.ErrForbidden

// NewRunner prepares a run. A server that was started for it is emptied before each
// case; it may be a master with its replicas and sentinels, or the node of a Cluster that the cases'
// keys belong to, and cases that a Cluster refuses are left out. On any other one a run deletes only what it has made, and stops with
// ErrServerInUse when it finds keys, clients or cached scripts that are not its
// own, here or later, and with ErrForbidden when it is refused what it needs.
func NewRunner(ctx context.Context, srv *redis.Server, program program.Program, release wire.Release) (_ *Runner, err error) {
	if srv.Cluster() || srv.Embedded() {
		return nil, fmt.Errorf("conformance needs a single real Redis, not a whole cluster or an imitation: got %s", srv)
	}
	address, err := redis.ParseAddress(srv.URL())
	if err != nil {
		return nil, fmt.Errorf("conformance needs a single real Redis, redis://host:port: got %s: %w", srv, err)
	}
	if address.Database != 0 && srv.How == "external" {
		return nil, fmt.Errorf("the cases were recorded in database 0: expected an address without a database, got /%d", address.Database)
	}
	r := &Runner{
		Release: release, program: program, hello: program.Introduction(), url: srv.URL(),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.disconnect())
		}
	}()
	if r.control, err = redis.ConnectOnce(srv.URL()); err != nil {
		return nil, err
	}
	if r.setUp, err = redis.ConnectOnce(srv.URL()); err != nil {
		return nil, err
	}
	if why := monitor.Unreadable(srv.Product, srv.Version); why != "" {
		return nil, fmt.Errorf("conformance needs to read what the server saw: %s", why)
	}
	if r.clock, err = clockOf(ctx, srv, r.control); err != nil {
		return nil, err
	}
	if srv.How == "external" {
		if err = r.share(ctx, srv.URL()); err != nil {
			return nil, err
		}
		return r, nil
	}
	if r.around, err = surroundingsOf(ctx, r.control, address.Database); err != nil {
		return nil, err
	}
	if r.hidden, err = hiddenBy(ctx, r.control); err != nil {
		return nil, err
	}
	r.around.hide(r.hidden)
	cases, err := infoOf(ctx, guest.On(r.setUp))
	if err != nil {
		return nil, err
	}
	r.setUpBy = cases.Addr
	own, err := infoOf(ctx, guest.On(r.control))
	if err != nil {
		return nil, err
	}
	if r.watch, err = startWatch(ctx, srv.URL(), r.around.keep(own.Addr), r.around.shown); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Runner) level() Level { return cmp.Or(r.Level, Wire) }

// Stopped is ErrServerInUse or ErrForbidden once the run must not go on, else nil.
func (r *Runner) Stopped() error { return r.stopped }

// Close ends the connections; server and program stay. What the last case left on a
// server that is not the run's own is removed.
func (r *Runner) Close() error {
	var left error
	if r.shared != nil && !r.leaves() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*stopTimeout)
		defer cancel()
		if left = r.shared.sweep(ctx); left == nil {
			left = r.control.Do(ctx, "SCRIPT", "FLUSH").Err()
		}
	}
	return errors.Join(left, r.disconnect())
}

// leaves reports whether the run has stopped for a reason for which it deletes nothing any
// more.
func (r *Runner) leaves() bool {
	var forbidden *guest.ForbiddenError
	return errors.Is(r.stopped, ErrServerInUse) || errors.As(r.stopped, &forbidden) && len(forbidden.Left) > 0
}

func (r *Runner) disconnect() error {
	var errs []error
	if r.watch != nil {
		errs = append(errs, r.watch.close())
	}
	if r.shared != nil {
		errs = append(errs, r.shared.close())
	}
	return errors.Join(append(errs, r.control.Close(), r.setUp.Close())...)
}

// Observation is what was seen of one case.
type Observation struct {
	// Lines are what the server saw from before the first open to after the last
	// close.
	Lines []monitor.Line
	// Failures are expectations on replies, waits and keys that were not met.
	Failures []string

	vain bool // one of them is a wait in vain
}

// Observe runs one case. An error means that the harness, the server or the
// program failed, so that nothing is known about the behaviour.
func (r *Runner) Observe(ctx context.Context, c *Case) (*Observation, error) {
	if r.stopped != nil {
		return nil, r.stopped
	}
	observed, err := r.observe(ctx, c)
	if r.shared != nil && !errors.Is(err, ErrServerInUse) && !errors.Is(err, ErrForbidden) {
		// What a case shows beside somebody else is no verdict, nor without a right.
		if found := r.shared.check(context.WithoutCancel(ctx)); found != nil {
			observed, err = nil, errors.Join(found, err)
		}
		if refused := refusal(observed, err); refused != "" && !errors.Is(err, ErrServerInUse) {
			observed, err = nil, r.shared.forbidden(refused, nil)
		}
	}
	if errors.Is(err, ErrServerInUse) || errors.Is(err, ErrForbidden) {
		r.stopped = err
	}
	return observed, err
}

// refusal returns what says, of all that a case has shown, that the user lacks a right.
func refusal(o *Observation, err error) string {
	var seen []string
	if err != nil {
		seen = append(seen, err.Error())
	}
	if o != nil {
		seen = append(seen, o.Failures...)
	}
	if i := slices.IndexFunc(seen, guest.MissingRight); i >= 0 {
		return seen[i]
	}
	return ""
}

func (r *Runner) observe(ctx context.Context, c *Case) (*Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	if err := r.renew(ctx); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, c); err != nil {
		return nil, fmt.Errorf("preparing the server: %w", err)
	}
	before, err := r.hiddenCalls(ctx)
	if err != nil {
		return nil, err
	}
	run, vain := newCaseRun(r, c), r.vain
	failures, err := run.steps(ctx)
	if err == nil && len(failures) == 0 {
		failures, err = run.checkKeys(ctx)
	}
	if r.failed() == nil {
		ended := run.end(ctx)
		if isProgram(ended) {
			if len(failures) == 0 {
				failures = []string{ended.Error()}
			}
			ended = nil
		}
		err = errors.Join(err, ended)
	}
	if err != nil {
		return nil, err
	}
	lines, err := r.collect(ctx)
	if err != nil {
		return nil, err
	}
	if len(failures) == 0 && r.level() != State {
		failures = run.checkPublished(lines)
	}
	after, err := r.hiddenCalls(ctx)
	if err != nil {
		return nil, err
	}
	if len(failures) == 0 {
		failures = unexpected(before, after, r.level())
	}
	if len(failures) == 0 {
		failures = checkTimes(lines, run.offers(), r.clock)
	}
	return &Observation{Lines: lines, Failures: failures, vain: r.vain > vain}, nil
}

// hiddenCalls are those of the commands that MONITOR does not show; none on a server that
// the run shares.
func (r *Runner) hiddenCalls(ctx context.Context) (map[string]int64, error) {
	if r.hidden == nil {
		return nil, nil
	}
	return r.hidden.calls(ctx, r.control)
}

// prepare empties the server and marks the beginning of the case.
func (r *Runner) prepare(ctx context.Context, c *Case) error {
	if err := r.empty(ctx); err != nil {
		return err
	}
	if err := errors.Join(
		r.control.Do(ctx, "SCRIPT", "FLUSH").Err(),
		r.setUp.Do(ctx, "PING").Err(),
	); err != nil {
		return err
	}
	if _, err := r.collect(ctx); err != nil {
		return err
	}
	return r.control.Do(ctx, "ECHO", "case:"+c.ID).Err()
}

// empty removes all keys, of a server that is not the run's own those of the run.
func (r *Runner) empty(ctx context.Context) error {
	if r.shared != nil {
		return r.shared.sweep(ctx)
	}
	if err := r.alone(ctx); err != nil {
		return err
	}
	return r.control.Do(ctx, "FLUSHALL").Err()
}

// collect returns all lines up to now.
func (r *Runner) collect(ctx context.Context) ([]monitor.Line, error) {
	marker := fmt.Sprintf("dq-bench:%d", time.Now().UnixNano())
	if err := r.control.Do(ctx, "ECHO", marker).Err(); err != nil {
		return nil, err
	}
	is := func(l monitor.Line) bool { return len(l.Args) == 2 && l.Args[1] == marker }
	err := r.watch.until(ctx, "the end mark", func(lines []monitor.Line) bool {
		return len(lines) > 0 && is(lines[len(lines)-1]) || count(lines, is) > 0
	})
	if err != nil {
		return nil, &faultError{err}
	}
	lines := r.watch.take()
	for i, l := range lines {
		if is(l) {
			return lines[:i], nil
		}
	}
	return lines, nil
}

// alone waits until no connection of a program is left.
func (r *Runner) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if r.shared != nil {
		return r.shared.relay.WaitIdle(ctx)
	}
	const harness = 3 // control, set-up, MONITOR
	return poll(ctx, "the program's connections to end", func() (bool, error) {
		r.hidden.mine("CLIENT", "LIST")
		list, err := r.control.Do(ctx, "CLIENT", "LIST").Text()
		return r.around.later(list) <= harness, err
	})
}

// poll asks again and again until ok, on the harness's own connection.
func poll(ctx context.Context, what string, ok func() (bool, error)) error {
	const pace = 2 * time.Millisecond
	began := time.Now()
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		met, err := ok()
		switch {
		case err != nil && ctx.Err() == nil:
			return &faultError{err}
		case err == nil && met:
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return &waitError{what: what, waited: time.Since(began), err: ctx.Err()}
		}
	}
}
