package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// waitError says what was waited for in vain.
type waitError struct {
	what   string
	waited time.Duration
	seen   string
	err    error
}

func (e *waitError) Error() string {
	return fmt.Sprintf("expected %s, waited %s in vain%s", e.what, e.waited.Round(100*time.Millisecond), e.seen)
}

func (e *waitError) Unwrap() error { return e.err }

// wait waits for everything that w names, each by its event, within one time. After a wait in vain the next ones are
// short, until one is not. At the level of states it does not matter by which commands an implementation gets there: a
// wait for some of them is short, and in vain it only gave time.
func (r *caseRun) wait(ctx context.Context, w *Wait) error {
	means := r.level() == State && w.Length == nil && w.Subscribers == nil
	limit := r.waits()
	if means {
		limit = meansPatience
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(time.Duration(w.Within), limit))
	defer cancel()
	err := r.waitFor(ctx, w)
	var vain *waitError
	errors.As(err, &vain)
	if means {
		if vain != nil {
			return nil
		}
		return err
	}
	if r.inVain = vain != nil; r.inVain {
		r.vain++
	}
	return err
}

// meansPatience is how long a case waits, at the level of states, for commands that an implementation may do without.
const meansPatience = time.Second

func (r *caseRun) waitFor(ctx context.Context, w *Wait) error {
	if w.Transfers > 0 {
		what := fmt.Sprintf("%d transfers of %q", w.Transfers, r.names.TimeoutSet)
		err := r.watch.until(ctx, what, func(l []monitor.Line) bool { return r.transfers(l) >= w.Transfers })
		var vain *waitError
		if errors.As(err, &vain) {
			vain.seen = r.otherTransfers()
		}
		if err != nil {
			return err
		}
	}
	if w.Command != "" {
		is := func(l monitor.Line) bool { return !l.Inner() && l.Name() == strings.ToLower(w.Command) }
		n := max(w.Count, 1)
		what := fmt.Sprintf("%d times %s", n, w.Command)
		if err := r.watch.until(ctx, what, func(l []monitor.Line) bool { return count(l, is) >= n }); err != nil {
			return err
		}
	}
	if w.Length != nil {
		what := fmt.Sprintf("%d elements in %s", *w.Length, w.Key)
		if err := poll(ctx, what, func() (bool, error) { n, err := r.length(ctx, w.Key); return n == *w.Length, err }); err != nil {
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

// length is that of a list or a sorted set; one of the words destination, pending and timeouts stands for a key of the
// queue.
func (r *caseRun) length(ctx context.Context, key string) (int, error) {
	key = r.key(key)
	kind, err := r.control.Do(ctx, "TYPE", key).Text()
	if err != nil {
		return 0, err
	}
	if kind == "zset" {
		n, err := r.control.Do(ctx, "ZCARD", key).Int64()
		return int(n), err
	}
	n, err := r.control.Do(ctx, "LLEN", key).Int64()
	return int(n), err
}

// otherTransfers tells of transfers from other keys than the queue's.
func (r *caseRun) otherTransfers() string {
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	for _, l := range r.watch.lines {
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
