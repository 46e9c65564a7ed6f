package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/embedded"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// Loaded are the cases and the recordings.
var Loaded = loaded

// Releases returns the recorded releases, ascending.
func (o *Oracle) Releases() []wire.Release { return slices.Clone(o.releases) }

// Case returns the recorded lines of a case at a release, or why the release could not run the case.
func (o *Oracle) Case(release wire.Release, id string) (lines []trace.Line, absent string, ok bool) {
	if slices.Contains(o.releases, release) {
		c := o.cases[release]()[id]
		return c.lines, c.absent, c.recording != nil
	}
	return nil, "", false
}

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
	all, oracle := loaded()
	cases, err := Matching(all, pattern)
	require.NoError(t, err)
	return &Plan{
		Spec: spec, Redis: srv.URL(), Oracle: oracle, Cases: cases,
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

// lanes is how many servers are in use at a time. The cases mostly wait, so that
// it may be more than there are processors.
const lanes = 8

// batch is a part of the work that has a server and a program of its own.
type batch struct {
	name    string
	release wire.Release
	cases   []*Case
}

// batches makes one of the quick cases of each release and one of each slow case; of the first release only, unless
// thorough.
func batches(cases []*Case, releases []wire.Release) []batch {
	var slow, quick []batch
	for i, release := range releases {
		rest := batch{name: release.String(), release: release}
		for _, c := range cases {
			switch {
			case !c.Slow || !c.HoldsFor(release):
				rest.cases = append(rest.cases, c)
			case i == 0 || redistest.Thorough():
				slow = append(slow, batch{release.String() + "/" + c.ID, release, []*Case{c}})
			}
		}
		quick = append(quick, rest)
	}
	return append(slow, quick...)
}

// runBatches runs batches on several servers at a time.
func runBatches(t *testing.T, all []batch, oracle *Oracle, start func(t *testing.T, release wire.Release) program.Program) {
	t.Helper()
	inLanes(t, all, func(b batch) string { return b.name }, func(t *testing.T, b batch) {
		t.Helper()
		runBatch(t, b, oracle, start(t, b.release), 1)
	})
}

// inLanes runs a subtest of each element, several at a time.
func inLanes[E any](t *testing.T, all []E, name func(E) string, run func(t *testing.T, e E)) {
	t.Helper()
	work := make(chan E)
	var workers sync.WaitGroup
	for range lanes {
		workers.Go(func() {
			for e := range work {
				t.Run(name(e), func(t *testing.T) { run(t, e) })
			}
		})
	}
	for _, e := range all {
		work <- e
	}
	close(work)
	workers.Wait()
}

// runBatch runs a batch. A case that does not pass is tried as often as tries says.
func runBatch(t *testing.T, b batch, oracle *Oracle, program program.Program, tries int) {
	t.Helper()
	runner := newTestRunner(t, program, b.release)
	for _, c := range b.cases {
		result := runner.Judge(t.Context(), c, oracle)
		for n := 1; n < tries && (result.Status == Fail || result.Status == Error); n++ {
			t.Logf("once more: %s", result.Text())
			result = runner.Judge(t.Context(), c, oracle)
		}
		switch result.Status {
		case Pass, FailedAsExpected:
		case Skip:
			if c.HoldsFor(b.release) && !absentByDesign(program.Introduction(), c) {
				t.Errorf("%s is skipped, though it holds: %s", c.ID, result.Detail)
			}
		case Fail, Error:
			t.Error(result.Text())
		}
	}
}

// absentByDesign reports whether an implementation cannot run a case: Redisson's own codecs come and go with its releases,
// and dq writes no FST and leaves rare calls of the destination to go-redis.
func absentByDesign(hello program.Hello, c *Case) bool {
	rare := regexp.MustCompile(`^(DQ.bounded|Q.deque/(add|first-of|move|peek-last|poll-ends-from)|Q.list/(copy|element|expire)|Q.blocking/subscribe)`)
	return !hello.HasCodec(c.codec()) || hello.Name == "dq" && rare.MatchString(c.ID)
}

func newTestRunner(t *testing.T, program program.Program, release wire.Release) *Runner {
	t.Helper()
	// A server of its own, whatever DQ_REDIS says: each case empties it.
	srv := redistest.Start(t, "process", "redis")
	t.Cleanup(func() { require.NoError(t, program.Close()) })
	runner, err := NewRunner(t.Context(), srv, "", program, release)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runner.Close()) })
	return runner
}

