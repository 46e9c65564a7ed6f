package dq

import (
	"context"
	"fmt"
	"strings"

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
	return c.run(ctx, "EVALSHA", name, keys, args)
}

// evalRead runs a script that only reads. Releases that send EVALSHA send
// EVALSHA_RO for these, and EVALSHA to a server before Redis 7, which answers
// that it does not know the command.
func (c *Client) evalRead(ctx context.Context, name string, keys []string, args ...any) (any, error) {
	if c.noReadScripts.Load() {
		return c.eval(ctx, name, keys, args...)
	}
	reply, err := c.run(ctx, "EVALSHA_RO", name, keys, args)
	if err != nil && strings.HasPrefix(err.Error(), "ERR unknown command") {
		c.noReadScripts.Store(true)
		return c.eval(ctx, name, keys, args...)
	}
	return reply, err
}

func (c *Client) run(ctx context.Context, bySHA, name string, keys []string, args []any) (any, error) {
	script, err := c.script(name)
	if err != nil {
		return nil, err
	}
	key := keys[0]
	if !c.release.CachesScripts() {
		return nilIsNoError(c.do(ctx, key, evalCommand("EVAL", script.Body, keys, args)...))
	}
	command := evalCommand(bySHA, script.SHA1, keys, args)
	reply, err := c.do(ctx, key, command...)
	if isNoScript(err) {
		if err := c.loadScript(ctx, key, script); err != nil {
			return nil, err
		}
		reply, err = c.do(ctx, key, command...)
	}
	return nilIsNoError(reply, err)
}

// script returns the variant that the client's release sends.
func (c *Client) script(name string) (*wire.Script, error) {
	script, ok := c.release.Script(name)
	if !ok {
		return nil, fmt.Errorf("%w: Redisson %s has no %s", ErrUnsupported, c.release, name)
	}
	return script, nil
}

func (c *Client) loadScript(ctx context.Context, key string, script *wire.Script) error {
	_, err := c.do(ctx, key, "SCRIPT", "LOAD", script.Body)
	return err
}

func isNoScript(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }

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
