package conformance

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/scenarios"
)

const smallest = `section: DQ.offer
cases:
  - id: DQ.offer/x
    requirement: It works.
    source: 3.21.0
    steps:
      - call: dq.size
`

func TestParseNamesFileAndLine(t *testing.T) {
	for content, want := range map[string]string{
		"section: DQ.offer\nsecton: x\n":                            `a.yaml:2: field secton not found in type conformance.Section`,
		"cases: []\n":                                               `a.yaml: expected a section`,
		"section: [\n":                                              `a.yaml:`,
		smallest + "    sice: 3.0.0\n":                              `a.yaml:8: field sice not found`,
		smallest + "    since: 3.99\n":                              `"3.99" is not a Redisson release`,
		smallest + "    since: 2.8.0\n":                             `a range of 2.x ends within it`,
		smallest + "      - pause: 1s\n":                            `a pause needs a because`,
		smallest + "      - pause: soon\n":                          `expected a duration such as 1h`,
		smallest + "      - wait: {key: x}\n":                       `step 2: expected key and length`,
		smallest + "      - {call: q.take, await: x}\n":             `expected exactly one of call`,
		smallest + "      - {call: q.take, error: '['}\n":           `step 2: error: error parsing regexp`,
		smallest + "      - {redis: [PING], returns: PONG}\n":       `only call and await return something`,
		smallest + "      - seed: {count: 3, skip: both}\n":         `expected pending or timeouts`,
		smallest + "      - {call: q.take, async: t, returns: a}\n": `belongs to its await`,
		smallest + "---\nsection: x\n":                              `expected one YAML document`,
		"section: DQ.offer\ncases:\n  - id: DQ.poll/x\n":            `a.yaml:3: DQ.poll/x: expected an id of the form DQ.offer/<name>`,
		"section: DQ.offer\ncases:\n  - {id: DQ.offer/x}\n":         `expected a requirement and its source`,
		"section: DQ.offer\ncases:\n  -\n":                          `case 1 is empty`,
	} {
		_, err := Parse("a.yaml", []byte(content))
		require.ErrorContains(t, err, want, content)
		var where *trace.FileError
		require.True(t, errors.As(err, &where), content)
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
		section, err := Parse("a.yaml", []byte(smallest+bounds))
		require.NoError(t, err)
		for i, name := range []string{"2.8.1", "2.15.2", "3.3.1", "4.7.0", "4.99.0"} {
			release, err := wire.ParseRelease(name)
			require.NoError(t, err)
			require.Equal(t, want[i], section.Cases[0].HoldsFor(release), "%q at %s", bounds, name)
		}
	}
}

func TestReturnsNullIsAnExpectation(t *testing.T) {
	section, err := Parse("a.yaml", []byte(smallest+"        returns: null\n"))
	require.NoError(t, err)
	step := section.Cases[0].Steps[0]
	require.NoError(t, step.judge(answer{result: []byte("null")}))
	require.ErrorContains(t, step.judge(answer{result: []byte("3")}), "expected the result null, got 3")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest))
	names, err := fs.Glob(scenarios.Conformance, "conformance/*.yaml")
	require.NoError(f, err)
	for _, name := range names {
		text, err := scenarios.Conformance.ReadFile(name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		section, err := Parse("fuzz.yaml", text)
		if err != nil {
			return
		}
		for _, c := range section.Cases {
			require.NotEmpty(t, c.Steps)
			_ = c.Range()
			_ = c.HoldsFor(wire.Newest())
			for _, s := range c.Steps {
				_ = s.title()
				_, _ = callParams(s.With)
			}
		}
	})
}