// loaded are the cases and the recordings, read once: no test changes them.
var loaded = sync.OnceValues(func() ([]*Case, *Oracle) {
	cases, err := Load(scenarios.Conformance, "conformance")
	if err != nil {
		panic(err)
	}
	return cases, NewOracle(recordings.Redisson())
})

// Every case, for dq as each release that was recorded, against the recordings; without
// DQ_THOROUGH as every seventh one, the newest among them.
func TestDQ(t *testing.T) {
	t.Parallel()
	cases, oracle := loaded()
	releases := oracle.Releases()
	slices.Reverse(releases)
	runBatches(t, batches(cases, redistest.Sample(t, releases, 7)), oracle, func(t *testing.T, release wire.Release) program.Program {
		t.Helper()
		return spec.DQ{Release: release}.Link(true)
	})
}

// dq as people deploy it keeps every statement by its effect, though it sends scripts of its own.
func TestDQAsShipped(t *testing.T) {
	t.Parallel()
	cases, oracle := loaded()
	beyond, err := Load(scenarios.Conformance, "beyond")
	require.NoError(t, err)
	cases = slices.Concat(cases, beyond)
	for _, release := range redistest.Sample(t, []string{"4.7.0", "3.16.6"}, 2) {
		driver, err := spec.ParseProgram("dq:" + release)
		require.NoError(t, err)
		for part := range lanes { // each with a share of the slow cases
			t.Run(fmt.Sprint(release, " ", part), func(t *testing.T) {
				t.Parallel()
				plan := &Plan{Spec: driver, Redis: "process", Level: State, Oracle: oracle, Notice: func(s string) { t.Log(s) }, Finished: func(Result) {}}
				for i := part; i < len(cases); i += lanes {
					plan.Cases = append(plan.Cases, cases[i])
				}
				report, err := plan.Run(t.Context())
				require.NoError(t, err)
				require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
			})
		}
	}
}

// The releases at both sides of each change that hurts, the one of the documents,
// and the newest.
var realReleases = []string{"3.13.0", "3.16.6", "3.21.0", "3.21.1", "4.7.0"}

// Every case, for the real Redisson of some releases, against its recordings. Without DQ_THOROUGH
// a case of each section and the newest release stand for it, if there are Java and Maven.
func TestRedisson(t *testing.T) {
	t.Parallel()
	cases, oracle := loaded()
	all, names := len(cases), realReleases
	redistest.Redisson(t)
	if !redistest.Thorough() {
		cases, names = sampleOf(cases), realReleases[len(realReleases)-1:]
		t.Logf("%d of %d cases at %s only; DQ_THOROUGH=1 asks all of %v", len(cases), all, names[0], realReleases)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			spec, err := spec.ParseProgram("redisson:" + name)
			require.NoError(t, err)
			program, err := spec.Start(t.Context(), func(s string) { t.Log(s) }, nil)
			require.NoError(t, err)
			release := spec.Release
			// A real Redisson has time-outs of its own on a busy machine, and to 3.45.0
			// it loses a timer now and then (issue 6371 of its tracker).
			runBatch(t, batch{name, release, cases}, oracle, program, 2)
		})
	}
}

// sampleOf are the first quick cases of each section.
func sampleOf(cases []*Case) (some []*Case) {
	for _, c := range cases {
		section := strings.SplitAfter(c.ID, "/")[0]
		if !c.Slow && c.HoldsFor(wire.Newest()) && (len(some) == 0 || !strings.HasPrefix(some[len(some)-1].ID, section)) {
			some = append(some, c)
		}
	}
	return some
}
