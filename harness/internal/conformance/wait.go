package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// waitError is a wait in vain.
type waitError struct {
	event  string
	waited time.Duration
	seen   string
	err    error
}

func (e *waitError) Error() string {
	return fmt.Sprintf("expected %s, waited %s in vain%s", e.event, e.waited.Round(100*time.Millisecond), e.seen)
}

func (e *waitError) Unwrap() error { return e.err }

// wait waits for all events of w within one time. After a wait in vain the next ones are short, until one is not. At the
// level state the commands of an implementation do not matter: a wait for commands is short there, and may be in vain.
func (r *caseRun) wait(ctx context.Context, w *Wait) error {
	means := r.level() == State && w.Length == nil && w.Subscribers == nil
	limit := r.waits()
	if means {
		limit = meansPatience
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(time.Duration(w.Within), limit))
	defer cancel()
	err := r.waitFor(ctx, w)
	vain := errors.As(err, new(*waitError))
	switch {
	case means && vain:
		return nil
	case !means:
		if r.inVain = vain; vain {
			r.vain++
		}
	}
	return err
}

// meansPatience bounds a wait at the level state for commands that an implementation may do without.
const meansPatience = 2 * time.Second

func (r *caseRun) waitFor(ctx context.Context, w *Wait) error {
	if w.Transfers > 0 {
		event := fmt.Sprintf("%d transfers of %q", w.Transfers, r.names.TimeoutSet)
		err := r.watch.until(ctx, event, func(l []monitor.Line) bool { return r.transfers(l) >= w.Transfers })
		var vain *waitError
		if errors.As(err, &vain) {
			r.watch.look(func(lines []monitor.Line) { vain.seen = r.otherTransfers(lines) })
		}
		if err != nil {
			return err
		}
	}
	if w.Command != "" {
		is := func(l monitor.Line) bool { return !l.Inner() && l.Name() == strings.ToLower(w.Command) }
		n := max(w.Count, 1)
		if err := r.watch.until(ctx, fmt.Sprintf("%d times %s", n, w.Command), func(l []monitor.Line) bool { return count(l, is) >= n }); err != nil {
			return err
		}
	}
	if w.Length != nil {
		event := fmt.Sprintf("%d elements in %s", *w.Length, w.Key)
		if err := poll(ctx, event, func() (bool, error) { n, err := r.length(ctx, w.Key); return n == int64(*w.Length), err }); err != nil {
			return err
		}
	}
	if w.Subscribers != nil {
		return poll(ctx, fmt.Sprintf("%d subscribers", *w.Subscribers), func() (bool, error) {
			n, err := redis.Subscribers(ctx, r.control, r.names.Channel)
			return n == int64(*w.Subscribers), err
		})
	}
	return nil
}

// poll asks again and again until ok, on the harness's own connection.
func poll(ctx context.Context, event string, ok func() (bool, error)) error {
	began := time.Now()
	ticker := time.NewTicker(2 * time.Millisecond)
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
			return &waitError{event: event, waited: time.Since(began), err: ctx.Err()}
		}
	}
}

// length is the length of a list or a sorted set, by its name or one of the words destination, pending and timeouts.
func (r *caseRun) length(ctx context.Context, key string) (int64, error) {
	key = r.key(key)
	kind, err := r.control.Do(ctx, "TYPE", key).Text()
	if err != nil {
		return 0, err
	}
	command := "LLEN"
	if kind == "zset" {
		command = "ZCARD"
	}
	return r.control.Do(ctx, command, key).Int64()
}

// transfers counts the scripts that ask for due messages of a queue: Redisson's own, or below the level wire any.
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

// otherTransfers describes the first transfer from other keys than the queue's, or outside of a script.
func (r *caseRun) otherTransfers(lines []monitor.Line) string {
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
func asksForDue(l monitor.Line) bool {
	switch l.Name() {
	case "zpopmin", "zremrangebyscore", "zrangestore", "zcount":
		return true
	case "zrange":
		return slices.ContainsFunc(l.Args, func(arg string) bool { return strings.EqualFold(arg, "byscore") })
	}
	return false
}
