package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
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
