package dq_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A handshake takes longer than the dial time-out, and a value arrives after its taker is gone. The bounds are a fifth of the
// usual ones.
func TestFaultAFarServerGetsBackWhatComesTooLate(t *testing.T) {
	t.Parallel()
	const takes = 20
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	p.Set(proxy.Fault{Delay: 480 * time.Millisecond}, nil)
	rdb := connect(t, "redis://"+p.Addr+"?dial_timeout=1s")
	observe, returned := observeReturned()
	client, err := dq.NewClient(rdb, observe, dq.WithTimes(conn.Times{Cancel: 200 * time.Millisecond}))
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	direct, ctx := connect(t, s.URL()), deadline(t)
	short, cancel := context.WithCancel(ctx)
	taken := make(chan error, takes)
	for i := range takes {
		go func() {
			_, err := takeLoop(short, dq.NewTaker(client, fmt.Sprint("orders", i), codec.String{}))
			taken <- err
		}()
	}
	require.Eventually(t, func() bool { return strings.Count(direct.ClientList(ctx).Val(), "flags=b ") == takes }, testDeadline, time.Millisecond)
	_, err = direct.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range takes {
			p.RPush(ctx, fmt.Sprint("orders", i), "v")
		}
		return nil
	})
	cancel()
	require.NoError(t, err)
	late := 0
	for range takes {
		if err := <-taken; err != nil { // on a busy machine some may have come in time
			require.ErrorIs(t, err, context.Canceled)
			late++
		}
	}
	require.Positive(t, late)
	for range late {
		select {
		case e := <-returned:
			require.NoError(t, e.Err)
		case <-ctx.Done():
			require.Fail(t, "not returned")
		}
	}
	back := 0
	for i := range takes {
		back += int(direct.LLen(ctx, fmt.Sprint("orders", i)).Val())
	}
	require.Equal(t, late, back, "each once")
}

// A server that never ends its reply, as after a fault of its memory, takes none of the process's.
func TestFaultAReplyWithoutEnd(t *testing.T) {
	t.Parallel()
	endless := "*1000000\r\n" + strings.Repeat("$5\r\nvalue\r\n", 200_000) // 2 MB of 11
	address := answering(t, func(command []string) string {
		switch {
		case command[0] == "EVALSHA_RO" || command[0] == "BLPOP":
			return endless
		case strings.EqualFold(command[0], "hello"):
			return "-ERR unknown command 'HELLO'\r\n"
		}
		return ":1\r\n"
	})
	client, err := dq.NewClient(connect(t, "redis://"+address), dq.WithMostReply(1<<20))
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	q := dq.NewTaker(client, "orders", codec.String{})
	_, err = client.Redisson(deadline(t), wire.ScriptReadAll, []string{"T"})
	require.ErrorContains(t, err, "without end")
	_, err = q.Take(deadline(t))
	require.ErrorContains(t, err, "without end")
	n, err := q.Size(deadline(t))
	require.NoError(t, err, "the next call has another connection")
	require.Equal(t, 1, n)
}

// Whoever imports dq keeps the logger of go-redis, and every other thing that a process has once.
func TestImportingChangesNothing(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "internal/conn", "clock", "scripts", "wire"} {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if !strings.HasSuffix(file, "_test.go") {
				require.NotContains(t, string(text), "\nfunc init()", file)
				require.NotContains(t, string(text), "redis.SetLog", file)
			}
		}
	}
}
