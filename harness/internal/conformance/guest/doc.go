// Package guest answers: how does a run stay harmless on a server that it did not
// start?
//
// Such a server is somebody's. A run deletes only keys that it has made itself,
// and it stops before it deletes anything once there is a sign of somebody else: a
// key that is not its own, a client that is not its own, or a command of one.
//
// What a client library offers is not enough for that. Keys that are named alike
// may be anybody's, so that MONITOR tells who made them: every command of every
// client is seen there, in order. Remove makes use of it, and of WATCH, so that
// nothing can happen to a key between the last look and its deletion.
package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// ErrInUse says that somebody else uses the server, or that it holds what somebody
// may still need. Errors of that kind are *InUseError.
var ErrInUse = errors.New("somebody else uses the server")

// InUseError says what was found, and what the run could not clean up because of
// it. It is ErrInUse.
type InUseError struct {
	// Addr is the server.
	Addr string
	// Found is what was not expected there, as half a sentence.
	Found string
	// Advice is what to do, beside taking another server; it may be empty.
	Advice string
	// Left are keys that only the run has used, and does not delete any more.
	Left []Key
}

// Error says what was expected, what was found and what to do.
func (e *InUseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: expected a server that nobody else uses, found %s", e.Addr, e.Found)
	b.WriteString("; the run has stopped there and deletes nothing more. Name an empty server that only you use, or let dq-bench start one: --redis process")
	if e.Advice != "" {
		b.WriteString(". " + e.Advice)
	}
	if len(e.Left) > 0 {
		fmt.Fprintf(&b, ". What the run leaves behind itself: %s", RemovalHint(e.Left))
	}
	return b.String()
}

// Is makes it ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Do sends a command on one connection, always the same, and returns its answer:
// a string, an int64, a []any of those, or nil. An error that the server answered
// with is a redis.Error.
type Do func(ctx context.Context, args ...string) (any, error)

// On sends on a Conn of one connection.
func On(conn redis.Conn) Do {
	return func(ctx context.Context, args ...string) (any, error) {
		anys := make([]any, len(args))
		for i, a := range args {
			anys[i] = a
		}
		reply, err := conn.Do(ctx, anys...).Result()
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return reply, err
	}
}

// replyTimeout bounds the wait for one reply.
const replyTimeout = 10 * time.Second

// By sends on a connection that somebody has logged in. It is for one goroutine.
func By(conn net.Conn) Do {
	in := resp.NewReader(conn, 0)
	return func(ctx context.Context, args ...string) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, replyTimeout)
		defer cancel()
		deadline, _ := ctx.Deadline()
		conn.SetDeadline(deadline)
		if _, err := conn.Write(resp.AppendCommand(nil, args...)); err != nil {
			return nil, err
		}
		reply, err := in.Read()
		if refused, ok := reply.(resp.Error); ok {
			return nil, refused
		}
		return reply, err
	}
}

// Refused tells an answer of the server from a connection that failed.
func Refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// few joins the first of many texts.
func few[T fmt.Stringer](all []T) string {
	const most = 3
	var texts []string
	for _, one := range all[:min(most, len(all))] {
		texts = append(texts, one.String())
	}
	text := strings.Join(texts, ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
