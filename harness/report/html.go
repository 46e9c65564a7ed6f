package report

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
	"slices"
	"strings"
)

// HTMLFile is the name of a run's report for a browser.
const HTMLFile = "report.html"

// Page is what an HTML report shows: one run, or the runs of several sides.
type Page struct {
	// Sides are shown in this order, each in a colour of its own.
	Sides []Side
	// Comparisons set sides against the first one: the i-th is that of side i+1.
	// Nil if the sides were not compared.
	Comparisons []*Comparison
}

// Side is a set of runs of one implementation.
type Side struct {
	// Name is what legends and tables call it.
	Name string
	Runs []*Run
}

// ComparisonPage is the page of a comparison of OLD and NEW runs.
func ComparisonPage(old, new []*Run, c *Comparison) Page {
	return Page{
		Sides:       []Side{{"OLD " + c.Old.Driver, old}, {"NEW " + c.New.Driver, new}},
		Comparisons: []*Comparison{c},
	}
}

// Page is the page of a single run.
func (r *Run) Page() Page { return Page{Sides: []Side{{r.Driver.String(), []*Run{r}}}} }

//go:embed html
var htmlFiles embed.FS

// Styles and script are ours alone: nothing in them comes from a run.
var (
	htmlStyle    = readHTMLFile("report.css")
	htmlScript   = readHTMLFile("report.js")
	htmlTemplate = template.Must(template.New("report.tmpl").ParseFS(htmlFiles, "html/*.tmpl"))
)

func readHTMLFile(name string) string {
	data, err := htmlFiles.ReadFile("html/" + name)
	if err != nil {
		panic(err) // embedded above
	}
	return string(data)
}

