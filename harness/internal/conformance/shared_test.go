package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

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

var Loaded = loaded

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

// sharedPlan runs cases of 3.16.6 on somebody's server.
func sharedPlan(t *testing.T, srv *redis.Server, pattern string) *Plan {
	t.Helper()
	all, _ := loaded()
	plan := plansOf(t, "dq:3.16.6", Wire, must(Matching(all, pattern)), 1)[0]
	plan.Redis = srv.URL()
	return plan
}

// A client that comes within a case, and is gone again, keeps what it wrote, in whichever database.
func TestForeignKeysSurviveARun(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	plan, offers := sharedPlan(t, srv, "^DQ.(offer|poll|read|remove)/"), 0
	plan.Start = func(ctx context.Context) (program.Program, error) {
		dq, err := plan.Spec.Start(ctx, plan.Notice, nil)
		return altered{dq, func(ctx context.Context, op string, params any, next program.Program) (json.RawMessage, error) {
			if op == "dq.offer" {
				offers++
			}
			for db, name := range map[int]string{0: "orders", 3: "foreign"} { // orders is the cases' own queue
				if op == "dq.offer" && offers == 5 {
					client := clientOf(t, srv, db)
					require.NoError(t, client.Set(ctx, name, "theirs", 0).Err())
					client.Close()
				}
			}
			return next.Call(ctx, op, params)
		}}, err
	}
	report, err := plan.Run(t.Context())
	require.ErrorIs(t, err, trace.ErrServerInUse)
	require.ErrorContains(t, err, "SET of 127.0.0.1:")
	require.Positive(t, report.Counts.Pass)
	require.Zero(t, report.Counts.Fail, report.Text())
	for db, name := range map[int]string{0: "orders", 3: "foreign"} {
		require.Equal(t, "theirs", clientOf(t, srv, db).Get(t.Context(), name).Val(), name)
	}
}

// requireRight has each case that failed run again alone: a machine that stood still may have failed it.
func requireRight(t *testing.T, plan *Plan, report *Report) {
	t.Helper()
	for _, r := range report.Cases {
		if r.Status != Fail && r.Status != Error {
			continue
		}
		t.Logf("once more alone: %s", r.Text())
		alone := *plan
		alone.Cases = slices.DeleteFunc(slices.Clone(plan.Cases), func(c *Case) bool { return c.ID != r.ID })
		again, err := alone.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, again.Counts.Pass+again.Counts.FailedAsExpected, again.Text())
	}
}

func TestSharedServerIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	// One case kills connections, one flushes the scripts.
	plan := sharedPlan(t, srv, "^DQ.(script|copy|names)/|DQ.timer/reconnect")
	requireRight(t, plan, ran(t, plan))
	client := clientOf(t, srv, 0)
	require.NotContains(t, client.Info(t.Context(), "keyspace").Val(), "keys=")
	require.Contains(t, client.Info(t.Context(), "memory").Val(), "number_of_cached_scripts:0")
	require.NotContains(t, client.Info(t.Context(), "commandstats").Val(), "cmdstat_flush")
}

func TestForeignSubscriberIsNotKilled(t *testing.T) {
	t.Parallel()
	srv := somebodys(t)
	dq := must(must(spec.ParseProgram("dq")).Start(t.Context(), nil, nil))
	runner := connected(t, srv, dq, wire.Newest())
	defer dq.Close()
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
	report := ran(t, plan)
	requireRight(t, plan, report)
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
	srv := must(embedded.Serve(l, embedded.Hooks{Script: func(body string) string { return strings.ReplaceAll(body, "'zadd'", "'zscore'") }}, 0))
	t.Cleanup(func() { srv.Close() })
	plan := sharedPlan(t, reached(t, "redis://"+srv.Addr()), "^DQ.offer/(new|later|equal)|^DQ.timer/reconnect")
	plan.Level, plan.Server, plan.MaxFailures = State, true, 1
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	require.Greater(t, report.Counts.Fail, 1)
	require.Equal(t, Skip, report.Cases[len(plan.Cases)-1].Status, "it has no CLIENT KILL")
}

// lanes is how many servers are in use at a time. The cases mostly wait, so that it may be more than there are processors.
const lanes = 8

// inLanes runs a subtest of each element, several at a time.
func inLanes[E any](t *testing.T, all []E, name func(E) string, run func(t *testing.T, e E)) {
	t.Helper()
	var running sync.WaitGroup
	free := make(chan struct{}, lanes)
	for _, e := range all {
		free <- struct{}{}
		running.Go(func() {
			t.Run(name(e), func(t *testing.T) { run(t, e) })
			<-free
		})
	}
	running.Wait()
}

// plansOf deals cases among so many plans, each with a share of the slow ones, and a server and a program of its own.
func plansOf(t *testing.T, driver string, level Level, cases []*Case, parts int) (plans []*Plan) {
	t.Helper()
	_, oracle := loaded()
	program := must(spec.ParseProgram(driver))
	for part := range parts {
		plan := &Plan{Spec: program, Redis: "process", Level: level, Oracle: oracle, Notice: func(s string) { t.Log(s) }, Finished: func(Result) {}}
		for i := part; i < len(cases); i += parts {
			plan.Cases = append(plan.Cases, cases[i])
		}
		plans = append(plans, plan)
	}
	return plans
}

// rare are cases of calls that dq leaves to go-redis.
var rare = regexp.MustCompile(`^(DQ.bounded|Q.deque/(add|first-of|move|peek-last|poll-ends-from)|Q.list/(copy|element|expire)|Q.blocking/subscribe)`)

