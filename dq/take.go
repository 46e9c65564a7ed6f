package dq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Bounds of a command that blocks.
const (
	// pollGrace is how much longer than its own time-out a command may take.
	pollGrace = 2 * time.Second
	// cancelGrace is how much longer than its context a Take may last, for a value
	// that is on its way; with a server that answers it is a round trip.
	cancelGrace = time.Second
)

// maxPollSeconds is 30 years: a longer time-out is as good as none.
const maxPollSeconds = 1 << 30

// errOverdue is the error of a command that has not ended when its time-out was over.
var errOverdue = fmt.Errorf("no reply %s after its time-out: a value that still comes is put back", pollGrace)

// waiter is one command that blocks on a connection of its own.
type waiter struct {
	client  *Client
	node    *node
	link    *link
	batch   *batch
	command []any // all strings
	asking  bool

	mu sync.Mutex // guards batch against unwind, and the rest
	// abandoned says that nobody waits any more: whatever arrives goes back.
	abandoned bool
	unwound   *batch // the one that is being ended in the background
}

// block runs a command that blocks for seconds at most, 0 for ever. The reply is nil,
// without an error, when it ended empty-handed.
//
// When ctx ends, the server is asked to end the command. A value that was on its way
// is returned. If the answer takes longer than cancelGrace, or the server cannot be
// asked, the call returns, and what still arrives is put back (see unwind).
func (c *Client) block(ctx context.Context, key string, seconds int64, command ...any) (any, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.blocked.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()

	var to target
	var last error
	ends := time.Now().Add(time.Duration(min(seconds, maxPollSeconds)) * time.Second)
	for attempt := 0; attempt < maxAttempts; attempt++ {
		w, err := c.begin(ctx, key, to, seconds, command)
		if errors.Is(err, errRetired) && ctx.Err() == nil {
			to, last = target{}, err // another has its place
			continue
		}
		if err != nil {
			return nil, c.blockError(ctx, err)
		}
		began := time.Now()
		reply, err := w.wait(ctx, key, seconds)
		last = err
		if time.Since(began) > time.Second {
			attempt = 0
		}
		s := sending{client: c, request: request{key: key}, to: target{node: w.node}}
		replied, isReply := err.(resp.Error) //nolint:errorlint // a reply is never wrapped here
		switch {
		case reply != nil || err == nil && ctx.Err() == nil:
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case isReply && redirects(&s, replied, &to):
			if s.hold && pause(ctx, maxRedirection) != nil {
				return nil, context.Cause(ctx)
			}
		case isReply && strings.HasPrefix(string(replied), "UNBLOCKED"):
			to = target{} // a master that was demoted says so
		case seconds != forever && errors.Is(err, errSilent) && left(ends) > 0:
			to, seconds = target{}, left(ends)
			command = lasting(command, seconds)
		case isReply || seconds != forever && !errors.Is(err, errRetired):
			return nil, err
		default:
			// The connection is lost. Nobody can say whether it took a value along.
			to = target{}
		}
	}
	return nil, fmt.Errorf("%d times in a row: %w", maxAttempts, last)
}

// left returns the whole seconds of a time-out that are left.
func left(ends time.Time) int64 { return int64(time.Until(ends) / time.Second) }

// lasting returns the command with another time-out, its last argument.
func lasting(command []any, seconds int64) []any {
	shorter := slices.Clone(command)
	shorter[len(shorter)-1] = strconv.FormatInt(seconds, 10)
	return shorter
}

func redirects(s *sending, reply resp.Error, to *target) (ok bool) {
	*to, ok = s.redirect(reply)
	return ok
}

func (c *Client) blockError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.explain(err)
}

// begin sends the command on a connection of its own, or takes over one on which an
// equal command was left blocking.
func (c *Client) begin(ctx context.Context, key string, to target, seconds int64, command []any) (*waiter, error) {
	n := to.node
	if n == nil {
		owner, err := c.topology.owner(ctx, key)
		if err != nil {
			return nil, err
		}
		n = owner
	}
	if w := n.reuse(command, seconds); w != nil {
		return w, nil
	}
	l, err := n.get(ctx)
	if err != nil {
		return nil, err
	}
	w := &waiter{client: c, node: n, link: l, command: command, asking: to.asking}
	w.again()
	return w, nil
}

// again sends the command.
func (w *waiter) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking {
		w.batch = w.link.send([]any{"ASKING"}, w.command)
		return
	}
	w.batch = w.link.send(w.command)
}

// wait returns the reply, and leaves the link in its pool or closed. A command that
// was ended from beside is sent again; the server is asked now and then whether it
// still blocks.
func (w *waiter) wait(ctx context.Context, key string, seconds int64) (any, error) {
	probe := newProbe(w, seconds)
	defer probe.stop()
	ends := time.Now().Add(time.Duration(min(seconds, maxPollSeconds)) * time.Second)
	for {
		select {
		case <-w.batch.done:
			reply, err := w.batch.last()
			endedEarly := seconds == forever || probe.asked == w.batch && left(ends) > 0
			if err == nil && reply == nil && endedEarly && ctx.Err() == nil && w.stays(ctx, key) {
				if seconds != forever {
					w.command = lasting(w.command, left(ends))
				}
				probe.reset()
				w.again()
				continue
			}
			w.node.put(w.link)
			return reply, err
		case <-ctx.Done():
			return w.cancel(ctx)
		case <-probe.due:
			probe.ask(ctx)
		case a := <-probe.answer:
			probe.answered(a)
		case <-probe.overdue:
			if !probe.arriving() {
				return w.overdue()
			}
		case <-probe.grace:
			if !probe.progress() {
				w.link.fail(errSilent)
			}
		}
	}
}

// stays reports whether the queue is still where the command blocks. If not, the
// caller goes where it is.
func (w *waiter) stays(ctx context.Context, key string) bool {
	if w.asking {
		return false
	}
	owner, err := w.client.topology.owner(ctx, key)
	return err != nil || owner == w.node
}

// cancel ends the command for a caller whose context has ended.
func (w *waiter) cancel(ctx context.Context) (any, error) {
	w.unwind()
	bound := time.NewTimer(cancelGrace)
	defer bound.Stop()
	wait := bound.C
	if w.cannotUnblock() {
		passed := make(chan time.Time)
		close(passed)
		wait = passed
	}
	select {
	case <-w.batch.done:
	case <-wait:
		if w.abandon() {
			return nil, context.Cause(ctx)
		}
	}
	reply, err := w.batch.last()
	w.node.put(w.link)
	if reply == nil {
		return nil, context.Cause(ctx)
	}
	return reply, err
}

// overdue gives up a command that should have ended by itself: its connection is dead,
// or the server stands still, and may run it later.
func (w *waiter) overdue() (any, error) {
	w.unwind()
	if w.abandon() {
		return nil, errOverdue
	}
	reply, err := w.batch.last()
	w.node.put(w.link)
	return reply, err
}

func (w *waiter) cannotUnblock() bool { return w.link.conn.id == 0 || w.node.cannotUnblock.Load() }
