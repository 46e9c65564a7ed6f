package driver

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Store is what an implementation keeps of one queue on the server.
type Store interface {
	Holder
	// Clear deletes the keys of the queue.
	Clear(ctx context.Context) error
}

// Keys is the Store of whatever keeps its messages in the keys of Redisson's format.
type Keys struct {
	Client redis.UniversalClient
	// Queue is the destination queue.
	Queue string
}

// Held adds the lengths of the destination queue and the timeout set. The
// pending list does not count: what is only there never comes.
func (k Keys) Held(ctx context.Context) (int64, error) {
	names := wire.NamesOf(k.Queue)
	var due, waiting *redis.IntCmd
	_, err := k.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		due, waiting = p.LLen(ctx, names.Destination), p.ZCard(ctx, names.TimeoutSet)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", k.Queue, err)
	}
	return due.Val() + waiting.Val(), nil
}

// pageSize is how many values one command reads.
const pageSize = 1000

// Values reads the timeout set and then the destination queue, in that order: a
// message that is transferred meanwhile is seen at least once.
func (k Keys) Values(ctx context.Context, each func(value []byte)) error {
	names := wire.NamesOf(k.Queue)
	for cursor := uint64(0); ; {
		members, next, err := k.Client.ZScan(ctx, names.TimeoutSet, cursor, "", pageSize).Result()
		if err != nil {
			return fmt.Errorf("read the timeout set of queue %q: %w", k.Queue, err)
		}
		for i := 0; i < len(members); i += 2 { // members and scores take turns
			each([]byte(members[i]))
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for start := int64(0); ; start += pageSize {
		values, err := k.Client.LRange(ctx, names.Destination, start, start+pageSize-1).Result()
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
	_, err := k.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range []string{names.Destination, names.TimeoutSet, names.Pending} {
			p.Del(ctx, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete the keys of queue %q: %w", k.Queue, err)
	}
	return nil
}
