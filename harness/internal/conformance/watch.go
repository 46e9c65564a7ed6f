package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// watch reads what the server sees, all the time, and lets others wait for it.
type watch struct {
	conn *monitor.Conn
	// keep tells which lines are of a case, or are marks. It is called for every line, in order.
	keep func(monitor.Line) bool

	mu      sync.Mutex
	lines   []monitor.Line
	changed chan struct{} // closed and replaced at each line
	err     error
	stop    context.CancelFunc
	done    chan struct{}
}

func startWatch(ctx context.Context, redisURL string, keep func(monitor.Line) bool) (*watch, error) {
	conn, err := monitor.Dial(ctx, redisURL)
	if err != nil {
		return nil, err
	}
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &watch{conn: conn, keep: keep, changed: make(chan struct{}), stop: stop, done: make(chan struct{})}
	go w.read(reading)
	return w, nil
}

func (w *watch) read(ctx context.Context) {
	defer close(w.done)
	for {
		line, err := w.conn.Read(ctx)
		if err == nil && !w.keep(line) {
			continue
		}
		w.mu.Lock()
		if err != nil {
			w.err = err
		} else {
			w.lines = append(w.lines, line)
		}
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// take returns the lines so far and forgets them.
func (w *watch) take() []monitor.Line {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// until waits until ok holds for the lines since the last take. When ctx ends it says what was expected.
func (w *watch) until(ctx context.Context, what string, ok func([]monitor.Line) bool) error {
	began := time.Now()
	for {
		w.mu.Lock()
		met, err, changed := ok(w.lines), w.err, w.changed
		w.mu.Unlock()
		switch {
		case met:
			return nil
		case err != nil:
			return &faultError{fmt.Errorf("MONITOR ended: %w", err)}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &waitError{what: what, waited: time.Since(began), err: ctx.Err()}
		}
	}
}

func (w *watch) close() error {
	w.stop()
	err := w.conn.Close()
	select {
	case <-w.done:
		return err
	case <-time.After(stopTimeout):
		return errors.Join(err, errors.New("the MONITOR connection does not end"))
	}
}

// stopTimeout bounds what must end by itself.
const stopTimeout = 10 * time.Second

// faultError is a failure of the harness, the server or the program, not of the implementation's behaviour.
type faultError struct{ err error }

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

func count(lines []monitor.Line, is func(monitor.Line) bool) int {
	n := 0
	for _, l := range lines {
		if is(l) {
			n++
		}
	}
	return n
}

// transfers counts the scripts that ask which messages of a queue are due: Redisson's own, or below the level of the
// wire anybody's, by whatever they ask with.
func (r *caseRun) transfers(lines []monitor.Line) int {
	n, asked := 0, false
	for _, l := range lines {
		switch {
		case !l.Inner():
			asked = false
		case asked || len(l.Args) < 2 || l.Args[1] != r.names.TimeoutSet:
		case l.Name() == "zrangebyscore", r.level() != Wire && asksForDue(l):
			n, asked = n+1, true
		}
	}
	return n
}

// asksForDue reports whether a command other than ZRANGEBYSCORE can find what is due.
func asksForDue(l monitor.Line) bool {
	switch l.Name() {
	case "zpopmin", "zremrangebyscore", "zrangestore", "zcount":
		return true
	case "zrange":
		return slices.ContainsFunc(l.Args, func(arg string) bool { return strings.EqualFold(arg, "byscore") })
	}
	return false
}
