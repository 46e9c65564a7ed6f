package conformance

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// lanes is how many servers are in use at a time. The cases mostly wait, so that
// it may be more than there are processors.
const lanes = 8

// javaOrSkip skips a test of a real Redisson if Java or Maven is missing and DQ_REQUIRE does not list redisson.
func javaOrSkip(t *testing.T) {
	t.Helper()
	for _, name := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(name); err != nil && !redistest.Required("redisson") {
			t.Skipf("no %s here, so no real Redisson runs: %v", name, err)
		}
	}
}

// batch is a part of the work that has a server and a program of its own.
type batch struct {
	name    string
	release wire.Release
	cases   []*Case
}

// batches makes one of the quick cases of each release and one of each slow case; of the first release only, unless
// thorough.
func batches(sections []*Section, releases []wire.Release) []batch {
	var slow, quick []batch
	for i, release := range releases {
		rest := batch{name: release.String(), release: release}
		for _, c := range Select(sections, nil) {
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
var loaded = sync.OnceValues(func() ([]*Section, *Oracle) {
	sections, err := Load(scenarios.Conformance, "conformance")
	oracle, unread := LoadOracle(recordings.Redisson(), ".")
	if err := errors.Join(err, unread); err != nil {
		panic(err)
	}
	return sections, oracle
})

// Every case, for dq as each release that was recorded, against the recordings; without
// DQ_THOROUGH as every seventh one, the newest among them.
func TestDQ(t *testing.T) {
	t.Parallel()
	sections, oracle := loaded()
	releases := oracle.Releases()
	slices.Reverse(releases)
	runBatches(t, batches(sections, redistest.Sample(t, releases, 7)), oracle, func(t *testing.T, release wire.Release) program.Program {
		t.Helper()
		return spec.DQ{Release: release}.Link(true)
	})
}

// dq as people deploy it keeps every statement by its effect, though it sends scripts of its own.
func TestDQAsShipped(t *testing.T) {
	t.Parallel()
	sections, oracle := loaded()
	beyond, err := Load(scenarios.Conformance, "beyond")
	require.NoError(t, err)
	cases := Select(slices.Concat(sections, beyond), nil)
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
	sections, oracle := loaded()
	cases, names, required := Select(sections, nil), realReleases, redistest.Required("redisson")
	javaOrSkip(t)
	if !redistest.Thorough() {
		cases, names = sampleOf(sections, 1), realReleases[len(realReleases)-1:]
		t.Logf("%d of %d cases at %s only; DQ_THOROUGH=1 asks all of %v", len(cases), len(Select(sections, nil)), names[0], realReleases)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			spec, err := spec.ParseProgram("redisson:" + name)
			require.NoError(t, err)
			program, err := spec.Start(t.Context(), func(s string) { t.Log(s) }, nil)
			if err != nil && !required {
				t.Skipf("this Redisson cannot be had here: %v", err)
			}
			require.NoError(t, err)
			release := spec.Release
			// A real Redisson has time-outs of its own on a busy machine, and to 3.45.0
			// it loses a timer now and then (issue 6371 of its tracker).
			runBatch(t, batch{name, release, cases}, oracle, program, 2)
		})
	}
}

// sampleOf are the first n quick cases of each section.
func sampleOf(sections []*Section, n int) (cases []*Case) {
	for _, s := range sections {
		of := 0
		for _, c := range s.Cases {
			if !c.Slow && of < n && c.HoldsFor(wire.Newest()) {
				cases, of = append(cases, c), of+1
			}
		}
	}
	return cases
}
