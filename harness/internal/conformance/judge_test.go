package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/scenarios"
)

// altered is a program with another function around its calls, which next makes.
type altered struct {
	program.Program
	call around
}

type around func(ctx context.Context, op string, params any, next program.Program) (json.RawMessage, error)

func (f around) as(dq program.Program) program.Program { return altered{dq, f} }

func (p altered) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	return p.call(ctx, op, params, p.Program)
}

func parsed(text string) *Case { return must(Parse("a.yaml", []byte(text)))[0] }

const offersOne = `section: DQ.offer
cases:
  - id: DQ.offer/x
    requirement: It is queued.
    source: 3.21.0
    steps:
      - call: dq.offer
        with: {value: a, delay: 1h}
    expect:
      pending: [a]
      timeouts: [a]
`

func TestJudge(t *testing.T) {
	t.Parallel()
	release := wire.Newest()
	runner := newTestRunner(t, must(must(spec.ParseProgram("dq:"+release.String())).Start(t.Context(), nil, nil)), release)
	for name, test := range map[string]struct {
		text   string
		status Status
		detail string
	}{
		"it holds":                  {offersOne, Pass, ""},
		"a wrong key":               {strings.Replace(offersOne, "pending: [a]", "pending: [b]", 1), Fail, `expected ["b"], got ["a"]`},
		"a key too many":            {strings.Replace(offersOne, "pending: [a]", "", 1), Fail, `expected nothing, got ["a"]`},
		"a wrong reply":             {strings.Replace(offersOne, "delay: 1h}", "delay: 1h}\n        returns: 7", 1), Fail, "step 1 (dq.offer): expected the result 7, got null"},
		"a reply for null":          {strings.Replace(offersOne, "dq.offer\n        with: {value: a, delay: 1h}", "dq.size\n        returns: null", 1), Fail, "expected the result null, got 0"},
		"no error":                  {strings.Replace(offersOne, "delay: 1h}", "delay: 1h}\n        error: refused", 1), Fail, "matches \"refused\""},
		"an unexpected error":       {strings.Replace(offersOne, "delay: 1h", "delay: -1", 1), Fail, "expected no error"},
		"a message too many":        {offersOne + "      published: 2\n", Fail, "expected 2 messages"},
		"an event that never comes": {strings.Replace(offersOne, "    expect:", "      - wait: {key: destination, length: 1, within: 50ms}\n    expect:", 1), Fail, "expected 1 element in destination, not seen within"},
		"another release":           {offersOne + "    until: 3.21.0\n", Skip, "it holds for 2.7.0 to 2.15.2, 3.2.0 to 3.21.0, this is 4.7.0"},
		"an unknown op":             {strings.Replace(offersOne, "dq.offer\n", "dq.fly\n", 1), Skip, "has no dq.fly"},
		"an unknown codec":          {offersOne + "    codec: fst\n", Skip, `no codec "fst"`},
		"known, and fails":          {strings.Replace(offersOne, "pending: [a]", "pending: [b]", 1) + "    known-failing: {dq: it lies}\n", FailedAsExpected, "it lies"},
		"known, and passes":         {offersOne + "    known-failing: {dq: it lies}\n", Fail, "expected to fail (it lies), but it passes"},
		"known of another":          {offersOne + "    known-failing: {redisson: it lies}\n", Pass, ""},
		"a member of two layouts":   {strings.Split(smallest, "      - call")[0] + "      - seed: {values: [''], due: 1000}\n      - open: {}\n    expect: {destination: ['']}\n", Pass, ""},
		"a wrong case":              {strings.Replace(offersOne, "dq.offer\n", "dq.offer\n        handle: none\n", 1), Error, `no handle "none" is open`},
	} {
		result := runner.Judge(t.Context(), parsed(test.text), nil)
		require.Equal(t, test.status, result.Status, "%s: %s", name, result.Detail)
		require.Contains(t, result.Detail, test.detail, name)
	}
}

