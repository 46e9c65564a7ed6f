package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// crashing is a program that is gone when an op is called.
type crashing struct {
	program.Program
	op string
}

func (p crashing) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	if op == p.op {
		return nil, errors.New("driver program has ended")
	}
	return p.Program.Call(ctx, op, params)
}

func parsed(t *testing.T, text string) *Case {
	t.Helper()
	section, err := Parse("a.yaml", []byte(text))
	require.NoError(t, err)
	return section.Cases[0]
}

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
	release := wire.Newest()
	runner := newTestRunner(t, spec.DQ{Release: release}.Link(true), release)
	for name, test := range map[string]struct {
		text   string
		status Status
		detail string
	}{
		"it holds":                  {offersOne, Pass, ""},
		"a wrong key":               {strings.Replace(offersOne, "pending: [a]", "pending: [b]", 1), Fail, `expected ["b"], got ["a"]`},
		"a key too many":            {strings.Replace(offersOne, "pending: [a]", "", 1), Fail, `expected nothing, got ["a"]`},
		"a wrong reply":             {strings.Replace(offersOne, "delay: 1h}", "delay: 1h}\n        returns: 7", 1), Fail, "step 1 (dq.offer): expected the result 7, got null"},
		"no error":                  {strings.Replace(offersOne, "delay: 1h}", "delay: 1h}\n        error: refused", 1), Fail, "matches \"refused\""},
		"an unexpected error":       {strings.Replace(offersOne, "delay: 1h", "delay: -1", 1), Fail, "expected no error"},
		"a message too many":        {offersOne + "      published: 2\n", Fail, "expected 2 messages"},
		"an event that never comes": {strings.Replace(offersOne, "    expect:", "      - wait: {key: destination, length: 1, within: 50ms}\n    expect:", 1), Fail, "expected 1 element in destination, not seen within"},
		"another release":           {offersOne + "    until: 3.21.0\n", Skip, "it holds for 2.7.0 to 2.15.2, 3.2.0 to 3.21.0, this is 4.7.0"},
		"an unknown op":             {strings.Replace(offersOne, "dq.offer\n", "dq.fly\n", 1), Skip, "has no dq.fly"},
		"an unknown codec":          {offersOne + "    codec: fst\n", Skip, `no codec "fst"`},
		"known, and fails":          {strings.Replace(offersOne, "pending: [a]", "pending: [b]", 1) + "    known-failing: {dq: it lies}\n", FailedAsExpected, "it lies"},
		"known, and passes":         {offersOne + "    known-failing: {'dq:*': it lies}\n", Fail, "expected to fail (it lies), but it passes"},
		"known of another":          {offersOne + "    known-failing: {redisson: it lies}\n", Pass, ""},
		"a wrong case":              {strings.Replace(offersOne, "dq.offer\n", "dq.offer\n        handle: none\n", 1), Error, `no handle "none" is open`},
	} {
		result := runner.Judge(t.Context(), parsed(t, test.text), nil)
		require.Equal(t, test.status, result.Status, "%s: %s", name, result.Detail)
		require.Contains(t, result.Detail, test.detail, name)
	}
}

// A program that has ended fails the case, whichever op it was.
func TestAProgramThatHasEndedFails(t *testing.T) {
	release := wire.Newest()
	for _, op := range []string{"open", "dq.offer", "close"} {
		runner := newTestRunner(t, crashing{spec.DQ{Release: release}.Link(true), op}, release)
		result := runner.Judge(t.Context(), parsed(t, offersOne), nil)
		require.Equal(t, Fail, result.Status, op)
		require.Contains(t, result.Detail, "driver program has ended", op)
	}
}

// The recording of a run judges the next run, and finds a difference.
func TestRecordedRunIsTheOracle(t *testing.T) {
	release := wire.Newest()
	runner := newTestRunner(t, spec.DQ{Release: release}.Link(true), release)
	c := parsed(t, offersOne)
	report := NewReport(driver.Identity{Name: "dq", Version: "4.7.0"}, "4.7.0", "redis 7")
	report.Add(runner.Judge(t.Context(), c, nil))
	dir := t.TempDir()
	files, err := WriteRecordings(filepath.Join(dir, "4.7.0"), report)
	require.NoError(t, err)
	require.Len(t, files, 1)
	oracle, err := LoadOracle(os.DirFS(dir), ".")
	require.NoError(t, err)
	require.Equal(t, Pass, runner.Judge(t.Context(), c, oracle).Status)

	other := parsed(t, strings.Replace(offersOne, "delay: 1h}", "delay: 2h}", 1))
	result := runner.Judge(t.Context(), other, oracle)
	require.Equal(t, Fail, result.Status)
	require.Contains(t, result.Detail, "delay")

	unknown := parsed(t, strings.ReplaceAll(offersOne, "DQ.offer/x", "DQ.offer/y"))
	result = runner.Judge(t.Context(), unknown, oracle)
	require.Equal(t, Error, result.Status)
	require.Contains(t, result.Detail, "dq-bench record --driver redisson:4.7.0")
}

