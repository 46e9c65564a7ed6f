package load

import (
	"context"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// unblock ends the blocked commands of all connections of a name, with nothing taken.
func (r *Redis) unblock(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return r.Conn.EachMaster(ctx, func(ctx context.Context, _ string, master redis.Conn) error {
		return unblockOf(ctx, master, name)
	})
}

func unblockOf(ctx context.Context, conn redis.Conn, name string) error {
	list, err := conn.Do(ctx, "CLIENT", "LIST").Text()
	if err != nil {
		return err
	}
	ids := connections(list, name)
	if len(ids) == 0 {
		return nil
	}
	// The script has a server whose writes are paused put the transaction off: it
	// ends itself by CLIENT UNBLOCK of a client that was put off (seen with 7.0.15).
	calls := [][]any{{"EVAL", "return 1", 0}}
	for _, id := range ids {
		calls = append(calls, []any{"CLIENT", "UNBLOCK", id})
	}
	_, err = conn.Multi(ctx, calls...)
	return err
}

// connections are the ids of those of a name in an answer to CLIENT LIST.
func connections(list, name string) []string {
	var ids []string
	for line := range strings.Lines(list) {
		id, named := "", false
		for field := range strings.FieldsSeq(line) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "id":
				id = value
			case "name":
				named = value == name
			}
		}
		if named && id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
