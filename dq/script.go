package dq

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// eval runs the named script in the variant and the manner of the client's
// release. Before 3.46.0 that is EVAL with the whole text. Since then it is
// EVALSHA, and where the server does not know the script: SCRIPT LOAD, then
// EVALSHA again. A script that was not known has not run, so that nothing is
// done twice.
//
// A nil reply comes back as nil without an error.
func (c *Client) eval(ctx context.Context, name string, keys []string, args ...any) (any, error) {
	script, ok := c.release.Script(name)
	if !ok {
		return nil, fmt.Errorf("dq: Redisson %s has no script %q", c.release, name)
	}
	key := keys[0]
	if !c.release.CachesScripts() {
		return nilIsNoError(c.do(ctx, key, evalCommand("EVAL", script.Body, keys, args)...))
	}
	command := evalCommand("EVALSHA", script.SHA1, keys, args)
	reply, err := c.do(ctx, key, command...)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err := c.loadScript(ctx, key, script); err != nil {
			return nil, err
		}
		reply, err = c.do(ctx, key, command...)
	}
	return nilIsNoError(reply, err)
}

func (c *Client) loadScript(ctx context.Context, key string, script *wire.Script) error {
	_, err := c.do(ctx, key, "SCRIPT", "LOAD", script.Body)
	return err
}

func evalCommand(command, script string, keys []string, args []any) []any {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, command, script, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	return append(all, args...)
}

func nilIsNoError(reply any, err error) (any, error) {
	if err == redis.Nil { //nolint:errorlint // go-redis returns this very value for a nil reply
		return nil, nil
	}
	return reply, err
}
