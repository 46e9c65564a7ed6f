package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func caseOf(t *testing.T, name string, slos ...string) Case {
	t.Helper()
	r := judgedRun(t, uint64(len(name)), 1)
	var objectives []run.SLO
	for _, slo := range slos {
		objectives = append(objectives, mustSLO(t, slo))
	}
	r.Judge(objectives)
	return Case{Name: name, Sides: []Side{{"dq", []*run.Document{r}}}}
}

// Of several variants the page shows each, and its verdict is no milder than that of any.
func TestPageOfSeveralVariants(t *testing.T) {
	slow, fast := caseOf(t, "slow", "lateness.p50<=1ns"), caseOf(t, "fast")
	text := pageText(t, Page{Cases: &Cases{"variant", []Case{slow, fast}}})
	reason := slow.Sides[0].Runs[0].Verdict.Text
	require.Contains(t, text, `<header class="bad">`)
	require.Contains(t, text, `<p class="state">failed</p>`)
	require.Contains(t, text, `<title>slow, fast · failed</title>`)
	require.Contains(t, text, `<h1 id="verdict">1 of 2 variants failed: slow. slow: Failed: lateness.p50`)
	require.Contains(t, text, `<tr><th scope="row">fast</th><td class="text ok"><span class="pill">passed</span></td>`)
	require.Contains(t, text, `<i class="dot"></i>fast</button>`)

	for want, cases := range map[string][]Case{
		"All 2 variants passed.": {fast, caseOf(t, "other")},
		"1 of 3 variants failed: slow. 1 of 3 variants never ran: late. slow: " + reason: {slow, fast, {Name: "late", Standing: NeverRan}},
		"1 of 2 variants failed: none. none: no such server":                             {fast, {Name: "none", Failure: "no such server"}},
	} {
		all := &Cases{"variant", cases}
		require.Equal(t, want, all.Text())
		require.Equal(t, strings.Contains(want, "failed"), all.Failed())
	}
	never := &Cases{"variant", []Case{fast, {Name: "late", Standing: NeverRan}}}
	require.Equal(t, outcome{"open", "interrupted", "1 of 2 variants never ran: late."}, never.outcome())
}

// Variants that were compared say how, and keep their comparisons apart.
func TestPageOfComparedVariants(t *testing.T) {
	p := comparedPage(t)
	compared := Case{Name: "burst", Sides: p.Sides, Comparisons: p.Comparisons}
	cases := &Cases{"variant", []Case{caseOf(t, "fast"), compared}}
	require.Equal(t, outcome{"bad", "worse", "All 2 variants passed. Compared: burst worse."}, cases.outcome())
	text := pageText(t, Page{Cases: cases})
	require.Equal(t, 1, strings.Count(text, `class="compared"`))
	require.Contains(t, text, `<i class="dot"></i>burst: OLD dq:4.7.0</span> →`)
}

// More sides than there are colours are not drawn, those that failed before others.
func TestPageOfManyVariants(t *testing.T) {
	var all []Case
	for i := range 10 {
		all = append(all, caseOf(t, fmt.Sprint("v", i)))
	}
	all[9] = caseOf(t, "v9", "lateness.p50<=1ns")
	text := pageText(t, Page{Cases: &Cases{"scenario", all}})
	require.Contains(t, text, "Below are the figures of v0, v1, v2, v3, v4, v5, v6, v9; each")
	require.Contains(t, text, `<tr><th scope="row">v8</th>`)
	require.NotContains(t, text, `<i class="dot"></i>v8</button>`)
}

// What makes runs fails if one of them does, and so its page does not say less.
func TestThePageOfASeriesIsNoMilderThanItsRuns(t *testing.T) {
	p := comparedPage(t)
	for i := range 3 {
		p.Sides[1].Runs[i].Judge([]run.SLO{mustSLO(t, "lateness.p50<=1ns")})
	}
	c, err := compare.Runs(p.Sides[0].Runs[:2], p.Sides[1].Runs[:2], compare.DefaultOptions())
	require.NoError(t, err)
	p.Sides[0].Runs, p.Sides[1].Runs = p.Sides[0].Runs[:2], p.Sides[1].Runs[:2]
	p.Comparisons = []*compare.Comparison{c}
	require.Contains(t, pageText(t, p), `<p class="state">inconclusive</p>`)
	p.Verdicts, p.Interrupted = true, "3 of 4 runs were made in full"
	text := pageText(t, p)
	require.Contains(t, text, `<header class="bad">`)
	require.Contains(t, text, `<p class="state">failed, inconclusive</p>`)
	require.Regexp(t, `<h1 id="verdict">2 of 4 runs failed; the first one: Failed: .* Compared: Inconclusive`, text)
	require.Contains(t, text, "<strong>Interrupted.</strong> 3 of 4 runs were made in full.")
}
