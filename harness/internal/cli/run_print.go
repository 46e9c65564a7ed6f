package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// seriesDocument is what `run --json` prints of several runs.
type seriesDocument struct {
	Schema      string                `json:"schema"`
	Runs        []*run.Document       `json:"runs"`
	Comparisons []*compare.Comparison `json:"comparisons,omitempty"` // of drivers or servers that ran in turn
	NeverRan    []string              `json:"never_ran,omitempty"`   // the variants, or scenarios, that an interrupt left out
}

// all does the cases one after the other, and writes the page of them all. An interrupt ends them after the
// one under way, and is an error if nothing ran.
func (r *runCall) all(ctx context.Context) (err error) {
	standing := new(report.Case)
	defer func() {
		if err != nil && len(standing.Sets) == 0 {
			standing.Failure = err.Error()
		}
		for i := range r.standings.All {
			if c := &r.standings.All[i]; len(c.Sets) == 0 && c.Failure == "" {
				c.Standing = report.NeverRan
				r.neverRan = append(r.neverRan, c.Name)
			}
		}
		r.show()
		if all := r.lastPage(); all != nil && len(r.cases) > 1 {
			if unwritten := all.Save(filepath.Join(r.options.Out, report.File)); unwritten != nil {
				r.options.Load.Notice("warning: " + unwritten.Error())
			}
		}
	}()
	for i, c := range r.cases {
		standing = &r.standings.All[i]
		standing.Standing = report.Running
		if len(r.cases) > 1 {
			r.notice("\n%s", c.Plan.Name)
			r.options.Load.About.Turn = fmt.Sprintf("%s %d of %d: %s", r.standings.Kind, i+1, len(r.cases), standing.Name)
		}
		r.show()
		names := series.Names(c.Sides)
		result, err := series.Do(ctx, r.options, c, r.repeat, func(turn series.Turn, d *run.Document) {
			if r.done = append(r.done, d); r.several() {
				r.notice("%s run %d: %s", names[turn.Side], turn.N, d.Verdict.Text)
			}
		})
		if ctx.Err() != nil && errors.Is(err, context.Canceled) && len(r.done) > 0 {
			return nil // in a case of which nothing ran, after others
		}
		if err == nil {
			standing.Result = *result
			err = r.print(result)
		}
		if lacks := new(driver.CapabilityError); errors.As(err, &lacks) {
			err = usageError(err)
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// several reports whether a case has more than one run. All cases have as many sides.
func (r *runCall) several() bool { return len(r.cases[0].Sides)*r.repeat > 1 }

// print prints a case for people: its comparison, or each of its runs.
func (r *runCall) print(result *report.Result) error {
	r.comparisons = append(r.comparisons, result.Comparisons...)
	switch {
	case r.json:
		return nil
	case len(result.Comparisons) > 0:
		return report.OfSets(*result).Text(r.OutOrStdout())
	}
	for _, d := range compare.All(result.Sets) {
		if err := report.OfRun(d).Text(r.OutOrStdout()); err != nil {
			return err
		}
		if r.several() || len(r.cases) > 1 {
			fmt.Fprintln(r.OutOrStdout())
		}
	}
	return nil
}

// end prints the summary of all cases, or the document: the run file of a single run, or a list.
func (r *runCall) end() error {
	switch several := len(r.cases) > 1; {
	case !r.json:
		if several {
			fmt.Fprintln(r.OutOrStdout(), r.standings.Text())
		}
		return nil
	case !several && !r.several():
		data, err := r.done[0].Encode()
		fmt.Fprint(r.OutOrStdout(), string(data))
		return err
	}
	return printJSON(r.OutOrStdout(), seriesDocument{"dq-bench/series/v1", r.done, r.comparisons, r.neverRan})
}

// verdict is a failure if any run failed. Else it lists the variants that an interrupt left out.
func (r *runCall) verdict() error {
	var texts []string
	for _, d := range r.done {
		if !d.Verdict.Passed {
			texts = append(texts, d.Verdict.Text)
		}
	}
	all := strings.Join(texts, "\n")
	switch several := len(r.cases) > 1; {
	case several && r.standings.Failed():
		return failed(true, "%s", r.standings.Text())
	case several && len(r.neverRan) > 0:
		r.notice("%s", r.standings.Text())
	case len(texts) > 1:
		all = fmt.Sprintf("%d of %d runs failed: %s", len(texts), len(r.done), all)
	}
	return failed(texts != nil, "%s", all)
}

// lastPage is the page of all cases, or of the only one; nil without a run.
func (r *runCall) lastPage() *report.Page {
	p := report.OfCases(r.standings)
	switch {
	case !slices.ContainsFunc(r.standings.All, func(c report.Case) bool { return len(c.Sets) > 0 }):
		return nil
	case len(r.cases) == 1:
		p = report.OfSets(r.standings.All[0].Result)
	}
	return &p
}

// serve serves the page and the metrics of the runs, and the door for agents, at --listen, and prints where. The page's button ends the context
// that it returns; off loopback it needs the token of the printed address. The function shows the last page for good to browsers that are there.
func (r *runCall) serve(ctx context.Context) (context.Context, func() error, error) {
	if r.listen == "" {
		return ctx, func() error { return nil }, nil
	}
	ctx, stop := context.WithCancel(ctx)
	token, query := "", ""
	if !r.at.IsLocal() {
		token = rand.Text()
		query = "?token=" + token
	}
	r.page = web.NewLive(ctx, r.options.Load.Live, stop, token)
	server, err := web.Serve(ctx, r.listen, r.page, web.MetricsHandler(tool(), web.LoadMetrics{Run: r.options.Load.Live}), r.options.Load.Door)
	if err != nil {
		stop()
		return ctx, nil, err
	}
	r.notice("page at %[1]s%[2]s, metrics at %[1]smetrics", server.URL(), query)
	return ctx, func() error {
		r.page.End(r.lastPage())
		stop()
		err := server.Close()
		r.options.Load.Door.Close()
		return err
	}, nil
}

// show shows how several cases stand.
func (r *runCall) show() {
	if r.page != nil && len(r.cases) > 1 {
		r.page.Cases(&report.Cases{Kind: r.standings.Kind, All: slices.Clone(r.standings.All)})
	}
}

// scenarioList is the document of 'run --list --json'.
type scenarioList struct {
	Schema    string             `json:"schema"`
	Scenarios []*series.Scenario `json:"scenarios"`
}

// listScenarios prints what 'run -f' can run. A variant marked with * takes long or needs more than a Redis: it runs by its name only.
func (c *call) listScenarios() error {
	all, err := series.StoredScenarios()
	if err != nil {
		return err
	}
	t := report.Table{Words: 2, Wraps: true}
	row := func(name, about string) {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{{Text: name}, {Text: about}}})
	}
	for _, s := range all {
		row(s.Name, s.About)
		s.Variants = slices.DeleteFunc(s.Variants, func(v series.Variant) bool { return v.Name == "" })
		for _, v := range s.Variants {
			row(map[bool]string{true: " * ", false: "   "}[v.Full]+v.Name, v.About)
		}
	}
	return c.shows(scenarioList{"dq-bench/scenarios/v1", all}, report.Page{Tables: []report.Table{t}}.Text)
}
