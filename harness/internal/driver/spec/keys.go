package spec

import (
	"context"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Keys are the keys of one queue on a server, past the queues that are open. Messages move from the set to the lists, and from a
// list to the next one.
type Keys struct {
	Conn  redis.Conn
	Queue string
	Set   string // a sorted set; may be empty
	Lists []string
	Other string // a key without messages of its own; may be empty
}

// KeysOf returns the keys of a driver's queue, without any I/O; false for a driver that keeps no messages on a server. A message
// that is only in the pending list of Redisson's format is never delivered, and is not held.
func KeysOf(d driver.Driver, conn redis.Conn, queue string) (Keys, bool) {
	switch d := d.(type) {
	case Redis:
		if d.zset {
			return Keys{Conn: conn, Queue: queue, Set: queue, Lists: []string{queue + tempSuffix}}, true
		}
		return Keys{Conn: conn, Queue: queue, Lists: []string{queue, queue + tempSuffix}}, true
	case DQ, Program: // a program of exec may use others
		names := wire.NamesOf(queue)
		return Keys{Conn: conn, Queue: queue, Set: names.TimeoutSet, Lists: []string{names.Destination}, Other: names.Pending}, true
	}
	return Keys{}, false
}

// Held adds the lengths of the set and the lists.
func (k Keys) Held(ctx context.Context) (held int64, err error) {
	calls := [][]any{{"ZCARD", k.Set}}
	for _, list := range k.Lists {
		calls = append(calls, []any{"LLEN", list})
	}
	if k.Set == "" {
		calls = calls[1:]
	}
	replies, err := k.Conn.Pipe(ctx, calls...)
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", k.Queue, err)
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
	for cursor, more := "0", k.Set != ""; more; more = cursor != "0" {
		members, next, err := redis.Page(k.Conn.Do(ctx, "ZSCAN", k.Set, cursor, "COUNT", pageSize))
		if err != nil {
			return fmt.Errorf("read the sorted set %q: %w", k.Set, err)
		}
		for i := 0; i < len(members); i += 2 { // members and scores take turns
			each([]byte(members[i]))
		}
		cursor = next
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
	for _, key := range slices.Concat(k.Lists, []string{k.Set, k.Other}) {
		if err := k.Conn.Do(ctx, "DEL", key).Err(); err != nil {
			return fmt.Errorf("delete %q: %w", key, err)
		}
	}
	return nil
}
