package load

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const deadline = 30 * time.Second

// client tries each command once, and never again.
func client(t *testing.T, url string) *goredis.Client {
	t.Helper()
	options, err := goredis.ParseURL(url)
	require.NoError(t, err)
	options.MaxRetries, options.DialerRetries = -1, 1
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr)
	}
	c := goredis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// prepared has the faults of a plan ready on a server of their own.
func prepared(t *testing.T, redisSpec string, faults ...plan.Fault) (*Injector, *redis.Server, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := StartServer(ctx, redisSpec, faults, nil)
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	p := plan.DefaultPlan()
	p.Queue, p.Faults, p.Duration = "q", faults, time.Minute
	require.NoError(t, p.Validate())
	in, err := NewInjector(s, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, in.Close()) })
	return in, s, ctx
}

// While a fault lasts a client meets the error that it is named for. A run that is interrupted undoes the fault under way, and does
// no other one.
func TestEachFaultIsMetWhileItLasts(t *testing.T) {
	t.Parallel()
	const long = 20 * time.Second
	for _, tc := range []struct {
		fault plan.Fault
		want  string
	}{
		{plan.Fault{Kind: "stall", For: long}, "timeout"},
		{plan.Fault{Kind: "slow", For: long, Latency: long}, "timeout"},
		{plan.Fault{Kind: "refuse", For: long}, "refused"},
		{plan.Fault{Kind: plan.LoseReplies, For: long, Count: 1, Commands: []string{"set"}}, "reset"},
		{plan.Fault{Kind: plan.LoseRequests, For: long, Count: 1, Commands: []string{"SET"}}, "reset"},
		{plan.Fault{Kind: "pause-clients", For: 500 * time.Millisecond}, "timeout"}, // it ends by itself
		{plan.Fault{Kind: "oom", For: long}, "OOM"},
		{plan.Fault{Kind: "misconf", For: long}, "MISCONF"},
		{plan.Fault{Kind: "readonly", For: long}, "READONLY"},
		{plan.Fault{Kind: "busy", For: long}, "BUSY"},
		{plan.Fault{Kind: "max-clients", For: long}, "reset"}, // go-redis does not pass the server's reason on
		{plan.Fault{Kind: "halt", For: long}, "timeout"},
		{plan.Fault{Kind: "kill-server", For: long, AOF: "always"}, "reset"},
		{plan.Fault{Kind: plan.Loading, For: 2 * time.Second}, "LOADING"}, // it ends with the start
	} {
		t.Run(tc.fault.Kind, func(t *testing.T) {
			t.Parallel()
			in, _, ctx := prepared(t, "process", tc.fault, plan.Fault{Kind: "flush-all", At: plan.Span{Min: long + time.Second, Max: long + time.Second}})
			running, interrupt := context.WithCancel(ctx)
			ended := make(chan []Event, 1)
			go func() { ended <- in.run(running, time.Now()) }()
			c := client(t, in.URL()+"?read_timeout=300ms")
			set := func() error { return c.Set(ctx, "key", "value", 0).Err() }
			require.Eventually(t, func() bool { return is(set(), tc.want) }, deadline, time.Millisecond, "%s was not met", tc.want)
			interrupt()
			events := <-ended
			require.Eventually(t, func() bool { return set() == nil }, deadline, time.Millisecond)
			require.Len(t, events, 1)
			require.NoError(t, events[0].Err)
		})
	}
}

// What is done at once has been done when it is over.
func TestFaultsThatAreDoneAtOnce(t *testing.T) {
	t.Parallel()
	ms := func(n int) plan.Span {
		return plan.Span{Min: time.Duration(n) * time.Millisecond, Max: time.Duration(n) * time.Millisecond}
	}
	in, s, ctx := prepared(t, "process",
		plan.Fault{Kind: "flush-scripts", At: ms(0)}, plan.Fault{Kind: "foreign-members", At: ms(1), Count: 3},
		plan.Fault{Kind: "cut", At: ms(2)}, plan.Fault{Kind: "kill-clients", At: ms(3)},
	)
	c := client(t, in.URL())
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	sha := c.ScriptLoad(ctx, "return 1").Val()
	events := in.run(ctx, time.Now())
	_, err = sub.Receive(ctx)
	require.Error(t, err, "it is cut")
	for _, e := range events {
		require.NoError(t, e.Err, e.Kind)
	}
	beside := redistest.Client(s)
	defer beside.Close()
	require.Equal(t, []bool{false}, beside.ScriptExists(ctx, sha).Val())
	names := wire.NamesOf("q")
	pending := beside.LRange(ctx, names.Pending, 0, -1).Val()
	require.Len(t, pending, 6)
	require.Equal(t, int64(6), beside.ZCard(ctx, names.TimeoutSet).Val())
	member, err := wire.LayoutDLc0.Unpack([]byte(pending[0]))
	require.NoError(t, err)
	require.Equal(t, "foreign-0", string(member.Value))
}

// A server that has no file comes back empty, one that has comes back as it was.
func TestWhatAKilledServerKeeps(t *testing.T) {
	t.Parallel()
	for aof, kept := range map[string]int64{"always": 1, "everysec": 1, "no": 1, "off": 0} {
		t.Run(aof, func(t *testing.T) {
			t.Parallel()
			in, s, ctx := prepared(t, "process", plan.Fault{Kind: "kill-server", For: 50 * time.Millisecond, AOF: aof})
			c := client(t, in.URL())
			require.NoError(t, c.Set(t.Context(), "key", "value", 0).Err())
			require.NoError(t, in.run(ctx, time.Now())[0].Err)
			beside := redistest.Client(s)
			defer beside.Close()
			require.Equal(t, kept, beside.Exists(t.Context(), "key").Val())
		})
	}
}

// A fault whose command never comes did not happen, and says so.
func TestAFaultThatDoesNotHappenSaysSo(t *testing.T) {
	t.Parallel()
	in, _, ctx := prepared(t, "embedded", plan.Fault{Kind: plan.LoseReplies, For: 100 * time.Millisecond, Count: 1})
	require.ErrorContains(t, in.run(ctx, time.Now())[0].Err, "no such command came within 100ms")
}

// usage.txt of the command has the servers that cannot.
func TestFaultsThatAServerCanHave(t *testing.T) {
	for server, kind := range map[string]string{"auto": "kill-server", "process:/x": "halt", "container": "oom", "embedded": "cut", "redis://h": "cut"} {
		require.NoError(t, CheckFaults(server, []plan.Fault{{Kind: kind}}))
	}
	require.NoError(t, CheckFaults("redis+cluster://h", nil))
}

// is reports whether an error is a time-out, or has a text.
func is(err error, want string) bool {
	var timeout net.Error
	switch {
	case err == nil:
		return false
	case want == "timeout":
		return errors.As(err, &timeout) && timeout.Timeout()
	}
	return strings.Contains(err.Error(), want) || want == "reset" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE))
}
