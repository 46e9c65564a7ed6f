package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
)

// singleConnection returns a client whose connection never changes, so that its
// commands can be told apart in MONITOR.
func singleConnection(options *redis.Options) *redis.Client {
	o := *options
	o.PoolSize, o.MinIdleConns, o.ConnMaxIdleTime, o.MaxRetries = 1, 0, -1, -1
	o.DisableIdentity, o.Protocol = true, 2
	return redis.NewClient(&o)
}

// doer is a client whose connection never changes.
type doer interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// infoOf returns what the server knows of a client's connection. Redis before 6.2 is asked for all.
func infoOf(ctx context.Context, client doer) (guest.Client, error) {
	infos, err := clientsOf(ctx, client, "info")
	if guest.Refused(err) {
		infos, err = clientsOf(ctx, client, "list")
	}
	if err != nil {
		return guest.Client{}, fmt.Errorf("asking the server for the address of a connection: %w", err)
	}
	if len(infos) == 1 {
		return infos[0], nil
	}
	id, err := client.Do(ctx, "client", "id").Int64()
	if i := slices.IndexFunc(infos, func(c guest.Client) bool { return c.ID == id }); i >= 0 {
		return infos[i], nil
	}
	return guest.Client{}, errors.Join(fmt.Errorf("asking the server for the address of a connection: CLIENT LIST does not name %d", id), err)
}

// clientsOf reads the lines of CLIENT INFO or LIST.
func clientsOf(ctx context.Context, client doer, how string) ([]guest.Client, error) {
	text, err := client.Do(ctx, "client", how).Text()
	return guest.ParseClients(text), err
}
