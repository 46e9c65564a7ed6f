// Package page answers: how do people look at it?
//
// A run and a comparison as text, as one page for a browser, as Markdown, and in Go's
// benchmark format. It judges nothing.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path/filepath"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// File is the name of a run's report for a browser.
const File = "report.html"

// Page is what an HTML report shows: one run, or the runs of several sides.
type Page struct {
	// Sides are shown in this order, each in a colour of its own.
	Sides []Side
	// Comparisons set sides against the first one: the i-th is that of side i+1.
	// Nil if the sides were not compared.
	Comparisons []*compare.Comparison
	// Verdicts has those of the runs count beside the comparisons, as they do for the exit code of what
	// made the runs.
	Verdicts bool
	// Interrupted says how far the runs went that were to be made; empty where none is missing.
	Interrupted string
	// Cases are those of a Page of several, which has the figures of Sides, or without any those of the cases. Nil for
	// one of a single plan.
	Cases *Cases
	// Live is set on a page that a server keeps up to date; see Live.
	Live *Live
	// Home links to the list of all runs; empty for a page of its own.
	Home string
	// Swap links to the same two sides the other way round; empty where there is no such page.
	Swap string
}

// Side is a set of runs of one implementation.
type Side struct {
	// Name is what legends and tables call it.
	Name string
	Runs []*run.Document
}

// OfComparison is the page of a comparison of OLD and NEW runs.
func OfComparison(old, new []*run.Document, c *compare.Comparison) Page {
	return Page{
		Sides:       []Side{{"OLD " + c.Old.Driver, old}, {"NEW " + c.New.Driver, new}},
		Comparisons: []*compare.Comparison{c},
	}
}

// OfRun is the page of a single run.
func OfRun(r *run.Document) Page { return Page{Sides: []Side{{r.Driver.String(), []*run.Document{r}}}} }

//go:embed template
var assets embed.FS

// Styles and script are ours alone: nothing in them comes from a run.
var (
	style      = readAsset("report.css")
	script     = readAsset("report.js")
	liveScript = readAsset("live.js")
	layout     = template.Must(template.New("report.tmpl").ParseFS(assets, "template/*.tmpl"))
)

func readAsset(name string) string {
	data, err := assets.ReadFile("template/" + name)
	if err != nil {
		panic(err) // embedded above
	}
	return string(data)
}

// Write writes the report as one file that needs no other and no network: a
// content security policy lets nothing run or load but what this package wrote,
// whatever names and labels the runs carry. It fails if a side has no run, or if
// there are more comparisons than sides after the first.
func (p Page) Write(w io.Writer) error {
	view, err := newView(p)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return writeLayout(w, "report.tmpl", p.Live != nil, func(assets assetsView) any {
		return struct {
			*pageView
			assetsView
		}{view, assets}
	})
}

// assetsView is what each page holds besides its figures.
type assetsView struct {
	Style  template.CSS
	Script template.JS
	Policy string
}

// writeLayout writes a page whole or not at all, under a policy that lets nothing run or
// load but what this package wrote; a live one asks its own server besides.
func writeLayout(w io.Writer, name string, live bool, data func(assetsView) any) error {
	own, connect := script, ""
	if live {
		own, connect = script+liveScript, "; connect-src 'self'"
	}
	digest := sha256.Sum256([]byte(own))
	assets := assetsView{
		template.CSS(style), template.JS(own),
		"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'" + connect,
	}
	var out bytes.Buffer
	if err := layout.ExecuteTemplate(&out, name, data(assets)); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// WriteFolder writes the files of a run (run.WriteFolder), and then its page, report.html, to a folder without a run. An
// error that is a *run.BesideError leaves run.json there.
func WriteFolder(folder string, r *run.Document, log *run.LatenessLog) error {
	err := run.WriteFolder(folder, r, log)
	if beside := new(run.BesideError); err != nil && !errors.As(err, &beside) {
		return err
	}
	if page := OfRun(r).WriteFile(filepath.Join(folder, File)); page != nil && err == nil {
		err = &run.BesideError{Err: page}
	}
	return err
}

// WriteFile writes the report to path, whole or not at all.
func (p Page) WriteFile(path string) error {
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		return err
	}
	return run.WriteWhole(filepath.Clean(path), out.Bytes())
}