func TestAProgramThatHasEndedFails(t *testing.T) {
	release := wire.Newest()
	for _, op := range []string{"open", "dq.offer", "close"} {
		runner := newTestRunner(t, altered{must(must(spec.ParseProgram("dq:"+release.String())).Start(t.Context(), nil, nil)), func(ctx context.Context, called string, params any, next program.Program) (json.RawMessage, error) {
			if called == op {
				return nil, errors.New("driver program has ended")
			}
			return next.Call(ctx, called, params)
		}}, release)
		result := runner.Judge(t.Context(), parsed(offersOne), nil)
		require.Equal(t, Fail, result.Status, op)
		require.Contains(t, result.Detail, "driver program has ended", op)
	}
}

func TestRecordingThatJudgesARelease(t *testing.T) {
	line := func(text string) string {
		return "1.000000 [0 127.0.0.1:1] \"ECHO\" \"case:DQ.offer/x\"\n" + text + "\n"
	}
	script, ok := wire.Release{Major: 3, Minor: 16, Patch: 6}.Script(wire.ScriptPoll)
	require.True(t, ok)
	eval := trace.Line{Peer: "127.0.0.1:1", Args: []string{"EVAL", script.Body, "2", "a", "b"}}.String()
	oracle := NewOracle([]string{"2.15.2", "3.16.6", "3.21.1"}, func(release string) map[string][]byte {
		if release == "3.21.1" {
			return map[string][]byte{"DQ.poll": nil}
		}
		return map[string][]byte{"DQ.offer": []byte(line(eval))}
	})
	c := parsed(offersOne)
	for name, want := range map[string]string{
		"3.16.6": "by 3.16.6", "3.17.0": "by 3.16.6", "3.20.1": "by 3.16.6",
		"3.13.4": "by 3.16.6", "2.15.0": "by 2.15.2",
		"3.13.0": "by 3.16.6",
		"3.22.0": "no recorded release has this case with the same scripts",
		"3.21.1": "error",
	} {
		source, err := oracle.source(c, must(wire.LookupRelease(name)))
		got := "by " + source.release.String()
		if source.absent != "" {
			got = source.absent
		}
		if err != nil {
			got = "error"
		}
		require.Equal(t, want, got, name)
	}
	_, whole := loaded()
	nearest, err := whole.source(parsed(strings.ReplaceAll(offersOne, "DQ.offer/x", "DQ.offer/new-head-publishes")), wire.Release{Major: 3, Minor: 99})
	require.NoError(t, err)
	require.Equal(t, "3.52.0", nearest.release.String(), "of a release that the catalogue does not know")
	cases := oracle.cases[wire.Release{Major: 3, Minor: 16, Patch: 6}]()
	from := wire.Release{Major: 3, Minor: 16, Patch: 6}
	require.True(t, sameScripts(cases[c.ID], from, wire.Release{Major: 3, Minor: 19, Patch: 0}))
	require.False(t, sameScripts(cases[c.ID], from, wire.Release{Major: 3, Minor: 21, Patch: 1}))
}

