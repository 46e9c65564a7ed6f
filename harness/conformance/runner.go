package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/monitor"
	"github.com/dq-bench/dq-bench/harness/server"
)

// caseTimeout bounds one case, all its waits included.
const caseTimeout = 90 * time.Second

// Runner runs cases against one program on one server.
type Runner struct {
	// Release is the Redisson release that the program is to behave as.
	Release wire.Release

	program driver.Program
	hello   driver.Hello
	url     string
	control *redis.Client // polls, marks and empties; never part of a case
	setUp   *redis.Client // sends the cases' own commands
	watch   *watch
}

// ErrServerInUse says that a server holds keys, which a run would delete.
var ErrServerInUse = errors.New("the server holds keys, and every case begins with FLUSHALL: " +
	"name an empty server, or let dq-bench start one")

// NewRunner prepares a run. The server is emptied before each case: one that was
// not started for the run must hold no keys, else ErrServerInUse.
func NewRunner(ctx context.Context, srv *server.Server, program driver.Program, release wire.Release) (_ *Runner, err error) {
	if srv.Cluster() || srv.Embedded() {
		return nil, fmt.Errorf("conformance needs one real Redis, not %s", srv)
	}
	options, err := redis.ParseURL(srv.URL())
	if err != nil {
		return nil, err
	}
	r := &Runner{
		Release: release, program: program, hello: program.Introduction(), url: srv.URL(),
		control: singleConnection(options), setUp: singleConnection(options),
	}
	defer func() {
		if err != nil {
			r.control.Close()
			r.setUp.Close()
		}
	}()
	if srv.How == "external" {
		keys, err := r.keyCount(ctx)
		if err != nil {
			return nil, err
		}
		if keys > 0 {
			return nil, fmt.Errorf("%s: %w", srv.Addr, ErrServerInUse)
		}
	}
	own, err := peerOf(ctx, r.control)
	if err != nil {
		return nil, err
	}
	if r.watch, err = startWatch(ctx, srv.URL(), own); err != nil {
		return nil, err
	}
	return r, nil
}

// singleConnection returns a client whose connection never changes, so that its
// commands can be told apart in MONITOR.
func singleConnection(options *redis.Options) *redis.Client {
	o := *options
	o.PoolSize, o.MinIdleConns, o.ConnMaxIdleTime, o.MaxRetries = 1, 0, -1, -1
	o.DisableIdentity, o.Protocol = true, 2
	return redis.NewClient(&o)
}

// peerOf returns a client's address as MONITOR shows it.
func peerOf(ctx context.Context, client *redis.Client) (string, error) {
	info, err := client.ClientInfo(ctx).Result()
	if err != nil {
		return "", fmt.Errorf("asking the server for the address of a connection: %w", err)
	}
	return info.Addr, nil
}

// keyCount counts the keys of all databases.
func (r *Runner) keyCount(ctx context.Context) (int, error) {
	info, err := r.control.Info(ctx, "keyspace").Result()
	if err != nil {
		return 0, err
	}
	return strings.Count(info, "keys="), nil
}

// Close ends the connections; server and program stay.
func (r *Runner) Close() error {
	return errors.Join(r.watch.close(), r.control.Close(), r.setUp.Close())
}

// Observation is what was seen of one case.
type Observation struct {
	// Lines are what the server saw from before the first open to after the last
	// close.
	Lines []monitor.Line
	// Failures are expectations on replies, waits and keys that were not met.
	Failures []string
}

// Observe runs one case. An error means that the harness, the server or the
// program failed, so that nothing is known about the behaviour.
func (r *Runner) Observe(ctx context.Context, c *Case) (*Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	if err := r.prepare(ctx, c); err != nil {
		return nil, fmt.Errorf("preparing the server: %w", err)
	}
	run := newCaseRun(r, c)
	failures, err := run.steps(ctx)
	if err == nil && len(failures) == 0 {
		failures, err = run.checkKeys(ctx)
	}
	err = errors.Join(err, run.end(ctx))
	if err != nil {
		return nil, err
	}
	lines, err := r.collect(ctx)
	if err != nil {
		return nil, err
	}
	if len(failures) == 0 {
		failures = run.checkPublished(lines)
	}
	return &Observation{Lines: lines, Failures: failures}, nil
}

// prepare empties the server and marks the beginning of the case.
func (r *Runner) prepare(ctx context.Context, c *Case) error {
	if err := r.alone(ctx); err != nil {
		return err
	}
	if err := errors.Join(
		r.control.FlushAll(ctx).Err(),
		r.control.ScriptFlush(ctx).Err(),
		r.setUp.Ping(ctx).Err(),
	); err != nil {
		return err
	}
	if _, err := r.collect(ctx); err != nil {
		return err
	}
	return r.control.Echo(ctx, "case:"+c.ID).Err()
}

// collect returns all lines up to now.
func (r *Runner) collect(ctx context.Context) ([]monitor.Line, error) {
	marker := fmt.Sprintf("dq-bench:%d", time.Now().UnixNano())
	if err := r.control.Echo(ctx, marker).Err(); err != nil {
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
	const harness = 3 // control, set-up, MONITOR
	return poll(ctx, "the program's connections to end", func() (bool, error) {
		list, err := r.control.ClientList(ctx).Result()
		return strings.Count(list, "\n") <= harness, err
	})
}

// poll asks again and again until ok, on the harness's own connection.
func poll(ctx context.Context, what string, ok func() (bool, error)) error {
	const pace = 2 * time.Millisecond
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
			return fmt.Errorf("expected %s, waited in vain: %w", what, ctx.Err())
		}
	}
}
