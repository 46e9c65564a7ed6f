package dq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// What the error of an offer says of the value, by what the server refuses.
func TestFaultWhatARefusedOfferLeaves(t *testing.T) {
	t.Parallel()
	const all = "~* &* +@all"
	for _, c := range []struct {
		name, rights string
		prepare      func(ctx context.Context, b *bundle) error
		code         string
		uncertain    bool
		queued       int64 // in the timeout set
	}{
		{
			"the pending list is a string", all,
			func(ctx context.Context, b *bundle) error { return b.redis.Set(ctx, b.names.Pending, "x", 0).Err() },
			"WRONGTYPE", true, 1,
		},
		{
			// The first write fails here, but the server's words are those of the case above.
			"the timeout set is a string", all,
			func(ctx context.Context, b *bundle) error { return b.redis.Set(ctx, b.names.TimeoutSet, "x", 0).Err() },
			"WRONGTYPE", true, 0,
		},
		{"the user may not publish there", "~* resetchannels +@all", nil, "channel", true, 1},
		{"the user may not send PUBLISH", all + " -publish", nil, "", true, 1},
		{"the user may not send EVALSHA or EVAL", all + " -evalsha -eval", nil, "NOPERM", false, 0},
		{"the user may not use the key", "~other &* +@all", nil, "NOPERM", false, 0},
		{
			"a replica", all,
			func(ctx context.Context, b *bundle) error {
				return b.redis.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err()
			},
			"READONLY", false, 0,
		},
		{
			"a master that is not replicated", all,
			func(ctx context.Context, b *bundle) error {
				return b.redis.ConfigSet(ctx, "min-replicas-to-write", "1").Err()
			},
			"NOREPLICAS", false, 0,
		},
		{
			"a server without memory", all,
			func(ctx context.Context, b *bundle) error { return b.redis.ConfigSet(ctx, "maxmemory", "1").Err() },
			"OOM", false, 0,
		},
	} {
		for _, release := range []string{"3.16.6", "3.21.3", "4.7.0"} { // EVAL, EVALSHA
			t.Run(c.name+"/"+release, func(t *testing.T) {
				t.Parallel()
				b := as(t, redistest.Redis(t), c.rights, dq.WithRelease(release), dq.WithOfferRetryTimeout(100*time.Millisecond))
				ctx := deadline(t)
				if c.prepare != nil {
					require.NoError(t, c.prepare(ctx, b))
				}
				err := dq.NewSender(b.queue).Offer(ctx, "v", time.Hour)
				require.ErrorContains(t, err, c.code)
				require.Equal(t, c.uncertain, errors.Is(err, dq.ErrUncertain), "%v", err)
				n, _ := b.redis.ZCard(ctx, b.names.TimeoutSet).Result()
				require.Equal(t, c.queued, n)
			})
		}
	}
}

func TestFaultAnOfferOverABrokenNetwork(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), dq.WithOfferRetryTimeout(100*time.Millisecond))
	ctx := deadline(t)
	d := b.delayed(t)
	require.NoError(t, d.Offer(ctx, "v", time.Hour))

	calls, err := p.Wait(ctx, func(c *proxy.Conn) bool {
		return c.Sent("EVALSHA") && len(offers(c)) > 0
	})
	require.NoError(t, err)
	before := len(offers(calls))
	calls.Set(proxy.Fault{Drop: proxy.Replies})
	offered := make(chan error, 1)
	go func() { offered <- d.Offer(ctx, "w", time.Hour) }()
	require.NoError(t, p.Until(ctx, func() bool { return len(offers(calls)) > before }))
	calls.Reset()
	require.ErrorIs(t, <-offered, dq.ErrUncertain, "it was sent, and nobody answered")

	p.Refuse()
	p.Reset()
	require.Eventually(t, func() bool {
		err = d.Offer(ctx, "x", time.Hour)
		return !errors.Is(err, dq.ErrUncertain)
	}, testDeadline, time.Millisecond, "a connection that broke may swallow one offer")
	require.ErrorContains(t, err, "refused")
	p.Heal()
	require.NoError(t, d.Offer(ctx, "y", time.Hour))
}

// offers returns the offers that a connection carried, recognised by their four keys.
func offers(c *proxy.Conn) (found [][]string) {
	for _, command := range c.Commands() {
		if command[0] == "EVALSHA" && len(command) > 2 && command[2] == "4" && len(command) == 10 {
			found = append(found, command)
		}
	}
	return found
}

// A caller that may take an error at its word offers each value exactly once, whatever
// becomes of the server's scripts meanwhile.
func TestFaultOfferAllWhileScriptsAreFlushed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, done := context.WithCancel(deadline(t))
	d := b.delayed(t)
	var flusher sync.WaitGroup
	flushes := 0
	flusher.Go(func() {
		for ctx.Err() == nil {
			_ = pauseFor(ctx, time.Duration(rand.Int64N(int64(4*time.Millisecond))))
			if b.redis.ScriptFlush(ctx).Err() == nil {
				flushes++
			}
		}
	})
	const total = 10_000
	values := make([]string, total)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	for len(values) > 0 {
		n, err := d.OfferAll(ctx, time.Hour, values...)
		values = values[n:]
		if err != nil {
			require.NotErrorIs(t, err, dq.ErrUncertain)
			t.Log(err)
		}
	}
	done()
	flusher.Wait()
	t.Logf("%d flushes", flushes)
	got := expect(total)
	all, err := d.ReadAll(deadline(t))
	require.NoError(t, err)
	for _, v := range all {
		got.add(v)
	}
	got.requireOnce(t, deadline(t))
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