// A failure names the statements that the case shows of the release, in every form of the report. Only the one that it
// contradicts is broken.
func TestAFailureCitesStatements(t *testing.T) {
	all, _ := loaded()
	cases := must(Matching(all, "^DQ.(read/(size|foreign-member)|offer/(equal-values-are-two|negative-delay-taken)|poll/foreign-member-is-destroyed)$"))
	release := wire.Newest()
	wrongSize := func(ctx context.Context, op string, params any, next program.Program) (json.RawMessage, error) {
		answer, err := next.Call(ctx, op, params)
		if op == "dq.size" && err == nil {
			return json.RawMessage("7"), nil
		}
		return answer, err
	}
	runner := newTestRunner(t, altered{must(must(spec.ParseProgram("dq:"+release.String())).Start(t.Context(), nil, nil)), wrongSize}, release)
	report := NewReport(driver.Identity{Name: "dq", Version: "4.7.0"}, "4.7.0", "redis 7.0.15")
	for _, c := range cases {
		report.Add(runner.Judge(t.Context(), c, nil))
	}
	require.Equal(t, Counts{Pass: 1, Fail: 3, Skip: 1}, report.Counts)
	verdicts := map[string]string{}
	for _, v := range report.Verdicts() {
		verdicts[v.ID] = v.Verdict + ": " + v.By
	}
	require.Equal(t, "broken: DQ.read/size: expected the result 3, got 7", verdicts["W-READ-3"])
	require.Equal(t, "not judged: DQ.read/foreign-member failed: expected the result 2, got 7", verdicts["W-FAULT-7"])
	require.Equal(t, "kept: DQ.poll/foreign-member-is-destroyed", verdicts["W-FAULT-4"])
	require.Equal(t, "kept: its rule, in 1 steps", verdicts["W-OFFER-4"])
	require.Equal(t, "not judged: no case ran that shows it", verdicts["W-POLL-1"])

	text := report.Text()
	require.Contains(t, text, "spec      W-MEMBER-2: ")
	require.Contains(t, text, " docs/spec/members.md#w-member-2\n")
	require.Contains(t, text, "  broken  W-READ-3 (MUST) in DQ.read/size: ")

	var document, junit bytes.Buffer
	require.NoError(t, report.WriteJSON(&document))
	var decoded struct {
		Schema     string
		Counts     Counts
		Statements []Verdict `json:"statements"`
		Cases      []struct {
			Statements []map[string]string `json:"statements"`
		} `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(document.Bytes(), &decoded))
	require.Equal(t, Schema, decoded.Schema)
	require.Equal(t, report.Counts, decoded.Counts)
	require.Len(t, decoded.Statements, len(report.Verdicts()))
	require.Equal(t, report.Verdicts()[0].By, decoded.Statements[0].By)
	require.Equal(t, "MUST", decoded.Cases[1].Statements[0]["level"])
	require.Equal(t, "docs/spec/members.md#w-member-2", decoded.Cases[1].Statements[0]["link"])
	require.NotNil(t, decoded.Cases[0].Statements, "an empty list, not null")
	require.NoError(t, report.WriteJUnit(&junit))
	require.Contains(t, junit.String(), "W-READ-3: ")
}

// Where a release was not recorded another one judges it, but for a few cases, most of them of
// codecs, that no release near it could be made to record.
func TestLittleIsLeftToRepliesAlone(t *testing.T) {
	t.Parallel()
	cases, oracle := loaded()
	for _, release := range wire.Releases() {
		left := 0
		for _, c := range cases {
			if !c.HoldsFor(release) {
				continue
			}
			source, err := oracle.source(c, release)
			require.NoError(t, err)
			if source.absent != "" {
				left++
			}
		}
		newer := release.AtLeast(wire.Release{Major: 3, Minor: 4, Patch: 3}) && !release.AtLeast(wire.Release{Major: 3, Minor: 46})
		if newer || release.AtLeast(wire.Release{Major: 4, Patch: 1}) || release.Major == 2 && release.AtLeast(wire.Release{Major: 2, Minor: 9, Patch: 3}) {
			require.Zero(t, left, "%s", release)
		}
		require.Less(t, left, 30, "%s", release)
	}
}

func TestBaselineIsReadWholeOrNotAtAll(t *testing.T) {
	cases := []*Case{{ID: "DQ.offer/one"}, {ID: "DQ.offer/two"}}
	for name, c := range map[string]struct{ text, wrong string }{
		"two":             {"DQ.offer/one: why\nDQ.offer/two: \"12: a reason\"\n", ""},
		"none":            {"# No case fails.\n", ""},
		"nothing":         {"", ""},
		"no such case":    {"DQ.offer/three: why\n", `there is no case "DQ.offer/three"`},
		"no reason":       {"DQ.offer/one:\n", "expected a reason"},
		"a list":          {"- DQ.offer/one\n", `expected a line "id: reason"`},
		"the same twice":  {"DQ.offer/one: a\nDQ.offer/one: b\n", "line 2: mapping key \"DQ.offer/one\" already defined"},
		"a second one":    {"DQ.offer/one: a\n---\nDQ.offer/two: b\n", "expected one YAML document"},
		"not text at all": {"\x00\x01", `expected a line "id: reason"`},
	} {
		file := filepath.Join(t.TempDir(), "known.yaml")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		b, err := ReadBaseline(t.Context(), file, cases)
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong, name)
			require.ErrorContains(t, err, file)
			continue
		}
		require.NoError(t, err, name)
		again := must(ParseBaseline(b.Text()))
		require.Equal(t, b, again)
	}
	_, err := ReadBaseline(t.Context(), filepath.Join(t.TempDir(), "none.yaml"), cases)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "--write-baseline")
}

// What a baseline lists must fail; what it does not list is a failure as ever.
func TestBaselineMustFail(t *testing.T) {
	bench := newMutantBench(t, "3.21.0")
	bench.proxy.use(inScript("offer", "if v[1] == value then", "if false then")())
	bench.runner.Baseline = Baseline{"DQ.offer/new-head-publishes": "it is silent", "DQ.offer/negative-delay-refused": "it takes them", "DQ.offer/unit": "issue 12, W-OFFER-4",
		"DQ.offer/any-text": "W-OFFER-3", "DQ.offer/empty-value": "seen: the key \"a\": expected nothing"}
	report := &Report{Level: Wire}
	for _, c := range bench.cases {
		if _, listed := bench.runner.Baseline[c.ID]; listed {
			report.Add(bench.runner.Judge(t.Context(), c, bench.oracle))
		}
	}
	require.Equal(t, Counts{Fail: 3, FailedAsExpected: 2}, report.Counts)
	text := report.Text()
	require.Contains(t, text, "Failed as expected: it is silent; this run: W-OFFER-3: ")
	require.Contains(t, strings.Join(strings.Fields(text), " "), "2 cases: fails otherwise than the baseline says: W-OFFER-3: the new member is due first")
	require.Contains(t, text, "the baseline says: issue 12, W-OFFER-4")
	require.Contains(t, text, "it passes: take it out of the baseline")

	next := report.Baseline(nil)
	require.Equal(t, "it is silent", next["DQ.offer/new-head-publishes"], "an old reason stays")
	require.Contains(t, next["DQ.offer/unit"], "seen: W-OFFER-3: ")
	require.NotContains(t, next, "DQ.offer/negative-delay-refused", "it passes now")
}

func FuzzParseBaseline(f *testing.F) {
	f.Add([]byte("DQ.offer/one: why\n"))
	f.Add([]byte("a: &x b\nc: *x\n"))
	f.Add([]byte("- a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBaseline(text)
		if err != nil {
			return
		}
		again := must(ParseBaseline(b.Text()))
		require.Equal(t, b, again)
	})
}

// Two implementations at one queue, as people deploy them, and one beside a real Redisson.
func TestTwoAtOneQueue(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"dq:2.15.2", "dq:3.16.6"}, {"dq:3.21.1", "dq:4.7.0"}, {"dq:4.7.0", "redisson:4.7.0"}}
	if redistest.Thorough() {
		pairs = append(pairs, [][2]string{{"dq:3.13.0", "redisson:3.13.0"}, {"dq:3.16.6", "redisson:3.16.6"}, {"dq:3.16.6", "redisson:3.21.0"}, {"dq:3.21.1", "redisson:4.7.0"}}...)
	}
	cases := must(Load(scenarios.Conformance, "beside"))
	for _, pair := range pairs {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			t.Parallel()
			beside := must(spec.ParseProgram(pair[1]))
			if strings.HasPrefix(pair[1], "redisson:") {
				redistest.Redisson(t)
			}
			plan := plansOf(t, pair[0], State, cases, 1)[0]
			plan.Beside = &beside
			report, err := plan.Run(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
			require.GreaterOrEqual(t, report.Counts.Pass, 4)
		})
	}
}

// inTwo offers by two commands and an announcement, as a port without scripts would. It
// knows the layout, but not whether the message is the first.
var inTwo = when(isOffer, func(c []string) [][]string {
	member := string(wire.LayoutDLc0.Pack(wire.DoubleID(number(c[8])), []byte(c[9])))
	return [][]string{{"RPUSH", c[5], member}, {"ZADD", c[4], c[7], member}, {"PUBLISH", c[6], c[7]}, {"EVAL", "return nil", "0"}}
})

// inTransaction does the same at once.
var inTransaction = when(isOffer, func(c []string) [][]string {
	all := inTwo()(c)
	return slices.Concat([][]string{{"MULTI"}}, all[:3], [][]string{{"EXEC"}}, all[3:])
})

// What a port is told at each level: nothing, or a part of the failure.
func TestLevelsTellPortsApart(t *testing.T) {
	const passes = ""
	for _, port := range []struct {
		name, run             string
		mutate                func() mutation
		wire, exchange, state string
	}{
		{"as it is", "DQ.offer/new-head-publishes", func() mutation { return nil }, passes, passes, passes},
		{"reads the clock before each transfer", "DQ.transfer/limit-101", before(isTransfer, "TIME"), "an extra TIME", passes, passes},
		{"lists clients before each transfer", "DQ.transfer/limit-101", before(isTransfer, "CLIENT", "LIST"), "CLIENT LIST", passes, passes},
		{"names in lower case", "DQ.poll/first-offered", wireFault{Command: "^EVAL (.*)$", Sends: []string{"eval $1"}}.mutate(), "eval", passes, passes},
		{"scripts in other words", "DQ.offer/later-one-is-silent", wireFault{Old: "redis.call(", New: "redis.call ("}.mutate(), "in place of", passes, passes},
		{"does not announce", "DQ.offer/new-head-publishes", inScript("offer", "if v[1] == value then", "if false then"), "published", "published", "W-OFFER-3"},
		{"one more write", "DQ.poll/first-offered", before(isOffer, "SET", "seen", "1"), "seen", "seen", "seen"},
		{"offers in two commands", "DQ.offer/new-head-publishes", inTwo, "W-OFFER-1", "W-OFFER-1", "W-OFFER-1"},
		{"offers in a transaction", "DQ.offer/new-head-publishes", inTransaction, "EVAL", "in place of", passes},
		{"deletes in two commands", "DQ.remove/clear", wireFault{Command: "^DEL (.*) (.*)$", Sends: []string{"DEL $1", "DEL $2"}}.mutate(), "W-REMOVE-7", "W-REMOVE-7", "W-REMOVE-7"},
		{"leaves the pending list", "DQ.transfer/one", inScript("transfer", "redis.call('lrem', KEYS[3], 1, v);", ""), "pending", "pending", "pending"},
	} {
		t.Run(port.name, func(t *testing.T) {
			t.Parallel()
			bench := newMutantBench(t, "3.21.0")
			i := slices.IndexFunc(bench.cases, func(c *Case) bool { return c.ID == port.run })
			require.GreaterOrEqual(t, i, 0)
			for level, expected := range map[Level]string{Wire: port.wire, Exchange: port.exchange, State: port.state} {
				bench.proxy.use(port.mutate())
				bench.runner.Level = level
				result := bench.runner.Judge(t.Context(), bench.cases[i], bench.oracle)
				if expected == passes {
					require.Equal(t, Pass, result.Status, "%s: %s", level, result.Text())
					continue
				}
				require.Equal(t, Fail, result.Status, "%s: it passes", level)
				require.Contains(t, result.Text(), expected, "%s", level)
			}
		})
	}
}

// README and the guide for ports say which recording judges which release.
func TestREADMEClaim(t *testing.T) {
	cases, oracle := loaded()
	uncompared := len(slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return c.Trace == "" }))
	beyond := must(Load(scenarios.Conformance, "beyond"))
	var text strings.Builder
	for _, file := range []string{"../../../README.md", "../../../docs/port.md"} {
		text.Write(must(os.ReadFile(file)))
	}
	documents := strings.Join(strings.Fields(text.String()), " ")
	releases, recorded := len(wire.Releases()), len(oracle.Releases())
	for _, claim := range []string{
		fmt.Sprintf("byte for byte, for Redisson %s to %s", wire.Releases()[0], wire.Newest()),
		fmt.Sprintf("%d cases, recorded from %d releases", len(cases), recorded),
		fmt.Sprintf("Of %d releases with `RDelayedQueue`, %d are recorded", releases, recorded),
		fmt.Sprintf("The other %d are judged", releases-recorded),
		fmt.Sprintf("and %d at every release", uncompared),
		fmt.Sprintf("runs %d cases, and %d that were not recorded", len(cases), len(beyond)),
	} {
		require.Contains(t, documents, claim)
	}
	var pass, skip int
	_, _ = fmt.Sscanf(documents[strings.Index(documents, " passed, 0 failed, 0 failed as expected, ")-3:], "%d passed, 0 failed, 0 failed as expected, %d skipped", &pass, &skip)
	require.Equal(t, len(cases)+len(beyond), pass+skip, "the example of docs/port.md")
}

func TestRandomHistoriesOfARightPort(t *testing.T) {
	t.Parallel()
	for _, name := range redistest.Sample(t, []string{"4.7.0", "3.16.6"}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := must(wire.LookupRelease(name))
			port := newTestRunner(t, must(program.Local(t.Context(), "dq", must(spec.ParseProgram("dq:"+release.String())).Serve)), release)
			reference := newTestRunner(t, must(must(spec.ParseProgram("dq:"+release.String()+",faithful")).Start(t.Context(), nil, nil)), release)
			failure, histories, err := (&Random{Port: port, Reference: reference, Seeds: 25}).Run(t.Context())
			require.NoError(t, err)
			require.Empty(t, failure)
			require.Equal(t, uint64(25), histories)
		})
	}
}

// A failing history is shrunk, printed as a case that parses, and names its statement.
func TestRandomHistoryOfAFault(t *testing.T) {
	t.Parallel()
	bench := newMutantBench(t, "3.21.0")
	bench.proxy.use(inScript(wire.ScriptOffer, "if v[1] == value then", "if true then")())
	reference := newTestRunner(t, must(must(spec.ParseProgram("dq:"+bench.runner.release.String()+",faithful")).Start(t.Context(), nil, nil)), bench.runner.release)
	failure, _, err := (&Random{Port: bench.runner, Reference: reference, Seeds: 50}).Run(t.Context())
	require.NoError(t, err)
	require.Contains(t, failure, "2 of ")
	require.Contains(t, failure, "W-OFFER-4: the new member is not due first, but its due time was published")
	_, text, _ := strings.Cut(failure, "\n")
	cases, err := Parse("random.yaml", []byte("section: random\ncases:\n"+text))
	require.NoError(t, err, text)
	require.Len(t, cases[0].Steps, 2)
}

// Real Redissons test the rules: none may speak on any recorded case of a release for which its statement holds.
func TestRulesAreSilentOnRecordings(t *testing.T) {
	t.Parallel()
	cases, oracle := loaded()
	judged := 0
	for _, release := range oracle.Releases() {
		for _, c := range cases {
			lines, _, ok := oracle.Case(release, c.ID)
			if !ok || len(lines) == 0 {
				continue
			}
			judged++
			harness := map[string]bool{} // peers that write what waits by plain commands, as the steps of cases do and no Redisson does
			for _, l := range lines {
				if !l.Inner() && len(l.Args) > 1 && (l.Name() == "zadd" || l.Name() == "rpush") && strings.HasPrefix(l.Args[1], "redisson_delay_queue") {
					harness[l.Peer] = true
				}
			}
			for _, b := range breaches(trace.NewTimeline(c.names()), lines, func(peer string) bool { return !harness[peer] }, release, lines[len(lines)-1].Time) {
				t.Errorf("%s %s: %s: %s: %.300s", release, c.ID, b.Statement, b.Text, b.Line.Text())
			}
		}
	}
	require.Greater(t, judged, 2500)
}

// A case with late reactions runs again, unless it waited in vain. Other failures are judged at once.
func TestLateReactionsRunAgain(t *testing.T) {
	late, wrong := trace.Breach{Statement: "W-START-2", Late: true}, trace.Breach{Statement: "W-OFFER-4"}
	for i, broken := range [][]trace.Breach{{late}, {wrong, late}, {wrong}, {}} {
		r := Result{Status: []Status{Fail, FailedAsExpected}[i%2], Observation: Observation{Broken: broken}}
		require.Equal(t, slices.ContainsFunc(broken, func(b trace.Breach) bool { return b.Late }), r.late(), "%v", broken)
		r.vain = true
		require.False(t, r.late(), "%v", broken)
	}
}

const smallest = `section: DQ.offer
cases:
  - id: DQ.offer/x
    requirement: It works.
    source: 3.21.0
    steps:
      - call: dq.size
`

func TestParseNamesTheFile(t *testing.T) {
	for content, want := range map[string]string{
		"section: DQ.offer\nsecton: x\n":                 `line 2: field secton not found`,
		"section: [\n":                                   `a.yaml:`,
		smallest + "    sice: 3.0.0\n":                   `line 8: field sice not found`,
		smallest + "    since: 3.99\n":                   `"3.99" is not a Redisson release`,
		smallest + "      - pause: soon\n":               `expected a duration such as 1h`,
		"section: DQ.offer\ncases:\n  - id: DQ.poll/x\n": `case 1: expected steps, and an id of the form DQ.offer/<name>`,
		"section: DQ.offer\ncases:\n  -\n":               `case 1: expected steps`,
		smallest + "      -\n":                           `case 1: expected steps`,
	} {
		_, err := Parse("a.yaml", []byte(content))
		require.ErrorContains(t, err, want, content)
		require.ErrorContains(t, err, "a.yaml: ")
	}
}

// TestCasesAreWellFormed looks for faults that the decoder does not see.
func TestCasesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, folder := range []string{"conformance", "beyond", "beside"} {
		cases := must(Load(scenarios.Conformance, folder))
		require.NotEmpty(t, cases)
		for _, c := range cases {
			require.False(t, seen[c.ID], "%s: the id %q is there already", c.Place, c.ID)
			seen[c.ID] = true
			require.Regexp(t, `^[^\s/]+/[^\s/]+$`, c.ID, c.Place)
			require.True(t, c.Requirement != "" && c.Source != "" && len(c.Steps) > 0, "%s: expected a requirement, its source and steps", c.Place)
			for i, s := range c.Steps {
				requireStep(t, s, "%s: step %d of %s", c.Place, i+1, c.ID)
			}
		}
	}
}

func requireStep(t *testing.T, s *Step, place ...any) {
	t.Helper()
	given := []bool{s.Call != "", s.Await != "", s.Cancel != "", s.Open != nil, s.Redis != nil, s.Seed != nil, s.Wait != nil, s.Pause != 0, s.Hold != 0}
	require.Len(t, slices.DeleteFunc(given, func(b bool) bool { return !b }), 1, place...)
	_, err := regexp.Compile(s.Error)
	require.NoError(t, err, place...)
	judged, answers := !s.Returns.IsZero() || s.Error != "", s.Call != "" || s.Await != ""
	require.False(t, judged && (s.Anything != "" || s.Async != "") || !answers && (judged || s.Anything != ""), place...)
	require.Equal(t, s.Pause != 0, s.Because != "", place...)
	if s.Redis != nil { // a shared server begins without scripts
		require.Regexp(t, "^([LR]PUSH|SET|ZADD|ZREM|DEL|PEXPIRE|PUBLISH|CLIENT KILL TYPE|SCRIPT FLUSH) ", strings.Join(s.Redis, " ")+" ", place...)
	}
	if s.Open != nil {
		require.Contains(t, []string{"", "beside", "new"}, s.Open.By, place...)
	}
	if s.Seed != nil {
		require.NotEqual(t, len(s.Seed.Values) > 0, s.Seed.Count > 0, place...)
		require.Contains(t, []string{"", "pending", "timeouts"}, s.Seed.Skip, place...)
	}
	if w := s.Wait; w != nil {
		require.True(t, w.Length != nil || w.Transfers > 0 || w.Command != "" || w.Subscribers != nil || w.Unblocked, place...)
		require.Equal(t, w.Length != nil, w.Key != "", place...)
	}
}

func TestCaseReleases(t *testing.T) {
	for bounds, want := range map[string][5]bool{ // 2.8.1, 2.15.2, 3.3.1, 4.7.0, and one that is newer than the catalogue
		"":                    {true, true, true, true, true},
		"    since: 3.3.2\n":  {false, false, false, true, true},
		"    until: 3.21.0\n": {true, true, true, false, false},
		"    since: 3.3.2\n    since-2x: 2.8.2\n": {false, true, false, true, true},
		"    until: 3.3.1\n    until-2x: 2.8.1\n": {true, false, true, false, false},
	} {
		cases := must(Parse("a.yaml", []byte(smallest+bounds)))
		for i, name := range []string{"2.8.1", "2.15.2", "3.3.1", "4.7.0", "4.99.0"} {
			require.Equal(t, want[i], cases[0].HoldsFor(must(wire.ParseRelease(name))), "%q at %s", bounds, name)
		}
	}
}
