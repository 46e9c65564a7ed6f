package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// watch reads MONITOR all the time, and lets others wait for lines.
type watch struct {
	conn *monitor.Conn
	keep func(monitor.Line) bool // gets every line in order, and reports whether it is of a case or a mark

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
		if w.err = err; err == nil {
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

// look calls see with the lines since the last take.
func (w *watch) look(see func([]monitor.Line)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	see(w.lines)
}

// until waits until ok holds for the lines since the last take. The error at the end of ctx names the event.
func (w *watch) until(ctx context.Context, event string, ok func([]monitor.Line) bool) error {
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
			return &waitError{event: event, waited: time.Since(began), err: ctx.Err()}
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

// stopTimeout bounds the end of a connection, or of a program's connections.
const stopTimeout = 10 * time.Second

// faultError is a failure of the harness, the server or the program, not of the implementation's behaviour.
type faultError struct{ err error }

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

func count(lines []monitor.Line, is func(monitor.Line) bool) (n int) {
	for _, l := range lines {
		if is(l) {
			n++
		}
	}
	return n
}
