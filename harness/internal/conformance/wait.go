package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// waitError is a wait in vain.
type waitError struct {
	event  string
	waited time.Duration
	seen   string
}

func (e *waitError) Error() string {
	return fmt.Sprintf("expected %s, not seen within %s%s", e.event, e.waited.Round(100*time.Millisecond), e.seen)
}

// wait waits for all events of w within one time. After a wait in vain the next ones are short, until one is not. At the
// level state the commands of an implementation do not matter: a wait for commands is short there, and may be in vain.
func (r *caseRun) wait(ctx context.Context, w *Wait) error {
	means := r.Level == State && w.Length == nil && w.Subscribers == nil
	limit := r.waits()
	if means {
		limit = meansPatience
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(time.Duration(w.Within), limit))
	defer cancel()
	err := r.waitFor(ctx, w)
	if r.unseen != "" {
		time.Sleep(settle / 50) // the proxy sees a command before the server runs it
	}
	vain := errors.As(err, new(*waitError))
	if means && vain {
		return nil
	}
	if !means {
		r.inVain, r.found.vain = vain, r.found.vain || vain
	}
	return err
}

// meansPatience bounds a wait at the level state for commands that an implementation may do without.
const meansPatience = 2 * time.Second

func (r *caseRun) waitFor(ctx context.Context, w *Wait) error {
	if w.Transfers > 0 {
		event := fmt.Sprintf("%d transfers of %q", w.Transfers, r.names.TimeoutSet)
		err := r.watch.until(ctx, event, func(l []trace.Line) bool { return r.transfers(l) >= w.Transfers })
		var vain *waitError
		if errors.As(err, &vain) {
			r.watch.look(func(lines []trace.Line) { vain.seen = r.otherTransfers(lines) })
		}
		if err != nil {
			return err
		}
	}
	if w.Command != "" {
		is := func(l trace.Line) bool { return !l.Inner() && l.Name() == strings.ToLower(w.Command) }
		n := max(w.Count, 1)
		if err := r.watch.until(ctx, fmt.Sprintf("%d times %s", n, w.Command), func(l []trace.Line) bool { return count(l, is) >= n }); err != nil {
			return err
		}
	}
	if w.Length != nil {
		event := fmt.Sprintf("%s in %s", text.Plural(int64(*w.Length), "element"), w.Key)
		if err := poll(ctx, event, func() (bool, error) { got, err := r.elements(ctx, r.key(w.Key)); return len(got) == *w.Length, err }); err != nil {
			return err
		}
	}
	if w.Unblocked {
		if err := poll(ctx, "no blocked client", func() (bool, error) {
			info, err := r.control.Do(ctx, "INFO", "clients").Text()
			return err != nil || strings.Contains(info, "blocked_clients:0\r"), nil //nolint:nilerr // a server that does not tell is not waited for
		}); err != nil {
			return err
		}
	}
	if w.Subscribers != nil {
		return poll(ctx, text.Plural(int64(*w.Subscribers), "subscriber"), func() (bool, error) {
			n, err := redis.Subscribers(ctx, r.control, r.names.Channel)
			return n == int64(*w.Subscribers), err
		})
	}
	return nil
}

// poll asks again and again until ok, on the harness's own connection.
func poll(ctx context.Context, event string, ok func() (bool, error)) error {
	began := time.Now()
	for ticker := time.NewTicker(5 * time.Millisecond); ; {
		met, err := ok()
		switch {
		case err != nil && ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded): // a read can end just before its context
			return &faultError{err}
		case err == nil && met:
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return &waitError{event: event, waited: time.Since(began)}
		}
	}
}

