package fault_test

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
	"github.com/dq-bench/dq-bench/harness/internal/fault"
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
func prepared(t *testing.T, redisSpec string, faults ...plan.Fault) (*fault.Injector, *redis.Server, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := fault.Start(ctx, redisSpec, faults, nil)
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	p := plan.DefaultPlan()
	p.Queue, p.Faults, p.Duration = "q", faults, time.Minute
	require.NoError(t, p.Validate())
	in, err := fault.New(s, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, in.Close()) })
	return in, s, ctx
}

// injected begins the faults of a plan on a server of their own, and tells when they are over.
func injected(t *testing.T, redisSpec string, faults ...plan.Fault) (*fault.Injector, *redis.Server, <-chan struct{}) {
	t.Helper()
	in, s, ctx := prepared(t, redisSpec, faults...)
	over := make(chan struct{})
	go func() {
		defer close(over)
		in.Run(ctx, time.Now())
	}()
	return in, s, over
}

// While a fault lasts a client meets what it is named for, and none once it is over.
func TestEachFaultIsMetWhileItLasts(t *testing.T) {
	t.Parallel()
	const long = time.Second
	for _, tc := range []struct {
		fault plan.Fault
		want  string
	}{
		{plan.Fault{Kind: plan.Stall, For: long}, "timeout"},
		{plan.Fault{Kind: plan.Slow, For: long, Latency: long}, "timeout"},
		{plan.Fault{Kind: plan.Narrow, For: long, Bandwidth: 10}, "timeout"},
		{plan.Fault{Kind: plan.Refuse, For: long}, "refused"},
		{plan.Fault{Kind: plan.CutInTurn, For: long, Count: 2}, "reset"},
		{plan.Fault{Kind: plan.LoseReplies, For: long, Count: 1, Commands: []string{"set"}}, "reset"},
		{plan.Fault{Kind: plan.LoseRequests, For: long, Count: 1, Commands: []string{"SET"}}, "reset"},
		{plan.Fault{Kind: plan.PauseClients, For: long}, "timeout"},
		{plan.Fault{Kind: plan.OutOfMemory, For: long}, "OOM"},
		{plan.Fault{Kind: plan.NoSnapshots, For: long}, "MISCONF"},
		{plan.Fault{Kind: plan.ReadOnly, For: long}, "READONLY"},
		{plan.Fault{Kind: plan.Busy, For: long}, "BUSY"},
		{plan.Fault{Kind: plan.MaxClients, For: long}, "reset"}, // go-redis does not tell why it is refused,
		{plan.Fault{Kind: plan.Halt, For: long}, "timeout"},
		{plan.Fault{Kind: plan.KillServer, For: long, AOF: "always"}, "reset"},
		{plan.Fault{Kind: plan.Loading, For: long}, "LOADING"},
	} {
		t.Run(string(tc.fault.Kind), func(t *testing.T) {
			t.Parallel()
			in, _, over := injected(t, "process", tc.fault)
			c := client(t, in.URL()+"?read_timeout=300ms")
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			met := false
			for !met {
				err := c.Set(ctx, "key", "value", 0).Err()
				require.NoError(t, ctx.Err(), "%s was not met, the last answer: %v; %+v", tc.want, err, in.Events())
				met = err != nil && is(err, tc.want)
			}
			<-over
			events := in.Events()
			require.Len(t, events, 1)
			require.NoError(t, events[0].Err)
			require.Eventually(t, func() bool { return c.Set(ctx, "key", "value", 0).Err() == nil }, deadline, 10*time.Millisecond)
		})
	}
}

