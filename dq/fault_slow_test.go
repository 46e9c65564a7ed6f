package dq_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// throttled reads no more than a part at a time, as from a slow network.
type throttled struct {
	net.Conn
	part  int
	every time.Duration
}

func (c throttled) Read(p []byte) (int, error) {
	time.Sleep(c.every)
	return c.Conn.Read(p[:min(len(p), c.part)])
}

// throttledClient reads 330 kB a second.
func throttledClient(t *testing.T, s *redis.Server) *dq.Client {
	t.Helper()
	opt, err := goredis.ParseURL(s.URL())
	require.NoError(t, err)
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return throttled{conn, 8 << 10, 25 * time.Millisecond}, err
	}
	opt.ReadTimeout = time.Second
	rdb := goredis.NewClient(opt)
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := dq.NewClient(rdb, quick())
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	return client
}

// A value that takes longer to arrive than a silent connection is given is no loss.
func TestFaultASlowValueArrives(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	admin := connect(t, s.URL())
	q := dq.NewTaker(throttledClient(t, s), "orders", codec.String{})
	ctx := deadline(t)
	value := strings.Repeat("x", 1<<20) // about 3 s
	require.NoError(t, admin.RPush(ctx, "orders", value, value).Err())
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
