package forensics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// which nodes of a cluster are asked.
type which bool

const (
	masters  which = false
	allNodes which = true // replicas too
)

// eachNode calls visit for one node after the other; for a server that is no cluster,
// once.
func eachNode(ctx context.Context, client redis.Conn, nodes which, visit func(context.Context, redis.Conn) error) error {
	var one sync.Mutex
	inTurn := func(ctx context.Context, _ string, node redis.Conn) error {
		one.Lock()
		defer one.Unlock()
		return visit(ctx, node)
	}
	if nodes == allNodes {
		return client.EachNode(ctx, inTurn)
	}
	return client.EachMaster(ctx, inTurn)
}

// scanCount is how many keys a SCAN looks at, some tenths of a millisecond.
const scanCount = 500

// Queues finds all delayed queues of a server or cluster, by the names of their keys,
// and returns those of their destinations, sorted.
func Queues(ctx context.Context, client redis.Conn) ([]string, error) {
	found := map[string]bool{}
	err := eachNode(ctx, client, masters, func(ctx context.Context, node redis.Conn) error {
		for cursor := "0"; ; {
			keys, next, err := redis.Page(node.Do(ctx, "SCAN", cursor, "MATCH", wire.KeyPattern, "COUNT", scanCount))
			if err != nil {
				return fmt.Errorf("SCAN: %w", err)
			}
			for _, key := range keys {
				if dest, ok := destinationOf(key); ok {
					found[dest] = true
				}
			}
			if cursor = next; cursor == "0" {
				return nil
			}
		}
	})
	return slices.Sorted(maps.Keys(found)), err
}

// ScriptsSeen returns the scripts of Redisson that a server, or a node of a cluster,
// has in its cache: somebody ran or loaded them since it started, or since the last
// SCRIPT FLUSH, for whichever queue.
func ScriptsSeen(ctx context.Context, client redis.Conn) ([]wire.Script, error) {
	all := wire.Scripts()
	call := []any{"SCRIPT", "EXISTS"}
	for _, s := range all {
		call = append(call, s.SHA1)
	}
	seen := make([]bool, len(all))
	err := eachNode(ctx, client, masters, func(ctx context.Context, node redis.Conn) error {
		there, err := node.Do(ctx, call...).BoolSlice()
		for i := range min(len(there), len(seen)) {
			seen[i] = seen[i] || there[i]
		}
		return err
	})
	var cached []wire.Script
	for i, s := range all {
		if seen[i] {
			cached = append(cached, s)
		}
	}
	return cached, err
}
