package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// What a case does to the server itself, beside the program under test.

func (r *caseRun) redis(ctx context.Context, command []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if kills(command) {
		return r.kill(ctx, command[3])
	}
	args := make([]any, len(command))
	for i, a := range command {
		args[i] = a
	}
	if err := r.setUp.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return &faultError{err}
	}
	return nil
}

// seed writes members as an offer script does, but all at once and unannounced.
func (r *caseRun) seed(ctx context.Context, s *Seed) error {
	layout := r.Release.Layout()
	if s.Foreign {
		layout = layout.Other()
	}
	values := s.Values
	for i := range s.Count {
		values = append(values, fmt.Sprintf("v%03d", i+1))
	}
	timeouts, pending := []any{"ZADD", r.names.TimeoutSet}, []any{"RPUSH", r.names.Pending}
	for i, v := range values {
		m := string(layout.Pack(seedID(layout, max(s.FirstID, 1)+i), []byte(v)))
		timeouts, pending = append(timeouts, s.Due+int64(i)*s.Step, m), append(pending, m)
	}
	commands := [][]any{timeouts, pending}
	switch s.Skip {
	case "timeouts":
		commands = commands[1:]
	case "pending":
		commands = commands[:1]
	}
	// At once: a transfer in between would make ghosts.
	if _, err := r.setUp.Multi(ctx, commands...); err != nil {
		return &faultError{err}
	}
	return nil
}

// seedID makes ids that are the same in every run and ascend byte by byte, so that members of equal due time have a
// known order.
func seedID(layout wire.Layout, n int) (id [8]byte) {
	if layout == wire.LayoutDLc0 {
		// From 2^53 on the doubles are two apart, so that n is the low end of the fraction, which comes first in
		// memory.
		return wire.DoubleID(1<<53 + int64(n)*2)
	}
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

// key translates the words for the queue's keys.
func (r *caseRun) key(word string) string {
	switch word {
	case "destination":
		return r.names.Destination
	case "pending":
		return r.names.Pending
	case "timeouts":
		return r.names.TimeoutSet
	}
	return word
}
