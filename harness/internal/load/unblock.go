package load

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// unblock ends the blocked commands of all connections of a name, with nothing taken.
func (r *Redis) unblock(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if cluster, ok := r.Client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return unblockOf(ctx, master, name)
		})
	}
	return unblockOf(ctx, r.Client, name)
}

func unblockOf(ctx context.Context, client redis.Cmdable, name string) error {
	list, err := client.ClientList(ctx).Result()
	if err != nil {
		return err
	}
	ids := connections(list, name)
	if len(ids) == 0 {
		return nil
	}
	_, err = client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		// The script has a server whose writes are paused put the transaction off: it
		// ends itself by CLIENT UNBLOCK of a client that was put off (seen with 7.0.15).
		p.Eval(ctx, "return 1", nil)
		for _, id := range ids {
			p.Do(ctx, "CLIENT", "UNBLOCK", id)
		}
		return nil
	})
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
