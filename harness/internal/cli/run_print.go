package cli

import (
	"context"
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
	Schema string          `json:"schema"`
	Runs   []*run.Document `json:"runs"`
	// Comparisons are of drivers or servers that ran in turn.
	Comparisons []*compare.Comparison `json:"comparisons,omitempty"`
	// NeverRan names the variants, or scenarios, that an interrupt left out.
	NeverRan []string `json:"never_ran,omitempty"`
}

// all does the cases one after the other, and writes the page of them all. An interrupt ends them after the
// one under way, and is an error if nothing ran.
func (r *runCall) all(ctx context.Context) (err error) {
	defer func() {
		r.suite.Over(err)
		r.show()
		if all := r.suite.Page(); all != nil && r.suite.Cases() != nil {
			if unwritten := all.Save(filepath.Join(r.options.Out, report.File)); unwritten != nil {
				r.options.Load.Notice("warning: " + unwritten.Error())
			}
		}
	}()
	for _, c := range r.cases {
		if len(r.cases) > 1 {
			r.notice("\n%s", c.Plan.Name)
		}
		r.options.Load.About.Turn = r.suite.Begin()
		r.show()
		names := series.Names(c.Sides)
		result, err := series.Do(ctx, r.options, c, r.repeat, func(turn series.Turn, d *run.Document) {
			r.done = append(r.done, d)
			r.notice("%s run %d: %s", names[turn.Side], turn.N, d.Verdict.Text)
		})
		if ctx.Err() != nil && errors.Is(err, context.Canceled) && len(r.done) > 0 {
			return nil // in a case of which nothing ran, after others
		}
		if err == nil {
			r.suite.Ended(result)
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

// print prints a case for people: its comparison, or each of its runs.
func (r *runCall) print(result *series.Result) error {
	single := result.Single
	if single != nil {
		r.done = append(r.done, single)
	}
	r.several = r.several || single == nil
	r.comparisons = append(r.comparisons, result.Comparisons...)
	switch {
	case r.json:
		return nil
	case len(result.Comparisons) > 0:
		return report.OfSets(result.Result).Text(r.OutOrStdout())
	}
	for _, set := range result.Sets {
		for _, d := range set.Runs {
			if err := report.OfRun(d).Text(r.OutOrStdout()); err != nil {
				return err
			}
			if single == nil || len(r.cases) > 1 {
				fmt.Fprintln(r.OutOrStdout())
			}
		}
	}
	return nil
}

// end prints the summary of all cases, or the document: the run file of a single run, or a list.
func (r *runCall) end() error {
	switch cases := r.suite.Cases(); {
	case !r.json && cases != nil:
		fmt.Fprintln(r.OutOrStdout(), cases.Text())
		fallthrough
	case !r.json:
		return nil
	case cases == nil && len(r.done) == 1 && !r.several:
		data, err := r.done[0].Encode()
		fmt.Fprint(r.OutOrStdout(), string(data))
		return err
	}
	return printJSON(r.OutOrStdout(), seriesDocument{"dq-bench/series/v1", r.done, r.comparisons, r.suite.NeverRan})
}

// verdict is a failure if any run failed. Else it lists the variants that an interrupt left out.
func (r *runCall) verdict() error {
	var texts []string
	for _, d := range r.done {
		if !d.Verdict.Passed {
			texts = append(texts, d.Verdict.Text)
		}
	}
	cases, all := r.suite.Cases(), strings.Join(texts, "\n")
	switch {
	case cases != nil && cases.Failed():
		return failed(true, "%s", cases.Text())
	case cases != nil && len(r.suite.NeverRan) > 0:
		r.notice("%s", cases.Text())
	case len(texts) > 1:
		all = fmt.Sprintf("%d of %d runs failed: %s", len(texts), len(r.done), all)
	}
	return failed(texts != nil, "%s", all)
}

// serve serves the page and the metrics of the runs, and the door for agents, at --listen, and prints where. The page's
// button ends the context that it returns; the function shows the last page for good to browsers that are there.
func (r *runCall) serve(ctx context.Context) (context.Context, func() error, error) {
	if r.listen == "" {
		return ctx, func() error { return nil }, nil
	}
	ctx, stop := context.WithCancel(ctx)
	r.page = web.NewLive(ctx, r.options.Load.Live, stop)
	server, err := web.Serve(ctx, r.listen, r.page, web.MetricsHandler(tool(), web.LoadMetrics{Run: r.options.Load.Live}), r.door)
	if err != nil {
		stop()
		return ctx, nil, err
	}
	r.notice("page at %[1]s, metrics at %[1]smetrics", server.URL())
	return ctx, func() error {
		r.page.End(r.suite.Page())
		stop()
		err := server.Close()
		r.door.Close()
		return err
	}, nil
}

// show shows how the cases stand.
func (r *runCall) show() {
	if r.page != nil {
		r.page.Cases(r.suite.Cases())
	}
}

// scenarioList is the document of 'run --list --json'.
type scenarioList struct {
	Schema    string             `json:"schema"`
	Scenarios []*series.Scenario `json:"scenarios"`
}

// listScenarios prints what 'run -f' can run. A variant marked with * takes long or needs more than a
// Redis: it runs by its name only.
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
			row(map[bool]string{true: " * ", false: "   "}[v.Full]+v.Name, "  "+v.About)
		}
	}
	return c.shows(scenarioList{"dq-bench/scenarios/v1", all}, report.Page{Tables: []report.Table{t}}.Text)
}