// WriteHTML writes the report as one file that needs no other and no network: a
// content security policy lets nothing run or load but what this package wrote,
// whatever names and labels the runs carry. It fails if a side has no run, or if
// there are more comparisons than sides after the first.
func (p Page) WriteHTML(w io.Writer) error {
	view, err := newHTMLView(p)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	digest := sha256.Sum256([]byte(htmlScript))
	data := struct {
		*htmlPage
		Style  template.CSS
		Script template.JS
		Policy string
	}{
		view, template.CSS(htmlStyle), template.JS(htmlScript),
		"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'",
	}
	var out bytes.Buffer
	if err := htmlTemplate.Execute(&out, data); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// WriteHTMLFile writes the report to path, whole or not at all.
func (p Page) WriteHTMLFile(path string) error {
	var out bytes.Buffer
	if err := p.WriteHTML(&out); err != nil {
		return err
	}
	return writeWhole(filepath.Clean(path), out.Bytes())
}

// htmlPage is everything the template shows.
type htmlPage struct {
	Title    string
	Verdict  string
	State    string // ok, bad or open: how the verdict is coloured
	StateTag string // the verdict in a word
	Lead     []string
	Embedded []string // sides that ran on the embedded server
	Sides    []*htmlSide
	Many     bool // several sides
	Repeated bool // several runs of a side

	Tiles    []htmlTile
	Charts   []htmlChart
	Counts   htmlCounts
	Quantile htmlQuantiles
	Compared []htmlComparison
	Warnings []string
	SLO      []htmlObjective
	Cost     []htmlBars
	Config   []htmlConfigRow
	Runs     []htmlRun
	Notes    []string
	Tool     string
}

// htmlSide is a side with its runs added up.
type htmlSide struct {
	Name         string
	Token, Class string
	Runs         []*Run
	Counts       Counts
	Label        string // name and number of runs
	histograms   []histogramRow
	lines        [][]Interval // of each run
	line         []Interval   // their median
}

// histogram is the one of that name, over all runs; it is empty if none has it.
func (s *htmlSide) histogram(name string) *Histogram {
	for _, row := range s.histograms {
		if row.name == name {
			return row.h
		}
	}
	s.histograms = append(s.histograms, histogramRow{name, NewHistogram(TotalDigits)})
	return s.histograms[len(s.histograms)-1].h
}

func (s *htmlSide) lateness() *Histogram { return s.histogram("lateness") }

// shortName is left out where there is only one side.
func (s *htmlSide) shortName(sides int) string {
	if sides == 1 {
		return ""
	}
	return s.Name
}

func newHTMLSide(index int, side Side, step int64) (*htmlSide, error) {
	if len(side.Runs) == 0 {
		return nil, fmt.Errorf("side %q: expected at least one run", side.Name)
	}
	s := &htmlSide{
		Name: side.Name, Token: sideToken(index), Class: sideClass(index), Runs: side.Runs, Label: side.Name,
	}
	if len(side.Runs) > 1 {
		s.Label += ", " + runs(len(side.Runs))
	}
	for _, r := range side.Runs {
		for _, row := range r.Histograms.rows() {
			if err := s.histogram(row.name).Merge(row.h); err != nil {
				return nil, err
			}
		}
		s.Counts = s.Counts.plus(r.Counts)
		s.lines = append(s.lines, r.timeline(step))
	}
	s.line = medianLine(s.lines)
	return s, nil
}

func newHTMLView(p Page) (*htmlPage, error) {
	if len(p.Sides) == 0 {
		return nil, errors.New("expected at least one side")
	}
	if len(p.Comparisons) >= len(p.Sides) {
		return nil, fmt.Errorf("expected at most a comparison for each of %d sides after the first, got %d", len(p.Sides), len(p.Comparisons))
	}
	step := stepOf(p.Sides)
	v := &htmlPage{Many: len(p.Sides) > 1}
	for i, side := range p.Sides {
		s, err := newHTMLSide(i, side, step)
		if err != nil {
			return nil, err
		}
		v.Sides = append(v.Sides, s)
		v.Repeated = v.Repeated || len(s.Runs) > 1
	}
	v.setVerdict(p.Comparisons)
	v.setLead()
	v.setTables()
	v.Charts = []htmlChart{
		percentileChart(v.Sides), latenessTimeChart(v.Sides, step), flowChart(v.Sides), pendingChart(v.Sides, step),
	}
	v.Cost = costBars(v.Sides)
	return v, nil
}

// setVerdict takes the sentence at the top from the comparisons, the only run, or
// all the runs.
func (v *htmlPage) setVerdict(comparisons []*Comparison) {
	all := v.allRuns()
	switch {
	case len(comparisons) > 0:
		v.setCompared(comparisons)
	case len(all) == 1:
		v.Verdict = all[0].Verdict.Text
		v.setPassed(all[0].Verdict.Passed)
		if !all[0].valid() {
			v.StateTag = "invalid"
		}
	default:
		v.setManyRuns(all)
	}
}

// setCompared lets the worst outcome colour the whole.
func (v *htmlPage) setCompared(comparisons []*Comparison) {
	worst := comparisons[0]
	var verdicts []string
	rank := []Outcome{Better, NoDifference, Inconclusive, Worse}
	for i, c := range comparisons {
		if slices.Index(rank, c.Outcome) > slices.Index(rank, worst.Outcome) {
			worst = c
		}
		name := v.Sides[i+1].Name
		verdicts = append(verdicts, name+": "+string(c.Outcome))
		v.Compared = append(v.Compared, htmlComparison{Old: v.Sides[0], New: v.Sides[i+1], Text: c.Text, Rows: comparisonRows(c)})
		for _, d := range c.Differences {
			if !slices.Contains(v.Warnings, d) {
				v.Warnings = append(v.Warnings, d)
			}
		}
	}
	v.Verdict, v.StateTag, v.State = worst.Text, string(worst.Outcome), outcomeState(worst.Outcome)
	if len(comparisons) > 1 {
		v.Verdict = "Against " + v.Sides[0].Name + " – " + strings.Join(verdicts, "; ") + "."
	}
}

func outcomeState(o Outcome) string {
	switch o {
	case Better:
		return "ok"
	case Worse:
		return "bad"
	case "":
		return "" // not judged
	default:
		return "open"
	}
}

func (v *htmlPage) setPassed(passed bool) {
	v.State, v.StateTag = "bad", "failed"
	if passed {
		v.State, v.StateTag = "ok", "passed"
	}
}

func (v *htmlPage) setManyRuns(all []*Run) {
	var failed []*Run
	for _, r := range all {
		if !r.Verdict.Passed {
			failed = append(failed, r)
		}
	}
	v.setPassed(len(failed) == 0)
	if len(failed) > 0 {
		v.Verdict = fmt.Sprintf("%d of %d runs failed; the first one: %s", len(failed), len(all), failed[0].Verdict.Text)
		return
	}
	var tails []string
	for _, s := range v.Sides {
		if s.lateness().Count() > 0 {
			tails = append(tails, s.Name+" "+tailText(s.lateness()))
		}
	}
	v.Verdict = fmt.Sprintf("All %d runs passed; lateness: %s.", len(all), strings.Join(tails, ", "))
}

func (v *htmlPage) allRuns() []*Run {
	var all []*Run
	for _, s := range v.Sides {
		all = append(all, s.Runs...)
	}
	return all
}

// setLead says in a few words what ran where, and marks what ran on no Redis.
func (v *htmlPage) setLead() {
	var names []string
	for _, s := range v.Sides {
		names = append(names, s.Name)
		r := s.Runs[0]
		text := r.Driver.String() + " on " + serverName(r)
		if v.Many {
			text = s.Name + " on " + serverName(r)
		}
		if len(s.Runs) > 1 {
			text += ", " + runs(len(s.Runs))
		}
		v.Lead = append(v.Lead, text)
		for _, r := range s.Runs {
			if r.Server != nil && r.Server.Embedded {
				v.Embedded = append(v.Embedded, s.Name)
				break
			}
		}
	}
	first := v.Sides[0].Runs[0]
	q := first.Scenario
	v.Lead = append(v.Lead, fmt.Sprintf("%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B",
		q.Producers, q.Consumers, trimFloat(q.Rate), q.Duration, q.Delay, q.PayloadSize))
	if more := q.more(); more != "" {
		v.Lead = append(v.Lead, more)
	}
	v.Title = strings.Join(names, " against ") + " · " + v.StateTag
	v.Tool = strings.TrimSpace(first.Tool.Name + " " + first.Tool.Version)
}

// serverName is short: the embedded server has a banner of its own.
func serverName(r *Run) string {
	if r.Server == nil {
		return "no server"
	}
	return strings.TrimSpace(r.Server.Product + " " + r.Server.Version)
}
