// Package store looks at the keys of a queue on a server, past the queues that are open.
package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Store has the messages of one queue on the server.
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

// Keys are the keys of one queue. Messages move from the sets to the lists, and from a list to the next one.
type Keys struct {
	Conn        redis.Conn
	Sets, Lists []string
	Others      []string // keys without messages of their own
}

// Redisson is the Store of all drivers that use the keys of Redisson's format. A message that is only in the pending list never
// comes, and is not held.
func Redisson(conn redis.Conn, queue string) Keys {
	names := wire.NamesOf(queue)
	return Keys{Conn: conn, Sets: []string{names.TimeoutSet}, Lists: []string{names.Destination}, Others: []string{names.Pending}}
}

// Held adds the lengths of the sets and lists.
func (k Keys) Held(ctx context.Context) (held int64, err error) {
	var calls [][]any
	for _, set := range k.Sets {
		calls = append(calls, []any{"ZCARD", set})
	}
	for _, list := range k.Lists {
		calls = append(calls, []any{"LLEN", list})
	}
	replies, err := k.Conn.Pipe(ctx, calls...)
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", k.Lists[0], err)
	}
	for _, reply := range replies {
		n, _ := reply.Int64() // both reply with a number
		held += n
	}
	return held, nil
}

// pageSize is how many values one command reads.
const pageSize = 1000

// Values reads the keys in the order in which messages move: a message that moves meanwhile is seen at least once.
func (k Keys) Values(ctx context.Context, each func(value []byte)) error {
	for _, set := range k.Sets {
		for cursor, more := "0", true; more; more = cursor != "0" {
			members, next, err := redis.Page(k.Conn.Do(ctx, "ZSCAN", set, cursor, "COUNT", pageSize))
			if err != nil {
				return fmt.Errorf("read the sorted set %q: %w", set, err)
			}
			for i := 0; i < len(members); i += 2 { // members and scores take turns
				each([]byte(members[i]))
			}
			cursor = next
		}
	}
	for _, list := range k.Lists {
		for start, read := 0, pageSize; read == pageSize; start += pageSize {
			values, err := k.Conn.Do(ctx, "LRANGE", list, start, start+pageSize-1).StringSlice()
			if err != nil {
				return fmt.Errorf("read the list %q: %w", list, err)
			}
			for _, value := range values {
				each([]byte(value))
			}
			read = len(values)
		}
	}
	return nil
}

// Clear deletes the keys.
func (k Keys) Clear(ctx context.Context) error {
	for _, key := range slices.Concat(k.Lists, k.Sets, k.Others) {
		if err := k.Conn.Do(ctx, "DEL", key).Err(); err != nil {
			return fmt.Errorf("delete %q: %w", key, err)
		}
	}
	return nil
}