func TestRecordingThatJudgesARelease(t *testing.T) {
	line := func(text string) string {
		return "1.000000 [0 127.0.0.1:1] \"ECHO\" \"case:DQ.offer/x\"\n" + text + "\n"
	}
	script, ok := wire.Release{Major: 3, Minor: 16, Patch: 6}.Script(wire.ScriptPoll)
	require.True(t, ok)
	eval := trace.Line{Peer: "127.0.0.1:1", Args: []string{"EVAL", script.Body, "2", "a", "b"}}.String()
	oracle, err := LoadOracle(fstest.MapFS{
		"r/2.15.2/DQ.offer.monitor": {Data: []byte(line(eval))},
		"r/3.16.6/DQ.offer.monitor": {Data: []byte(line(eval))},
		"r/3.21.1/DQ.poll.monitor":  {Data: []byte("")},
	}, "r")
	require.NoError(t, err)
	c := parsed(t, offersOne)
	for name, want := range map[string]string{
		"3.16.6": "by 3.16.6", "3.17.0": "by 3.16.6", "3.20.1": "by 3.16.6",
		"3.13.4": "by 3.16.6", "2.15.0": "by 2.15.2",
		"3.13.0": "by 3.16.6",
		"3.22.0": "no recorded release has this case with the same scripts",
		"3.21.1": "error",
	} {
		release, err := wire.LookupRelease(name)
		require.NoError(t, err)
		source, err := oracle.source(c, release)
		got := "by " + source.release.String()
		if source.absent != "" {
			got = source.absent
		}
		if err != nil {
			got = "error"
		}
		require.Equal(t, want, got, name)
	}
	cases, err := oracle.cases[wire.Release{Major: 3, Minor: 16, Patch: 6}]()
	require.NoError(t, err)
	from := wire.Release{Major: 3, Minor: 16, Patch: 6}
	require.True(t, sameScripts(cases[c.ID], from, wire.Release{Major: 3, Minor: 19, Patch: 0}))
	require.False(t, sameScripts(cases[c.ID], from, wire.Release{Major: 3, Minor: 21, Patch: 1}))
}

func TestReportForms(t *testing.T) {
	judged := NewReport(driver.Identity{Name: "dq", Version: "4.7.0"}, "4.7.0", "redis 7.0.15")
	for i, status := range []Status{Pass, Fail, Skip, FailedAsExpected, Error} {
		judged.Add(Result{ID: "DQ.offer/" + string(rune('a'+i)), Status: status, Requirement: "It works.", Source: "3.21.0", Detail: "because\x00"})
	}
	require.Equal(t, Counts{1, 1, 1, 1, 1}, judged.Counts)
	require.Contains(t, judged.Text(), "required  It works.")

	var document, junit bytes.Buffer
	require.NoError(t, judged.WriteJSON(&document))
	var decoded map[string]any
	require.NoError(t, json.Unmarshal(document.Bytes(), &decoded))
	require.Equal(t, Schema, decoded["schema"])
	require.Len(t, decoded["cases"], 5)
	require.Equal(t, map[string]any{"pass": 1., "fail": 1., "skip": 1., "failed_as_expected": 1., "error": 1.}, decoded["counts"])

	require.NoError(t, judged.WriteJUnit(&junit))
	var suite report.JUnitSuite
	require.NoError(t, xml.Unmarshal(junit.Bytes(), &suite))
	suite.Cases = slices.DeleteFunc(suite.Cases, func(c report.JUnitCase) bool { return c.Class == "statements" })
	require.Len(t, suite.Cases, 5)
	require.NotNil(t, suite.Cases[1].Failure)
	require.Equal(t, "DQ.offer", suite.Cases[1].Class)
}

// wrongSize is a program whose dq.size is wrong.
type wrongSize struct{ program.Program }

func (p wrongSize) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	answer, err := p.Program.Call(ctx, op, params)
	if op == "dq.size" && err == nil {
		return json.RawMessage("7"), nil
	}
	return answer, err
}

// A failure names the statements that the case shows of the release, in every form of the report. Only the one that it
// contradicts is broken.
func TestAFailureCitesStatements(t *testing.T) {
	sections, _ := loaded()
	cases := Select(sections, func(id string) bool {
		return slices.Contains([]string{"DQ.read/size", "DQ.offer/equal-values-are-two", "DQ.read/foreign-member", "DQ.poll/foreign-member-is-destroyed", "DQ.offer/negative-delay-taken"}, id)
	})
	release := wire.Newest()
	runner := newTestRunner(t, wrongSize{spec.DQ{Release: release}.Link(true)}, release)
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
		Statements []Verdict `json:"statements"`
		Cases      []struct {
			Statements []map[string]string `json:"statements"`
		} `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(document.Bytes(), &decoded))
	require.Equal(t, report.Verdicts(), decoded.Statements)
	require.Equal(t, "MUST", decoded.Cases[1].Statements[0]["level"])
	require.Equal(t, "docs/spec/members.md#w-member-2", decoded.Cases[1].Statements[0]["link"])
	require.NotNil(t, decoded.Cases[0].Statements, "an empty list, not null")
	require.NoError(t, report.WriteJUnit(&junit))
	require.Contains(t, junit.String(), "W-READ-3: ")
}

// Where a release was not recorded another one judges it, but for a few cases, most of them of
// codecs, that no release near it could be made to record.
func TestLittleIsLeftToRepliesAlone(t *testing.T) {
	sections, oracle := loaded()
	for _, release := range wire.Releases() {
		left := 0
		for _, c := range Select(sections, nil) {
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
