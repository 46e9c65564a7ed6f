package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "known.yaml")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			b, err := ReadBaseline(t.Context(), file, cases)
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				require.ErrorContains(t, err, file)
				return
			}
			require.NoError(t, err)
			text, err := b.Text()
			require.NoError(t, err)
			again, err := ParseBaseline(text)
			require.NoError(t, err)
			require.Equal(t, b, again)
		})
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
		switch c.ID {
		case "DQ.offer/new-head-publishes", "DQ.offer/negative-delay-refused", "DQ.offer/unit", "DQ.offer/any-text", "DQ.offer/empty-value":
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
		written, err := b.Text()
		require.NoError(t, err)
		again, err := ParseBaseline(written)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}
