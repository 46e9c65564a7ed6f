package dq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// slack is what a busy machine may add to a bound of the contract.
const slack = 2 * time.Second

// quick has a Client wait a quarter as long, or less, as it would.
func quick() dq.Option {
	return dq.WithTimes(conn.Times{
		Turn: time.Second, Overdue: 500 * time.Millisecond, Silent: time.Second, Quiet: 500 * time.Millisecond, Idle: time.Second,
		Refused: 700 * time.Millisecond,
	})
}

// through gives a bundle whose Client reaches the server over a proxy, while its redis
// looks at it directly.
func through(t *testing.T, s *redis.Server, options ...dq.Option) (*bundle, *redistest.Proxy) {
	t.Helper()
	p := redistest.NewProxy(t, s.Addr)
	return at(t, s, "redis://"+p.Addr, options...), p
}

// at gives a bundle whose Client uses that URL.
func at(t *testing.T, s *redis.Server, url string, options ...dq.Option) *bundle {
	t.Helper()
	b := &bundle{server: s, redis: connect(t, s.URL()), names: wire.NamesOf("orders")}
	client, err := dq.NewClient(connect(t, url), options...)
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	b.client = client
	b.queue = dq.NewTaker(client, "orders", codec.String{})
	return b
}

// as gives a bundle whose Client is a user with these rights, as ACL SETUSER takes them.
func as(t *testing.T, s *redis.Server, rights string, options ...dq.Option) *bundle {
	t.Helper()
	admin := connect(t, s.URL())
	args := []any{"ACL", "SETUSER", "app", "on", ">secret"}
	for _, right := range strings.Fields(rights) {
		args = append(args, right)
	}
	require.NoError(t, admin.Do(t.Context(), args...).Err())
	return at(t, s, "redis://app:secret@"+s.Addr, options...)
}

func closeWithin(t *testing.T, c *dq.Client, bound time.Duration) {
	t.Helper()
	closed := make(chan struct{})
	go func() { _ = c.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(bound):
		t.Errorf("Close takes more than %s:\n%s", bound, stacks())
		<-closed
	}
}

func stacks() string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	return text.String()
}

// within runs f and fails if that takes longer than bound.
func within(t *testing.T, bound time.Duration, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	require.Less(t, took, bound, "%s took too long", what)
	t.Logf("%s: %s", what, took.Round(time.Millisecond))
}

// sent and waiting match connections of a proxy.
func sent(words ...string) func(*proxy.Conn) bool {
	return func(c *proxy.Conn) bool { return c.Sent(words...) }
}

func waiting(words ...string) func(*proxy.Conn) bool {
	return func(c *proxy.Conn) bool { return c.Waiting(words...) }
}

// takeLoop takes until a value comes, over failures as a caller would.
func takeLoop(ctx context.Context, q *dq.Taker[string]) (string, error) {
	for {
		v, err := q.Take(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, dq.ErrClosed) {
			return v, err
		}
		time.Sleep(20 * time.Millisecond) // as a caller pauses
	}
}

// counted is values that came, each with how often.
type counted struct {
	mu   sync.Mutex
	seen map[string]int
	all  chan struct{} // closed when want different ones have come
	want int
}

func expect(want int) *counted {
	return &counted{seen: make(map[string]int), all: make(chan struct{}), want: want}
}

func (c *counted) add(values ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range values {
		c.seen[v]++
		if c.seen[v] == 1 && len(c.seen) == c.want {
			close(c.all)
		}
	}
}

// requireOnce fails unless every value has come by the end of ctx, each once.
func (c *counted) requireOnce(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-c.all:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing, twice []string
	for i := range c.want {
		switch n := c.seen[fmt.Sprint(i)]; {
		case n == 0:
			missing = append(missing, fmt.Sprint(i))
		case n > 1:
			twice = append(twice, fmt.Sprint(i))
		}
	}
	require.Empty(t, missing, "lost")
	require.Empty(t, twice, "came twice")
}

// observeReturned has the values that go back to a queue told on a channel.
func observeReturned() (dq.Option, <-chan dq.Requeued) {
	returned := make(chan dq.Requeued, 10)
	return on(func(e dq.Requeued) { returned <- e }), returned
}

// alone marks a test that counts goroutines: it does not run beside others.
func alone(t *testing.T) (noLeak func()) {
	t.Helper()
	before := runtime.NumGoroutine()
	return func() {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(until) {
				require.Fail(t, "goroutines leak", "%d before, now:\n%s", before, stacks())
			}
		}
	}
}
