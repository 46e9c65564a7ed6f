package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/embedded"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// somebodys gives a server that somebody else has started, by its address.
func somebodys(t *testing.T) *redis.Server {
	t.Helper()
	return reached(t, redistest.Start(t, "process", "redis").URL())
}

func reached(t *testing.T, address string) *redis.Server {
	t.Helper()
	srv, err := redis.Start(t.Context(), address, nil)
	require.NoError(t, err)
	return srv
}

// clientOf connects as somebody else does, to a database.
func clientOf(t *testing.T, srv *redis.Server, db int) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: srv.Addr, DB: db, ClientName: "till-7", DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	return client
}

// sharedRunner runs dq on somebody's server.
func sharedRunner(t *testing.T, srv *redis.Server) *Runner {
	t.Helper()
	dq := spec.DQ{Release: wire.Newest()}.Link(true)
	t.Cleanup(func() { dq.Close() })
	runner, err := NewRunner(t.Context(), srv, "", dq, wire.Newest())
	require.NoError(t, err)
	return runner
}

// sharedPlan runs cases of 3.16.6 on somebody's server.
func sharedPlan(t *testing.T, srv *redis.Server, pattern string) *Plan {
	t.Helper()
	spec, err := spec.ParseProgram("dq:3.16.6")
	require.NoError(t, err)
	keep, err := Compile(pattern)
	require.NoError(t, err)
	sections, oracle := loaded()
	return &Plan{
		Spec: spec, Redis: srv.URL(), Oracle: oracle, Cases: Select(sections, keep),
		Notice: func(s string) { t.Log(s) }, Finished: func(Result) {},
	}
}

func TestForeignKeysSurviveARun(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set := make(chan []string)
	begun := make(chan struct{})
	plan := sharedPlan(t, srv, "^DQ.(offer|poll|read|remove)/")
	plan.Finished = func(Result) {
		if begun != nil {
			close(begun)
			begun = nil
		}
	}
	go func(begun <-chan struct{}) {
		var names []string
		defer func() { set <- names }()
		<-begun
		for i := range 40 {
			name := fmt.Sprintf("foreign:%d", i)
			if i == 7 {
				name = "orders" // as the cases' own queue
			}
			// A client that is gone again is no less somebody than one that stays.
			client := clientOf(t, srv, i%2*3)
			err := client.Set(ctx, name, "theirs", 0).Err()
			if client.Close(); err != nil {
				return
			}
			names = append(names, name)
			select {
			case <-time.After(rand.N(3 * time.Millisecond)):
			case <-ctx.Done():
				return
			}
		}
	}(begun)
	report, err := plan.Run(t.Context())
	names := <-set
	require.ErrorIs(t, err, trace.ErrServerInUse)
	require.ErrorContains(t, err, "SET of 127.0.0.1:")
	require.Positive(t, report.Counts.Pass)
	require.Zero(t, report.Counts.Fail, report.Text())
	require.NotEmpty(t, names)
	for i, name := range names {
		require.Equal(t, "theirs", clientOf(t, srv, i%2*3).Get(t.Context(), name).Val(), name)
	}
}

// requireRight has each case that failed run again alone: a machine that stood still may have failed it.
func requireRight(t *testing.T, srv *redis.Server, report *Report) {
	t.Helper()
	for _, r := range report.Cases {
		if r.Status != Fail && r.Status != Error {
			continue
		}
		t.Logf("once more alone: %s", r.Text())
		again, err := sharedPlan(t, srv, "^"+regexp.QuoteMeta(r.ID)+"$").Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, again.Counts.Pass, again.Text())
	}
}

func TestSharedServerIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	// One case kills connections, one flushes the scripts.
	report, err := sharedPlan(t, srv, "^DQ.(script|copy|names)/|DQ.timer/reconnect").Run(t.Context())
	require.NoError(t, err)
	requireRight(t, srv, report)
	client := clientOf(t, srv, 0)
	require.NotContains(t, client.Info(t.Context(), "keyspace").Val(), "keys=")
	require.Contains(t, client.Info(t.Context(), "memory").Val(), "number_of_cached_scripts:0")
	require.NotContains(t, client.Info(t.Context(), "commandstats").Val(), "cmdstat_flush")
}

