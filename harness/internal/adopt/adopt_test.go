package adopt

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

func release(t *testing.T, text string) wire.Release {
	t.Helper()
	r, err := wire.ParseRelease(text)
	require.NoError(t, err)
	return r
}

type data struct {
	cases  []*conformance.Case
	oracle *conformance.Oracle
}

var loaded = sync.OnceValues(func() (data, error) {
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	if err != nil {
		return data{}, err
	}
	oracle, err := conformance.LoadOracle(recordings.Files, "redisson")
	return data{conformance.Select(sections, nil), oracle}, err
})

func load(t *testing.T) ([]*conformance.Case, *conformance.Oracle) {
	t.Helper()
	d, err := loaded()
	require.NoError(t, err)
	return d.cases, d.oracle
}

// recorded is the report of a run that saw what the recordings of a release hold.
func recorded(t *testing.T, of wire.Release) *conformance.Report {
	t.Helper()
	cases, oracle := load(t)
	report := conformance.NewReport(driver.Identity{Name: "redisson", Version: of.String()}, of.String(), "redis 7.0.15")
	for _, c := range cases {
		result := conformance.Result{ID: c.ID, Status: conformance.Pass, Requirement: c.Requirement, Uncompared: c.Trace}
		lines, absent, ok := oracle.Case(of, c.ID)
		switch {
		case !ok:
			result.Status, result.Uncompared = conformance.Skip, ""
		case absent != "":
			result.Status, result.Absent = conformance.Skip, absent
		default:
			mark := monitor.Line{Time: lines[0].Time, Peer: "127.0.0.1:1", Args: []string{"echo", "case:" + c.ID}}
			result.Lines = append([]monitor.Line{mark}, lines...)
		}
		report.Add(result)
	}
	return report
}

// compared is the adoption of a release that does what the recordings of another one hold.
func compared(t *testing.T, as, of string, change func([]monitor.Line)) *Adoption {
	t.Helper()
	cases, oracle := load(t)
	report := recorded(t, release(t, of))
	for _, r := range report.Cases {
		for i := range r.Lines {
			r.Lines[i].Raw = "" // what is changed is not what was read
		}
		if change != nil {
			change(r.Lines)
		}
	}
	a, err := Compare(release(t, as), report, cases, oracle, Profile{DefaultCodec: "kryo5"})
	require.NoError(t, err)
	return a
}

func outcomesOf(a *Adoption) map[Outcome]int {
	counts := map[Outcome]int{}
	for _, tally := range a.Tallies() {
		counts[tally.Outcome] = tally.Cases
	}
	return counts
}

func TestAReleaseThatDoesWhatTheNearestDoes(t *testing.T) {
	a := compared(t, "4.8.0", "4.7.0", nil)
	require.Equal(t, "4.7.0", a.Nearest.String())
	require.False(t, a.Known)
	require.False(t, a.Differs(), "%+v", a.Groups())
	require.Equal(t, "Redisson 4.8.0 does what 4.7.0 does.", a.Summary())
	require.Empty(t, a.Review())
	counts := outcomesOf(a)
	require.Greater(t, counts[Same], 150)
	require.Equal(t, 3, counts[Uncompared])
}

// 3.46.0 sends its scripts by their SHA-1, which 3.42.0, the nearest recorded one before it, does not.
func TestAReleaseThatDiffers(t *testing.T) {
	a := compared(t, "3.46.0", "3.46.0", nil)
	require.Equal(t, "3.42.0", a.Nearest.String())
	require.True(t, a.Differs())
	require.Empty(t, a.DifferingScripts(), "the texts are the same")
	for _, r := range a.Rules {
		require.False(t, r.Broken(), "%+v", r)
		require.Equal(t, r.Name == "scripts sent by", r.Differs(), "%+v", r)
	}
	groups := a.Groups()
	require.Greater(t, len(groups[0].Cases), 100)
	require.Equal(t, Spelling, groups[0].Outcome)
	require.Equal(t, "EVALSHA transfer-v2 in place of EVAL transfer-v2", groups[0].Cause)
}

