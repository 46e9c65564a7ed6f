package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// seriesSchema is the schema of what --json prints for several runs.
const seriesSchema = "dq-bench/series/v1"

// seriesDocument is what `run --json` prints of several runs.
type seriesDocument struct {
	Schema string          `json:"schema"`
	Runs   []*run.Document `json:"runs"`
	// Comparisons are those of the drivers or servers that ran in turn.
	Comparisons []*compare.Comparison `json:"comparisons,omitempty"`
	// NeverRan names the variants, or scenarios, that an interrupt left out.
	NeverRan []string `json:"never_ran,omitempty"`
}

// runPrinter writes what runs come to: as they end for people, as one document at
// the end for programs.
type runPrinter struct {
	stdout, stderr io.Writer
	json           bool
	quantiles      []float64
	cases          int
	suite          *series.Suite

	runs        []*run.Document
	comparisons []*compare.Comparison
	series      []*series.Result
	failed      []error
}

func newRunPrinter(f *runFlags, req *runRequest, stdout, stderr io.Writer) *runPrinter {
	return &runPrinter{stdout: stdout, stderr: stderr, json: f.json, quantiles: req.quantiles, cases: len(req.cases), suite: series.NewSuite(req.cases)}
}

// begin names the case where there are several.
func (p *runPrinter) begin(c series.Case) {
	if p.cases > 1 {
		fmt.Fprintf(p.stderr, "\n%s\n", c.Plan.Name)
	}
}

func (p *runPrinter) keep(r *run.Document) {
	p.runs = append(p.runs, r)
	if err := runVerdict(r); err != nil {
		p.failed = append(p.failed, err)
	}
}

// single prints a run in full.
func (p *runPrinter) single(r *run.Document) error {
	p.keep(r)
	if p.json {
		return nil
	}
	err := p.write(r)
	if p.cases > 1 {
		fmt.Fprintln(p.stdout)
	}
	return err
}

// one prints a line about a run of a series.
func (p *runPrinter) one(name string, n int, r *run.Document) {
	p.keep(r)
	fmt.Fprintf(p.stderr, "%s run %d: %s\n", name, n, r.Verdict.Text)
}

// done prints what a case came to.
func (p *runPrinter) done(result *series.Result) error {
	if r := result.Single(); r != nil {
		return p.single(r)
	}
	p.series = append(p.series, result)
	p.comparisons = append(p.comparisons, result.Comparisons...)
	if p.json {
		return nil
	}
	for _, side := range result.Sides {
		if len(result.Comparisons) == 0 {
			for _, r := range side.Runs {
				if err := p.write(r); err != nil {
					return err
				}
				fmt.Fprintln(p.stdout)
			}
		}
	}
	if len(result.Comparisons) == 0 {
		return nil
	}
	return report.OfSets(result.Report()).Text(p.stdout)
}

// write prints a run for people.
func (p *runPrinter) write(r *run.Document) error { return printRun(r, false, p.quantiles, p.stdout) }

// end prints what all cases came to, or the document: the run file of a single run, or a list.
func (p *runPrinter) end() error {
	switch cases := p.suite.Cases(); {
	case !p.json && cases != nil:
		_, err := fmt.Fprintln(p.stdout, cases.Text())
		return err
	case !p.json:
		return nil
	case cases == nil && len(p.runs) == 1 && len(p.series) == 0:
		return printRun(p.runs[0], true, nil, p.stdout)
	}
	return printJSON(p.stdout, seriesDocument{seriesSchema, p.runs, p.comparisons, p.suite.NeverRan()})
}

// report writes the files of --report, if anything ran.
func (p *runPrinter) report(files reports) error {
	all := p.suite.Page()
	if all == nil {
		return nil
	}
	return files.write(*all)
}

// verdict is a failure if any run failed. Which variants an interrupt left out, it says where that is no failure.
func (p *runPrinter) verdict() error {
	if cases := p.suite.Cases(); cases != nil {
		text := cases.Text()
		if cases.Failed() {
			return failure(errors.New(text))
		}
		if len(p.suite.NeverRan()) > 0 {
			fmt.Fprintln(p.stderr, text)
		}
		return nil
	}
	switch len(p.failed) {
	case 0:
		return nil
	case 1:
		return p.failed[0]
	}
	return failure(fmt.Errorf("%d of %d runs failed: %w", len(p.failed), len(p.runs), errors.Join(p.failed...)))
}

func printRun(r *run.Document, asJSON bool, quantiles []float64, w io.Writer) error {
	if !asJSON {
		p := report.OfSets(report.Result{Sets: []compare.Set{{Name: r.Driver.String(), Runs: []*run.Document{r}}}, Quantiles: quantiles})
		return p.Text(w)
	}
	data, err := r.Encode()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
