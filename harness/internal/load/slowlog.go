package load

import (
	"context"
	"fmt"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// slowlog is how the slow log of one server stands.
type slowlog struct {
	// next is the number after that of the latest entry. Numbers go on when the log is
	// emptied; it is 0 where there is no entry to tell.
	next int64
	// length is how many entries are kept, which is bounded by the server.
	length int64
}

// since is how many entries have been added since it stood as before.
func (s slowlog) since(before slowlog) int64 {
	if before.next == 0 {
		return s.length
	}
	return max(s.next-before.next, 0)
}

// slowlogs are those of all masters, by their addresses; nil where they cannot be read.
type slowlogs map[string]slowlog

// since is how many entries all have together; nil where they cannot be compared.
func (s slowlogs) since(before slowlogs) *int64 {
	if s == nil || before == nil {
		return nil
	}
	added := int64(0)
	for address, log := range s {
		earlier, ok := before[address]
		if !ok {
			return nil // a server that was no master then
		}
		added += log.since(earlier)
	}
	return &added
}

// slowlogs reads them. It returns nil where the server has none or the user may not: no
// run fails for that.
func (r *Redis) slowlogs(ctx context.Context) slowlogs {
	all, err := eachMaster(ctx, r.Conn, slowlogOf)
	if err != nil {
		return nil
	}
	return all
}

func slowlogOf(ctx context.Context, conn redis.Conn) (slowlog, error) {
	entries, err := conn.Do(ctx, "SLOWLOG", "GET", 1).Slice()
	if err != nil || len(entries) == 0 {
		return slowlog{}, err
	}
	latest, _ := entries[0].([]any)
	if len(latest) == 0 {
		return slowlog{}, fmt.Errorf("SLOWLOG GET: expected an entry, got %.80q", fmt.Sprint(entries[0]))
	}
	id, _ := latest[0].(int64)
	length, err := conn.Do(ctx, "SLOWLOG", "LEN").Int64()
	return slowlog{id + 1, length}, err
}
