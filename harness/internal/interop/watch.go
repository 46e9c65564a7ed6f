package interop

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// watch keeps the commands that scripts call on one queue.
type watch struct {
	conn *monitor.Conn
	keys map[string]bool
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	lines   []monitor.Line
	changed chan struct{} // closed and replaced at each line
	err     error
}

func (s *session) watch(ctx context.Context) (*watch, error) {
	conn, err := monitor.Dial(ctx, s.url)
	if err != nil {
		return nil, err
	}
	reading, stop := context.WithCancel(ctx)
	w := &watch{
		conn: conn, stop: stop, done: make(chan struct{}), changed: make(chan struct{}),
		keys: map[string]bool{s.names.Destination: true, s.names.Pending: true, s.names.TimeoutSet: true},
	}
	go w.read(reading)
	return w, nil
}

func (w *watch) read(ctx context.Context) {
	defer close(w.done)
	for {
		line, err := w.conn.Read(ctx)
		if ours := line.Inner() && len(line.Args) > 1 && w.keys[line.Args[1]]; err == nil && !ours {
			continue
		}
		w.mu.Lock()
		if err == nil {
			w.lines = append(w.lines, line)
		}
		w.err = err
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// calls returns the arguments behind the key of each call of a command by scripts.
func (w *watch) calls(command, key string) [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.callsLocked(command, key)
}

func (w *watch) callsLocked(command, key string) [][]string {
	var calls [][]string
	for _, l := range w.lines {
		if l.Name() == command && l.Args[1] == key {
			calls = append(calls, l.Args[2:])
		}
	}
	return calls
}

// until waits until scripts have called a command on a key n times.
func (w *watch) until(ctx context.Context, n int, command, key string) error {
	for {
		w.mu.Lock()
		got, err, changed := len(w.callsLocked(command, key)), w.err, w.changed
		w.mu.Unlock()
		switch {
		case got >= n:
			return nil
		case err != nil:
			return fmt.Errorf("MONITOR ended: %w", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("expected %d times %s on %q, saw %d: %w", n, command, key, got, ctx.Err())
		}
	}
}

func (w *watch) close() error {
	w.stop()
	<-w.done
	err := w.conn.Close()
	if errors.Is(w.err, context.Canceled) {
		return err
	}
	return errors.Join(w.err, err)
}
