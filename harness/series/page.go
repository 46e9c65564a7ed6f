package series

import "github.com/dq-bench/dq-bench/harness/report"

// Page is the series for a browser: every side in a colour of its own, and the
// comparisons with the first one. Two sides are called OLD and NEW, as the
// comparison calls them.
func (r *Result) Page() report.Page {
	page := report.Page{Comparisons: r.Comparisons}
	for i, side := range r.Sides {
		name := side.Spec
		if len(r.Sides) == 2 {
			name = []string{"OLD ", "NEW "}[i] + name
		}
		page.Sides = append(page.Sides, report.Side{Name: name, Runs: side.Runs})
	}
	return page
}