// transfers counts the scripts that ask for due messages of a queue: Redisson's own, or below the level wire any. Without
// MONITOR it counts the scripts with the queue's timeout set; a second try of the same call does not count.
func (r *caseRun) transfers(lines []trace.Line) int {
	n, asked, calls := 0, false, map[string]bool{}
	for _, l := range lines {
		switch {
		case r.unseen != "":
			call := strings.Join(l.Args[min(2, len(l.Args)):], "\x00")
			if strings.HasPrefix(l.Name(), "eval") && slices.Contains(l.Args, r.names.TimeoutSet) && !calls[call] {
				n, calls[call] = n+1, true
			}
		case !l.Inner():
			asked = false
		case asked || len(l.Args) < 2 || l.Args[1] != r.names.TimeoutSet:
		case l.Name() == "zrangebyscore", r.Level != Wire && asksForDue(l):
			n, asked = n+1, true
		}
	}
	return n
}

// otherTransfers describes the first transfer from other keys than the queue's, or outside of a script.
func (r *caseRun) otherTransfers(lines []trace.Line) string {
	for _, l := range lines {
		switch {
		case len(l.Args) < 2 || l.Name() != "zrangebyscore" && !asksForDue(l):
		case !l.Inner() && l.Args[1] == r.names.TimeoutSet:
			return fmt.Sprintf("; %s was sent outside of a script, where a transfer of Redisson is one", strings.ToUpper(l.Name()))
		case l.Args[1] != r.names.TimeoutSet:
			return fmt.Sprintf("; there was one of %q", l.Args[1])
		}
	}
	return ""
}

// asksForDue reports whether a command other than ZRANGEBYSCORE can find due messages.
func asksForDue(l trace.Line) bool {
	switch l.Name() {
	case "zpopmin", "zremrangebyscore", "zrangestore", "zcount":
		return true
	case "zrange":
		return slices.ContainsFunc(l.Args, func(arg string) bool { return strings.EqualFold(arg, "byscore") })
	}
	return false
}

// watch reads MONITOR all the time, and lets others wait for lines.
type watch struct {
	conn *trace.Conn           // nil on a server without MONITOR, where the proxy adds the lines
	keep func(trace.Line) bool // gets every line in order, and reports whether it is of a case or a mark

	mu      sync.Mutex
	lines   []trace.Line
	changed chan struct{} // closed and replaced at each line
	err     error
	done    chan struct{}
}

func (r *Runner) startWatch(ctx context.Context, redisURL string) (w *watch, err error) {
	w = &watch{keep: r.senders.keep, changed: make(chan struct{}), done: make(chan struct{})}
	if r.unseen != "" {
		r.senders.tee = func(l trace.Line) { w.add(l, nil) }
		return w, nil
	}
	if w.conn, err = trace.Dial(ctx, redisURL); err != nil {
		return nil, err
	}
	go w.read(context.WithoutCancel(ctx)) // until it is closed
	return w, nil
}

func (w *watch) read(ctx context.Context) {
	defer close(w.done)
	for {
		line, err := w.conn.Read(ctx)
		if err == nil && !w.keep(line) {
			continue
		}
		w.add(line, err)
		if err != nil {
			return
		}
	}
}

// add notes a line, or the end of the lines.
func (w *watch) add(line trace.Line, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err == nil {
		w.lines = append(w.lines, line)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// take returns the lines so far and forgets them.
func (w *watch) take() []trace.Line {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return lines
}

// look calls see with the lines since the last take.
func (w *watch) look(see func([]trace.Line)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	see(w.lines)
}

// until waits until ok holds for the lines since the last take. The error at the end of ctx names the event.
func (w *watch) until(ctx context.Context, event string, ok func([]trace.Line) bool) error {
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
			return &waitError{event: event, waited: time.Since(began)}
		}
	}
}

func (w *watch) close() error {
	if w.conn == nil {
		return nil
	}
	defer func() { <-w.done }()
	return w.conn.Close()
}

// stopTimeout bounds the end of a program's connections.
const stopTimeout = 10 * time.Second

// faultError is a failure of the harness, the server or the program, not of the implementation's behaviour.
type faultError struct{ error }

func (e *faultError) Unwrap() error { return e.error }

func count(lines []trace.Line, is func(trace.Line) bool) (n int) {
	for _, l := range lines {
		if is(l) {
			n++
		}
	}
	return n
}
