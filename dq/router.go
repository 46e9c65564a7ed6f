package dq

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// router finds the server that owns a key and sends it commands, each once: a
// command whose reply is lost is not sent again.
type router interface {
	do(ctx context.Context, key string, args []any) (any, error)
	// pipeline runs commands on the server that owns key, one after the other on
	// one connection without waiting in between. It returns one reply each; an
	// error reply is in its place, a broken connection fails the whole.
	pipeline(ctx context.Context, key string, commands [][]any) ([]*redis.Cmd, error)
	// transaction runs commands atomically.
	transaction(ctx context.Context, key string, commands [][]any) ([]*redis.Cmd, error)
	// options returns how to connect to the server that owns key.
	options(ctx context.Context, key string) (*redis.Options, error)
	close() error
}

// onceOptions returns a copy of opt for a client that never sends a command
// twice. Options that were resolved already are put back into the form in which
// go-redis reads them: it takes 0 for "default" and -1 for "none".
func onceOptions(opt *redis.Options) *redis.Options {
	o := *opt
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.ReadTimeout = unresolved(o.ReadTimeout)
	o.WriteTimeout = unresolved(o.WriteTimeout)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}

func unresolved(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return -1
	}
	return timeout
}

type singleRouter struct{ client *redis.Client }

func newSingleRouter(rdb *redis.Client) *singleRouter {
	return &singleRouter{redis.NewClient(onceOptions(rdb.Options()))}
}

func (r *singleRouter) do(ctx context.Context, _ string, args []any) (any, error) {
	return r.client.Do(ctx, args...).Result()
}

func (r *singleRouter) pipeline(ctx context.Context, _ string, commands [][]any) ([]*redis.Cmd, error) {
	return execute(ctx, r.client.Pipeline(), commands)
}

func (r *singleRouter) transaction(ctx context.Context, _ string, commands [][]any) ([]*redis.Cmd, error) {
	return execute(ctx, r.client.TxPipeline(), commands)
}

// execute fails with the first reply that is an error.
func execute(ctx context.Context, p redis.Pipeliner, commands [][]any) ([]*redis.Cmd, error) {
	replies := make([]*redis.Cmd, len(commands))
	for i, args := range commands {
		replies[i] = p.Do(ctx, args...)
	}
	_, err := p.Exec(ctx)
	_, err = nilIsNoError(nil, err)
	return replies, err
}

func (r *singleRouter) options(context.Context, string) (*redis.Options, error) {
	return r.client.Options(), nil
}

func (r *singleRouter) close() error { return r.client.Close() }

// clusterRouter asks go-redis who owns a key and follows redirections itself:
// its cluster client would also repeat a command after a network error.
type clusterRouter struct{ cluster *redis.ClusterClient }

// maxRedirects bounds how often one command is redirected while slots move.
const maxRedirects = 5

func newClusterRouter(rdb *redis.ClusterClient) *clusterRouter {
	o := *rdb.Options()
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.ReadTimeout = unresolved(o.ReadTimeout)
	o.WriteTimeout = unresolved(o.WriteTimeout)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &clusterRouter{redis.NewClusterClient(&o)}
}

func (r *clusterRouter) do(ctx context.Context, key string, args []any) (any, error) {
	var err error
	for range maxRedirects {
		var node *redis.Client
		node, err = r.cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		var reply any
		reply, err = node.Do(ctx, args...).Result()
		if !isRedirect(err) {
			return reply, err
		}
		// A redirected command was not executed, so it may be sent again.
		r.cluster.ReloadState(ctx)
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, err
}

func (r *clusterRouter) pipeline(ctx context.Context, key string, commands [][]any) ([]*redis.Cmd, error) {
	node, err := r.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return execute(ctx, node.Pipeline(), commands)
}

func (r *clusterRouter) transaction(ctx context.Context, key string, commands [][]any) ([]*redis.Cmd, error) {
	node, err := r.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return execute(ctx, node.TxPipeline(), commands)
}

func (r *clusterRouter) options(ctx context.Context, key string) (*redis.Options, error) {
	node, err := r.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return node.Options(), nil
}

func (r *clusterRouter) close() error { return r.cluster.Close() }

func isRedirect(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	text := reply.Error()
	return strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "ASK ") || strings.HasPrefix(text, "TRYAGAIN")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