// A run that is interrupted undoes the fault under way, and does no other one.
func TestAnInterruptUndoesTheFault(t *testing.T) {
	t.Parallel()
	for kind, want := range map[plan.FaultKind]string{
		plan.OutOfMemory: "OOM", plan.Busy: "BUSY", plan.Halt: "timeout", plan.Refuse: "refused", plan.ReadOnly: "READONLY",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			in, _, _ := prepared(t, "process", plan.Fault{Kind: kind, For: 20 * time.Second}, plan.Fault{Kind: plan.FlushAll, At: plan.Span{Min: 21 * time.Second, Max: 21 * time.Second}})
			running, interrupt := context.WithCancel(ctx)
			over := make(chan struct{})
			go func() {
				defer close(over)
				in.Run(running, time.Now())
			}()
			c := client(t, in.URL()+"?read_timeout=300ms")
			require.Eventually(t, func() bool {
				err := c.Set(ctx, "key", "value", 0).Err()
				return err != nil && is(err, want)
			}, deadline, time.Millisecond)
			interrupt()
			<-over
			require.Eventually(t, func() bool { return c.Set(ctx, "key", "value", 0).Err() == nil }, 10*time.Second, time.Millisecond)
			require.Len(t, in.Events(), 1)
			require.NoError(t, in.Events()[0].Err)
		})
	}
}

// What is done at once has been done when it is over.
func TestFaultsThatAreDoneAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	ms := func(n int) plan.Span {
		return plan.Span{Min: time.Duration(n) * time.Millisecond, Max: time.Duration(n) * time.Millisecond}
	}
	in, s, over := injected(t, "process",
		plan.Fault{Kind: plan.FlushScripts, At: ms(300)}, plan.Fault{Kind: plan.ForeignMembers, At: ms(301), Count: 3},
		plan.Fault{Kind: plan.Cut, At: ms(302)}, plan.Fault{Kind: plan.KillClients, At: ms(303)},
	)
	c := client(t, in.URL())
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	sha := c.ScriptLoad(ctx, "return 1").Val()
	_, err = sub.Receive(ctx)
	require.Error(t, err, "it is cut")
	<-over
	for _, e := range in.Events() {
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
			in, s, over := injected(t, "process", plan.Fault{
				Kind: plan.KillServer, At: plan.Span{Min: 500 * time.Millisecond, Max: 500 * time.Millisecond}, For: 100 * time.Millisecond, AOF: aof,
			})
			c := client(t, in.URL())
			require.NoError(t, c.Set(t.Context(), "key", "value", 0).Err())
			<-over
			require.NoError(t, in.Events()[0].Err)
			beside := redistest.Client(s)
			defer beside.Close()
			require.Equal(t, kept, beside.Exists(t.Context(), "key").Val())
		})
	}
}

// A fault whose command never comes did not happen, and says so.
func TestAFaultThatDoesNotHappenSaysSo(t *testing.T) {
	t.Parallel()
	in, _, over := injected(t, "embedded", plan.Fault{Kind: plan.LoseReplies, For: 100 * time.Millisecond, Count: 1})
	<-over
	require.ErrorContains(t, in.Events()[0].Err, "no such command came within 100ms")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	of := func(kind plan.FaultKind) []plan.Fault { return []plan.Fault{{Kind: kind}} }
	for _, tc := range []struct {
		redis  string
		faults []plan.Fault
		want   string
	}{
		{"auto", of(plan.KillServer), ""},
		{"process:/x", of(plan.Halt), ""},
		{"container", of(plan.OutOfMemory), ""},
		{"embedded", of(plan.Cut), ""},
		{"redis://h", of(plan.Cut), ""},
		{"redis+cluster://h", nil, ""},
		{"container", of(plan.KillServer), "expected a process that can be sent signals"},
		{"embedded", of(plan.OutOfMemory), "the embedded server cannot do that"},
		{"redis://:secret@h", of(plan.KillServer), "kill-server would do harm to others on redis://"},
		{"redis://h", of(plan.FlushAll), "would do harm to others"},
		{"rediss://h", of(plan.Cut), "expected one server by TCP without TLS"},
		{"unix:///r.sock", of(plan.Cut), "expected one server by TCP without TLS"},
		{"redis+cluster://h", of(plan.Cut), "expected one server by TCP without TLS"},
	} {
		err := fault.Check(tc.redis, tc.faults)
		if tc.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tc.want)
		require.NotContains(t, err.Error(), "secret")
	}
}

// is reports whether an error is of that kind: a text of it, or a time-out.
func is(err error, want string) bool {
	var timeout net.Error
	if want == "timeout" {
		return errors.As(err, &timeout) && timeout.Timeout()
	}
	return strings.Contains(err.Error(), want) || want == "reset" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE))
}