func TestForeignSubscriberIsNotKilled(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	runner := sharedRunner(t, srv)
	defer runner.Close()
	theirs := clientOf(t, srv, 0)
	news := theirs.Subscribe(t.Context(), "news")
	defer news.Close()
	_, err := news.Receive(t.Context())
	require.NoError(t, err)
	require.NoError(t, runner.kill(t.Context(), "pubsub"))
	require.NoError(t, theirs.Publish(t.Context(), "news", "x").Err())
	message, err := news.Receive(t.Context())
	require.NoError(t, err)
	require.IsType(t, &goredis.Message{}, message)
}

func TestCommandsThatReachOthersAreNotSent(t *testing.T) {
	t.Parallel()
	runner := sharedRunner(t, somebodys(t))
	defer runner.Close()
	for command, want := range map[string]string{
		"[CONFIG, SET, maxmemory, 1mb]": "it sends CONFIG", "[flushdb]": "it sends FLUSHDB", "[CLIENT, PAUSE, 100]": "it sends CLIENT PAUSE",
	} {
		c := parsed(t, strings.Replace(offersOne, "    steps:\n", "    steps:\n      - redis: "+command+"\n", 1))
		result := runner.Judge(t.Context(), c, nil)
		require.Equal(t, Skip, result.Status, command)
		require.Contains(t, result.Detail, want)
	}
}

// What no look beforehand shows is told by the first case that meets it.
func TestRightOfOneCaseThatIsMissingEndsTheRun(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	admin := clientOf(t, srv, 0)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "limited", "on", ">pw", "~*", "&*", "+@all", "-llen").Err())
	require.NoError(t, admin.Close(), "a run is alone on its server")
	limited := reached(t, strings.Replace(srv.URL(), "://", "://limited:pw@", 1))
	plan := sharedPlan(t, limited, "^DQ.(offer|read)/")
	report, err := plan.Run(t.Context())
	require.ErrorIs(t, err, ErrForbidden)
	require.ErrorContains(t, err, "were not judged")
	require.ErrorContains(t, err, "'llen'")
	require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
	require.NotContains(t, clientOf(t, srv, 0).Info(t.Context(), "keyspace").Val(), "keys=")
}

// A server without MONITOR is judged by replies and keys. Keys of others stay.
func TestServerWithoutMonitor(t *testing.T) {
	t.Parallel()
	own, err := redis.StartProcess(t.Context(), "", "--rename-command", "MONITOR", "")
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { own.Close() })
	srv := reached(t, own.URL())
	plan := sharedPlan(t, srv, "^DQ.(poll/|timer/delivers)")
	plan.Server = true
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	requireRight(t, srv, report)
	require.Equal(t, State, report.Level)
	require.Contains(t, report.Text(), "the server redis")
	for _, v := range report.Verdicts() {
		require.False(t, strings.HasPrefix(v.By, "its rule"), "%s: no rule has seen a command", v.ID)
	}

	other := clientOf(t, srv, 0)
	plan.Finished = func(r Result) { require.NoError(t, other.Set(t.Context(), "theirs", r.ID, 0).Err()) }
	_, err = plan.Run(t.Context())
	require.ErrorIs(t, err, trace.ErrServerInUse)
	require.NotEmpty(t, other.Get(t.Context(), "theirs").Val())

	plan.Level, plan.Oracle = Wire, nil
	_, err = plan.Run(t.Context())
	require.ErrorContains(t, err, "a recording needs the commands that the server saw")
}

// A server that runs scripts wrongly fails, and is judged by all cases.
func TestServerWithAFault(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv, err := embedded.Serve(l, embedded.Hooks{Script: func(body string) string { return strings.ReplaceAll(body, "'zadd'", "'zscore'") }}, 0)
	require.NoError(t, err)
	t.Cleanup(func() { srv.Close() })
	plan := sharedPlan(t, reached(t, "redis://"+srv.Addr()), "^DQ.offer/(new|later|equal)|^DQ.timer/reconnect")
	plan.Level, plan.Server, plan.MaxFailures = State, true, 1
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	require.Greater(t, report.Counts.Fail, 1)
	require.Equal(t, Skip, report.Cases[len(plan.Cases)-1].Status, "it has no CLIENT KILL")
}
