package dq_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A server that accepts and says nothing, as one whose process stands still.
func TestFaultTakesDoNotPileUpDials(t *testing.T) {
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	direct, rdb := connect(t, s.URL()), connect(t, "redis://"+p.Addr)
	noLeak := alone(t)
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	queue := dq.NewTaker(client, "orders", codec.String{})
	p.Set(proxy.Fault{Stall: true}, nil)
	within(t, 300*time.Millisecond+slack, "300 takes of 0 to 1 ms", func() {
		for i := range 300 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%2)*time.Millisecond)
			_, err := queue.Take(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	})
	require.LessOrEqual(t, p.Accepted(), 10, "connections that were dialled")
	p.Heal()
	require.NoError(t, direct.RPush(t.Context(), "orders", "v").Err())
	v, err := queue.Take(deadline(t))
	require.NoError(t, err)
	require.Equal(t, "v", v)

	p.Set(proxy.Fault{Stall: true}, nil)
	closeWithin(t, client, time.Second+slack)
	p.Heal()
	noLeak()
}

func TestFaultADeadBlockingConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), quick())
	ctx := deadline(t)
	const values = 50
	got := make(chan string, values)
	go func() {
		for {
			v, err := b.queue.Take(ctx)
			if err != nil {
				return
			}
			got <- v
		}
	}()
	dead, err := p.Wait(ctx, waiting("BLPOP"))
	require.NoError(t, err)
	waitBlocked(t, b.redis)
	dead.Set(proxy.Fault{Drop: proxy.Both})
	for i := range values {
		require.NoError(t, b.redis.RPush(ctx, "orders", fmt.Sprint(i)).Err())
	}
	// The server gave the first value to the connection that is dead.
	within(t, 10*time.Second+slack, "the first value over a new connection", func() {
		for i := 1; i < values; i++ {
			require.Equal(t, fmt.Sprint(i), <-got)
		}
	})
	n, err := b.queue.Size(ctx)
	require.NoError(t, err)
	require.Zero(t, n, "nothing is left waiting")
	// The server has been told to end the command of the dead connection, which takes nothing later.
	_, err = p.Wait(ctx, func(c *proxy.Conn) bool { return c != dead && c.Waiting("BLPOP") })
	require.NoError(t, err)
	require.NoError(t, b.redis.RPush(ctx, "orders", "later").Err())
	require.Equal(t, "later", <-got)
	for _, c := range p.Conns(nil) {
		for _, command := range c.Commands() {
			if command[0] == "BLPOP" {
				require.Equal(t, []string{"BLPOP", "orders", "1"}, command)
			}
		}
	}
}

func TestFaultManyCancelledTakesLeaveFewConnections(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), dq.WithTimes(conn.Times{Idle: time.Second}))
	ctx, cancel := context.WithCancel(deadline(t))
	var takers sync.WaitGroup
	for range 100 {
		takers.Go(func() { _, _ = b.queue.Take(ctx) })
	}
	blocked := waiting("BLPOP")
	require.NoError(t, p.Until(deadline(t), func() bool { return len(p.Conns(blocked)) == 100 }))
	cancel()
	within(t, time.Second+slack, "100 cancelled takes", takers.Wait)
	ctx = deadline(t)
	within(t, 5*time.Second, "until few connections are left", func() {
		require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(nil)) <= 20 }))
	})
	within(t, 10*time.Second, "until the idle ones are closed", func() {
		require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(sent("BLPOP"))) == 0 }))
	})
	require.NoError(t, b.redis.RPush(ctx, "orders", "v").Err())
	v, err := b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "v", v)
}
