package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Holder tells what an implementation still holds. A driver's queue may
// implement it; for the others the driver's store does, or Redis, by the keys of
// Redisson's format.
type Holder interface {
	// Held returns how many messages are held, due or not.
	Held(ctx context.Context) (int64, error)
	// Values calls each with everything that is held, in whatever framing. A
	// message may come twice, and none that is held throughout is left out.
	Values(ctx context.Context, each func(value []byte)) error
}

// Redis looks at the server beside the implementation under test.
type Redis struct {
	Client redis.UniversalClient
	// Queue is the destination queue.
	Queue string
}

// Held adds the lengths of the destination queue and the timeout set. The
// pending list does not count: what is only there never comes.
func (r *Redis) Held(ctx context.Context) (int64, error) {
	names := wire.NamesOf(r.Queue)
	var due, waiting *redis.IntCmd
	_, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		due, waiting = p.LLen(ctx, names.Destination), p.ZCard(ctx, names.TimeoutSet)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("length of queue %q: %w", r.Queue, err)
	}
	return due.Val() + waiting.Val(), nil
}

// pageSize is how many values one command reads.
const pageSize = 1000

// Values reads the timeout set and then the destination queue, in that order: a
// message that is transferred meanwhile is seen at least once.
func (r *Redis) Values(ctx context.Context, each func(value []byte)) error {
	names := wire.NamesOf(r.Queue)
	for cursor := uint64(0); ; {
		members, next, err := r.Client.ZScan(ctx, names.TimeoutSet, cursor, "", pageSize).Result()
		if err != nil {
			return fmt.Errorf("read the timeout set of queue %q: %w", r.Queue, err)
		}
		for i := 0; i < len(members); i += 2 { // members and scores take turns
			each([]byte(members[i]))
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for start := int64(0); ; start += pageSize {
		values, err := r.Client.LRange(ctx, names.Destination, start, start+pageSize-1).Result()
		if err != nil {
			return fmt.Errorf("read queue %q: %w", r.Queue, err)
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
func (r *Redis) Clear(ctx context.Context) error {
	names := wire.NamesOf(r.Queue)
	_, err := r.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range []string{names.Destination, names.TimeoutSet, names.Pending} {
			p.Del(ctx, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete the keys of queue %q: %w", r.Queue, err)
	}
	return nil
}

// usage is what a server has done since it started, all masters of a cluster
// together.
type usage struct {
	transferCalls int64 // calls of zrangebyscore, one in each transfer script
	commands      int64
	cpuSeconds    float64
}

func (u usage) minus(before usage) usage {
	return usage{u.transferCalls - before.transferCalls, u.commands - before.commands, u.cpuSeconds - before.cpuSeconds}
}

// usage asks the server. It fails where the server keeps no such statistics.
func (r *Redis) usage(ctx context.Context) (usage, error) {
	cluster, ok := r.Client.(*redis.ClusterClient)
	if !ok {
		return usageOf(ctx, r.Client)
	}
	var mu sync.Mutex
	var total usage
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		u, err := usageOf(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		total = usage{total.transferCalls + u.transferCalls, total.commands + u.commands, total.cpuSeconds + u.cpuSeconds}
		return err
	})
	return total, err
}

func usageOf(ctx context.Context, client redis.Cmdable) (usage, error) {
	var u usage
	for _, section := range []string{"commandstats", "stats", "cpu"} {
		// Several sections in one INFO need Redis 7.
		text, err := client.Info(ctx, section).Result()
		if err != nil {
			return usage{}, fmt.Errorf("INFO %s: %w", section, err)
		}
		if err := u.add(text); err != nil {
			return usage{}, fmt.Errorf("INFO %s: %w", section, err)
		}
	}
	if u.commands == 0 {
		return usage{}, errors.New("the server keeps no command statistics")
	}
	return u, nil
}

// add reads the lines of an INFO answer that matter.
func (u *usage) add(info string) error {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		var err error
		switch name {
		case "cmdstat_zrangebyscore":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			u.transferCalls, err = strconv.ParseInt(calls, 10, 64)
		case "total_commands_processed":
			u.commands, err = strconv.ParseInt(value, 10, 64)
		case "used_cpu_user", "used_cpu_sys":
			var seconds float64
			seconds, err = strconv.ParseFloat(value, 64)
			u.cpuSeconds += seconds
		}
		if err != nil {
			return fmt.Errorf("expected a number, got %q: %w", line, err)
		}
	}
	return nil
}