// ran runs a plan, and skips no case by mistake: Redisson's own codecs come and go with its releases, and dq writes no FST.
func ran(t *testing.T, plan *Plan) *Report {
	t.Helper()
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	for i, r := range report.Cases {
		require.Equal(t, plan.Cases[i].ID, r.ID)
		absent := r.Status != Skip || strings.HasPrefix(r.Detail, "it holds for ") || strings.Contains(r.Detail, " has no codec ")
		require.True(t, absent || report.Driver.Name == "dq" && rare.MatchString(r.ID), "%s is skipped, though it holds: %s", r.ID, r.Detail)
	}
	return report
}

// At the level state slow cases have a second server and program, where both can be had.
func TestSlowCasesAreJudgedAhead(t *testing.T) {
	t.Parallel()
	shared := somebodys(t)
	for name, programs := range map[string]int{"two": 2, "one program": 2, "one server": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, started := sharedPlan(t, shared, "^DQ.transfer/(retry|wrong|limit)"), 0
			plan.Level = State
			plan.Redis = map[bool]string{true: plan.Redis, false: "process"}[name == "one server"]
			plan.Start = func(ctx context.Context) (program.Program, error) {
				if started++; started > 1 && name == "one program" {
					return nil, os.ErrExist
				}
				return plan.Spec.Start(ctx, plan.Notice, nil)
			}
			report := ran(t, plan)
			require.Equal(t, programs, started)
			requireRight(t, plan, report)
		})
	}
}

func newTestRunner(t *testing.T, program program.Program, release wire.Release) *Runner {
	t.Helper()
	// A server of its own, whatever DQ_REDIS says: each case empties it.
	srv := redistest.Start(t, "process", "redis")
	t.Cleanup(func() { require.NoError(t, program.Close()) })
	runner := connected(t, srv, program, release)
	t.Cleanup(func() { require.NoError(t, runner.Close()) })
	return runner
}

// connected is a Runner with a server and a program that its Close leaves running.
func connected(t *testing.T, srv *redis.Server, program program.Program, release wire.Release) *Runner {
	t.Helper()
	r := &Runner{Plan: &Plan{Level: Wire}, server: srv, program: program, hello: program.Introduction(), release: release}
	require.NoError(t, r.connect(t.Context()))
	return r
}

// loaded are the cases and the recordings, read once: no test changes them.
var loaded = sync.OnceValues(func() ([]*Case, *Oracle) {
	cases, err := Load(scenarios.Conformance, "conformance")
	if err != nil {
		panic(err)
	}
	return cases, NewOracle(recordings.Releases(), recordings.Redisson)
})

// Every case, for dq as each release that was recorded, against the recordings. Without DQ_THOROUGH a case runs at the newest of
// the releases that do the same in it, and the slow ones at the newest release alone. As people deploy it, dq keeps every statement
// by its effect, though it sends scripts of its own.
func TestDQ(t *testing.T) {
	t.Parallel()
	cases, oracle := loaded()
	beyond := must(Load(scenarios.Conformance, "beyond"))
	releases := oracle.Releases()
	slices.Reverse(releases)
	var plans []*Plan
	for _, release := range redistest.Sample(t, []string{"4.7.0", "3.16.6"}, 2) {
		plans = append(plans, plansOf(t, "dq:"+release, State, slices.Concat(cases, beyond), lanes)...)
	}
	judged := map[string]bool{} // a case with its recorded lines
	for i, release := range releases {
		recorded := map[string][]byte{}
		for _, text := range recordings.Redisson(release.String()) {
			_, _, lines := recordings.Split(text)
			maps.Copy(recorded, lines)
		}
		all := slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool {
			key := c.ID + string(recorded[c.ID])
			was := judged[key] || i > 0 && c.Slow
			judged[key] = true
			return was && !redistest.Thorough()
		})
		t.Logf("Redisson %s: %d of %d cases", release, len(all), len(cases))
		plans = append(plans, plansOf(t, "dq:"+release.String(), Wire, all, min(lanes, (len(all)+24)/25))...)
	}
	name := func(p *Plan) string { return fmt.Sprint(p.Spec, " ", p.Level, " ", p.Cases[0].ID) }
	inLanes(t, plans, name, func(t *testing.T, p *Plan) {
		t.Helper()
		report := ran(t, p)
		require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
	})
}

// The releases at both sides of each change that hurts, the one of the documents, and the newest.
var realReleases = []string{"3.13.0", "3.16.6", "3.21.0", "3.21.1", "4.7.0"}

// Every case, for the real Redisson of some releases, against its recordings. Without DQ_THOROUGH
// a case of each section and the newest release stand for it, if there are Java and Maven.
func TestRedisson(t *testing.T) {
	t.Parallel()
	cases, _ := loaded()
	all, names := len(cases), realReleases
	redistest.Redisson(t)
	if !redistest.Thorough() {
		var first []*Case // the first quick case of each section
		for _, c := range cases {
			section := strings.SplitAfter(c.ID, "/")[0]
			if !c.Slow && c.HoldsFor(wire.Newest()) && (len(first) == 0 || !strings.HasPrefix(first[len(first)-1].ID, section)) {
				first = append(first, c)
			}
		}
		cases, names = first, realReleases[len(realReleases)-1:]
		t.Logf("%d of %d cases at %s only; DQ_THOROUGH=1 asks all of %v", len(cases), all, names[0], realReleases)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			// A real Redisson has time-outs of its own on a busy machine, and to 3.45.0
			// it loses a timer now and then (issue 6371 of its tracker).
			plan := plansOf(t, "redisson:"+name, Wire, cases, 1)[0]
			requireRight(t, plan, ran(t, plan))
		})
	}
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
