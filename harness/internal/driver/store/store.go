// Package store looks at what an implementation keeps of a queue on a server, from beside the queues that are open.
package store

import (
	"context"
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Store is what an implementation keeps of one queue on the server.
type Store interface {
	driver.Inspector
	// Clear deletes the keys of the queue.
	Clear(ctx context.Context) error
}

// Stored is a driver.Driver that keeps its messages on a server.
type Stored interface {
	// Store does no I/O; the Conn stays the caller's.
	Store(conn redis.Conn, name string) Store
}

// Needed reports whether a driver keeps its messages on a server.
func Needed(d driver.Driver) bool {
	_, ok := d.(Stored)
	return ok
}

// Keys is the Store of whatever keeps its messages in the keys of Redisson's format.
type Keys struct {
	Conn redis.Conn
	// Queue is the destination queue.
	Queue string
}

// Held adds the lengths of the destination queue and the timeout set. The
// pending list does not count: what is only there never comes.
func (k Keys) Held(ctx context.Context) (int64, error) {
	names := wire.NamesOf(k.Queue)
	held := int64(0)
	replies, err := k.Conn.Pipe(ctx, []any{"LLEN", names.Destination}, []any{"ZCARD", names.TimeoutSet})
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", k.Queue, err)
	}
	for _, reply := range replies {
		n, err := reply.Int64()
		if err != nil {
			return 0, fmt.Errorf("length of queue %q: %w", k.Queue, err)
		}
		held += n
	}
	return held, nil
}

// pageSize is how many values one command reads.
const pageSize = 1000

// Values reads the timeout set and then the destination queue, in that order: a
// message that is transferred meanwhile is seen at least once.
func (k Keys) Values(ctx context.Context, each func(value []byte)) error {
	names := wire.NamesOf(k.Queue)
	for cursor := "0"; ; {
		members, next, err := redis.Page(k.Conn.Do(ctx, "ZSCAN", names.TimeoutSet, cursor, "COUNT", pageSize))
		if err != nil {
			return fmt.Errorf("read the timeout set of queue %q: %w", k.Queue, err)
		}
		for i := 0; i < len(members); i += 2 { // members and scores take turns
			each([]byte(members[i]))
		}
		if cursor = next; cursor == "0" {
			break
		}
	}
	for start := 0; ; start += pageSize {
		values, err := k.Conn.Do(ctx, "LRANGE", names.Destination, start, start+pageSize-1).StringSlice()
		if err != nil {
			return fmt.Errorf("read queue %q: %w", k.Queue, err)
		}
		for _, value := range values {
			each([]byte(value))
		}
		if len(values) < pageSize {
			return nil
		}
	}
}

// Clear deletes the keys of the queue.
func (k Keys) Clear(ctx context.Context) error {
	names := wire.NamesOf(k.Queue)
	_, err := k.Conn.Pipe(ctx, []any{"DEL", names.Destination}, []any{"DEL", names.TimeoutSet}, []any{"DEL", names.Pending})
	if err != nil {
		return fmt.Errorf("delete the keys of queue %q: %w", k.Queue, err)
	}
	return nil
}
