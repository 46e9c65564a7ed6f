package dq

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// unblocking returns a function that asks the server, once, to end the command: see
// unblock. That it does not block (any more) is no error. The function must be called:
// until it returns, the link is not used for another command.
func (w *waiter) unblocking() func(context.Context) error {
	w.node.hold(w.link)
	return func(ctx context.Context) error {
		err := w.unblock(ctx)
		w.node.release(w.link, errors.Is(err, errLost))
		return err
	}
}

// unblock sends CLIENT UNBLOCK in a transaction with a script.
//
// A server whose writes are paused, as by CLIENT PAUSE or in CLUSTER FAILOVER, postpones
// BLPOP, and CLIENT UNBLOCK of a client that was postponed ends the server itself, by a
// failed assertion (seen with 7.0.15). A transaction with a script in it is postponed as
// well, so that it never meets such a client.
func (w *waiter) unblock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeGrace)
	defer cancel()
	l, err := w.node.link(ctx, backgroundLane)
	if err != nil {
		return err
	}
	guard := scripts.Guard()
	replies, err := l.send([]any{"MULTI"}, []any{"EVALSHA", guard.SHA1, "0"},
		[]any{"CLIENT", "UNBLOCK", w.link.conn.id}, []any{"EXEC"}).wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) && l.oldest() >= probeGrace {
		// The connection that asks may be dead as well; another one will tell.
		l.fail(errSilent)
	}
	if err != nil {
		return err
	}
	results, done := replies[3].([]any)
	if done && len(results) == 2 {
		if missing, failed := results[0].(resp.Error); failed && isNoScript(missing) {
			l.send([]any{"SCRIPT", "LOAD", guard.Body}) // the next time it is there
		}
		replies = results[1:]
	}
	for _, reply := range replies {
		refused, failed := reply.(resp.Error)
		if !failed {
			continue
		}
		if isForbidden(refused) {
			w.node.cannotUnblock.Store(true)
		}
		return refused
	}
	return nil
}

// isForbidden reports whether a server will always answer so: the user lacks the right,
// or the server the command.
func isForbidden(reply resp.Error) bool {
	// HasErrorPrefix looks behind "ERR ".
	return redis.HasErrorPrefix(reply, "NOPERM") || redis.HasErrorPrefix(reply, "unknown") ||
		redis.HasErrorPrefix(reply, "Unknown") || redis.HasErrorPrefix(reply, "NOAUTH")
}
