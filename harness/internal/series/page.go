package series

import "github.com/dq-bench/dq-bench/harness/internal/page"

// Page is the series for a browser: every side in a colour of its own, and the
// comparisons with the first one. Two sides are called OLD and NEW, as the
// comparison calls them. That of a Single is that of the run.
func (r *Result) Page() page.Page {
	if only := r.Single(); only != nil {
		return page.OfRun(only)
	}
	all := page.Page{Comparisons: r.Comparisons, Verdicts: true, Interrupted: r.Interrupted}
	for i, side := range r.Sides {
		name := side.Name
		if len(r.Sides) == 2 {
			name = []string{"OLD ", "NEW "}[i] + name
		}
		all.Sides = append(all.Sides, page.Side{Name: name, Runs: side.Runs})
	}
	return all
}