// pageView is everything the template shows.
type pageView struct {
	Title    string
	Verdict  string
	State    string // ok, bad or open: how the verdict is coloured
	StateTag string // the verdict in a word
	Cases    *casesView
	Lead     []string
	Embedded []string // sides that ran on the embedded server
	Sides    []*sideView
	Many     bool // several sides
	Repeated bool // several runs of a side

	Tiles    []tile
	Charts   []chart
	Counts   countsView
	Quantile quantilesView
	Compared []comparisonView
	Warnings []banner
	SLO      []objectiveView
	Cost     []barChart
	Config   []configRow
	Runs     []runRow
	Notes    []string
	Tool     string
	Live     *Live
	Home     string
	Swap     string
}

// banner is what is to be known before a verdict is believed.
type banner struct{ Title, Text string }

// sideView is a side with its runs added up.
type sideView struct {
	Name         string
	Token, Class string
	Runs         []*run.Document // those that the figures are of
	all          []*run.Document // and those that were left out of a comparison
	Counts       run.Counts
	Label        string  // name and number of runs
	latency      latency // the same of all sides
	histograms   []run.NamedHistogram
	lines        [][]moment // of each run
	line         []moment   // their median
}

// histogram is the one of that name, over all runs; it is empty if none has it.
func (s *sideView) histogram(name string) *run.Histogram {
	for _, row := range s.histograms {
		if row.Name == name {
			return row.H
		}
	}
	s.histograms = append(s.histograms, run.NamedHistogram{Name: name, H: run.NewHistogram(run.TotalDigits)})
	return s.histograms[len(s.histograms)-1].H
}

// late is the latency that is plotted, over all runs.
func (s *sideView) late() *run.Histogram { return s.histogram(s.latency.name) }

// shortName is left out where there is only one side.
func (s *sideView) shortName(sides int) string {
	if sides == 1 {
		return ""
	}
	return s.Name
}

func newSideView(index int, side Side, compared []*run.Document, late latency, step int64) (*sideView, error) {
	if len(compared) == 0 {
		return nil, fmt.Errorf("side %q: expected at least one run", side.Name)
	}
	s := &sideView{
		Name: side.Name, Token: sideToken(index), Class: sideClass(index), Runs: compared, all: side.Runs, Label: side.Name, latency: late,
	}
	if len(side.Runs) > 1 {
		s.Label += ", " + compare.CountRuns(len(compared))
	}
	for _, r := range compared {
		for _, row := range r.Histograms.Rows() {
			if err := s.histogram(row.Name).Merge(row.H); err != nil {
				return nil, err
			}
		}
		s.Counts = s.Counts.Plus(r.Counts)
		s.lines = append(s.lines, timeline(r, late, step))
	}
	s.line = medianLine(s.lines)
	return s, nil
}

func newView(p Page) (*pageView, error) {
	groups := p.groups()
	v := &pageView{Home: p.Home, Swap: p.Swap}
	var compared []Side
	for _, g := range groups {
		if len(g.comparisons) >= len(g.sides) {
			return nil, fmt.Errorf("expected at most a comparison for each of %d sides after the first, got %d", len(g.sides), len(g.comparisons))
		}
		for i, side := range g.sides {
			side.Runs, _ = compare.Compared(g.comparisons, i, side.Runs)
			compared = append(compared, side)
		}
	}
	if len(compared) == 0 {
		return nil, errors.New("expected at least one side")
	}
	v.Many = len(compared) > 1
	late, step := latencyOf(compared), stepOf(compared)
	for _, g := range groups {
		first := len(v.Sides)
		for _, side := range g.sides {
			s, err := newSideView(len(v.Sides), side, compared[len(v.Sides)].Runs, late, step)
			if err != nil {
				return nil, err
			}
			s.Name, s.Label = g.name(s.Name), g.name(s.Label)
			v.Sides = append(v.Sides, s)
			v.Repeated = v.Repeated || len(s.Runs) > 1
		}
		v.setCompared(first, g.comparisons)
	}
	v.setVerdict(p, groups)
	v.setLive(p.Live)
	v.setLead()
	v.setTables()
	v.Charts = []chart{
		percentileChart(v.Sides), lateTimeChart(v.Sides, step), flowChart(v.Sides), pendingChart(v.Sides, step),
	}
	v.Cost = costBars(v.Sides)
	return v, nil
}