func TestWhatACaseCanComeTo(t *testing.T) {
	line := func(args ...string) []monitor.Line {
		return []monitor.Line{{Time: 1, Peer: "127.0.0.1:1", Args: args}}
	}
	ran := append(line("echo", "case:a/b"), line("LLEN", "x")...)
	for name, test := range map[string]struct {
		result   conformance.Result
		there    []monitor.Line
		recorded bool
		want     Outcome
		cause    string
	}{
		"same":       {conformance.Result{Status: conformance.Pass, Lines: ran}, line("LLEN", "x"), true, Same, ""},
		"other read": {conformance.Result{Status: conformance.Pass, Lines: ran}, line("LLEN", "y"), true, Spelling, "other arguments of LLEN"},
		"other":      {conformance.Result{Status: conformance.Pass, Lines: ran}, line("DEL", "x"), true, Commands, "LLEN in place of DEL"},
		"fails":      {conformance.Result{Status: conformance.Fail, Lines: ran, Detail: "expected 1\nmore"}, line("LLEN", "x"), true, Behaviour, "expected 1"},
		"only here":  {conformance.Result{Status: conformance.Pass, Lines: ran}, nil, false, OnlyHere, "there is no recording to compare with"},
		"gone":       {conformance.Result{Status: conformance.Skip, Absent: "no fst"}, line("LLEN", "x"), true, Gone, "no fst"},
		"neither":    {conformance.Result{Status: conformance.Skip, Absent: "no fst"}, nil, false, Neither, ""},
		"elsewhere":  {conformance.Result{Status: conformance.Skip}, nil, false, Elsewhere, ""},
		"uncompared": {conformance.Result{Status: conformance.Pass, Lines: ran, Uncompared: "timing"}, line("LLEN", "y"), true, Uncompared, ""},
	} {
		c := compareCase(test.result, test.there, test.recorded)
		require.Equal(t, test.want, c.Outcome, name)
		require.Equal(t, test.cause, c.Cause, name)
	}
}

func sha1Of(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// renewed replaces a script text by another one, in every way in which it is sent.
func renewed(old *wire.Script, text string) func([]monitor.Line) {
	return func(lines []monitor.Line) {
		for i, l := range lines {
			for j, arg := range l.Args {
				switch arg {
				case old.Body:
					lines[i].Args = append(append(append([]string{}, l.Args[:j]...), text), l.Args[j+1:]...)
				case old.SHA1:
					lines[i].Args = append(append(append([]string{}, l.Args[:j]...), sha1Of(text)), l.Args[j+1:]...)
				}
			}
		}
	}
}

func TestANewScript(t *testing.T) {
	old, ok := wire.Newest().Script(wire.ScriptPeek)
	require.True(t, ok)
	text := strings.Replace(old.Body, "return nil;", "return false;", 1)
	require.NotEqual(t, old.Body, text)
	a := compared(t, "4.8.0", "4.7.0", renewed(old, text))

	differing := a.DifferingScripts()
	require.Len(t, differing, 2)
	n := differing[0].New
	require.NotNil(t, n)
	require.Equal(t, sha1Of(text), differing[0].SHA1)
	require.Equal(t, text, n.Text)
	require.Equal(t, "peek-v4", n.Variant)
	require.Equal(t, "peek-v4.lua", n.file())
	require.Equal(t, "peek-v3", n.Near.Variant)
	require.Equal(t, []string{"dq.peek"}, n.Calls)
	require.Equal(t, old.Keys, n.Keys, "as the catalogue words them")
	require.Equal(t, old.Args, n.Args)
	require.Contains(t, n.Diff(), "\n-end return nil;\n+end return false;\n")
	require.Equal(t, "peek-v3", differing[1].Known.Variant)
	require.False(t, differing[1].Here)
	require.Contains(t, a.Summary(), "2 scripts")
	require.Len(t, a.Review(), 1)

	dir := checkout(t)
	c, err := OpenCheckout(dir)
	require.NoError(t, err)
	files, left, err := c.Write(a)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Contains(t, files, "dq/wire/scripts/peek-v4.lua")
	require.Equal(t, text, fileIn(t, dir, "dq/wire/scripts/peek-v4.lua"))
	variants := fileIn(t, dir, variantsFile)
	require.Contains(t, variants, "RDelayedQueue,peek,peek-v3,3.21.1,4.7.0,,,")
	require.Contains(t, variants, "peek-v3.lua,3.21.1,value | nil,O(1)\nRDelayedQueue,peek,peek-v4,4.8.0,4.8.0,,,"+sha1Of(text)+",145,redisson_delay_queue:{<dest>},,peek-v4.lua,4.8.0,value | nil,O(1)\n")
	require.Contains(t, variants, "RDelayedQueue,offer,offer-v2,3.21.1,4.8.0,,,")
	require.True(t, strings.HasSuffix(fileIn(t, dir, releasesFile), "4.7.0\n4.8.0\n"))
}
