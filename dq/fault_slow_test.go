package dq_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A value that takes longer to arrive than a silent connection is given is no loss.
func TestFaultASlowValueArrives(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	p.Set(proxy.Fault{Bandwidth: 330_000}, nil)
	b := at(t, s, "redis://"+p.Addr+"?read_timeout=1s", quick())
	q, ctx := b.queue, deadline(t)
	value := strings.Repeat("x", 1<<20) // about 3 s
	require.NoError(t, b.redis.RPush(ctx, "orders", value, value).Err())
	got := make(chan error, 2)
	check := func(v string, err error) {
		if err == nil && v != value {
			err = fmt.Errorf("%d bytes", len(v))
		}
		got <- err
	}
	go func() { check(q.Take(ctx)) }()
	go func() { check(q.Poll(ctx)) }()
	require.NoError(t, <-got)
	require.NoError(t, <-got)
}
