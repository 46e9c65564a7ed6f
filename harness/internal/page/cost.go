package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// cost is one figure of what a message costs the server.
type cost struct {
	title, hint, unit string
	reference         float64 // a line to read the bars by; 0 for none
	value             func(*run.Document) (float64, bool)
}

// costs starts with the transfer calls, which the key figures show too.
var costs = []cost{
	{"Transfer calls per message", "one each is enough when messages are due one by one", "", 1, figureNamed("transfer_calls_per_message")},
	{"Commands per message", "those that scripts call included", "", 0, figureNamed("commands_per_message")},
	{"Server CPU per message", "system and user time of the server process", "µs", 0, func(r *run.Document) (float64, bool) {
		if r.ServerStats == nil || r.Counts.Delivered == 0 {
			return 0, false
		}
		return r.ServerStats.CPUSeconds * float64(time.Second/time.Microsecond) / float64(r.Counts.Delivered), true
	}},
}

// figureNamed reads a figure by the name that objectives know it by.
func figureNamed(name string) func(*run.Document) (float64, bool) {
	return func(r *run.Document) (float64, bool) { return r.Figure(name) }
}

// values are those of the runs that tell.
func (c cost) values(s *sideView) []float64 {
	var values []float64
	for _, r := range s.Runs {
		if v, ok := c.value(r); ok {
			values = append(values, v)
		}
	}
	return values
}

func (c cost) median(s *sideView) (float64, bool) {
	values := c.values(s)
	if len(values) == 0 {
		return 0, false
	}
	return stats.Median(values), true
}

// barChart is a bar chart with a bar for every side.
type barChart struct {
	Title, Hint string
	Reference   *tick
	Bars        []barView
}

type barView struct {
	Side  *sideView
	Text  string
	Width float64   // per cent
	Dots  []float64 // where the single runs lie, per cent
}

// costBars leaves out what no side can tell, such as runs without a server.
func costBars(sides []*sideView) []barChart {
	var all []barChart
	for _, c := range costs {
		most := 1.1 * c.reference
		for _, s := range sides {
			most = max(most, slices.Max(append(c.values(s), 0)))
		}
		bars := barChart{Title: c.title, Hint: c.hint}
		if c.reference > 0 {
			bars.Reference = &tick{At: percentOf(c.reference, most), Label: run.FormatFloat(c.reference)}
		}
		known := false
		for _, s := range sides {
			bar := barView{Side: s, Text: "not told"}
			if median, ok := c.median(s); ok {
				known = true
				bar.Text = strings.TrimSpace(run.FormatFloat(median) + " " + c.unit)
				bar.Width = percentOf(median, most)
				if values := c.values(s); len(values) > 1 {
					for _, v := range values {
						bar.Dots = append(bar.Dots, percentOf(v, most))
					}
				}
			}
			bars.Bars = append(bars.Bars, bar)
		}
		if known {
			all = append(all, bars)
		}
	}
	return all
}

func percentOf(v, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(1e4*v/whole) / 100
}

// configRow is one line of the configuration: one value if all sides share
// it, else one a side.
type configRow struct {
	Name   string
	Values []string
	Differ bool
	Group  string // heads the rows that follow; set on the first of them
}

type configField struct {
	group, name string
	value       func(*run.Document) string
}

var configFields = []configField{
	{"Load", "scenario", func(r *run.Document) string { return r.Scenario.Name }},
	{"", "producers", func(r *run.Document) string { return strconv.Itoa(r.Scenario.Producers) }},
	{"", "consumers", func(r *run.Document) string { return strconv.Itoa(r.Scenario.Consumers) }},
	{"", "rate", func(r *run.Document) string { return run.FormatFloat(r.Scenario.Rate) + "/s" }},
	{"", "duration", func(r *run.Document) string { return r.Scenario.Duration }},
	{"", "delay", func(r *run.Document) string { return r.Scenario.Delay }},
	{"", "messages planned", func(r *run.Document) string { return groupDigits(r.Scenario.Messages) }},
	{"", "payload", func(r *run.Document) string { return strconv.Itoa(r.Scenario.PayloadSize) + " B" }},
	{"", "warm-up", func(r *run.Document) string { return r.Scenario.Warmup }},
	{"", "drain timeout", func(r *run.Document) string { return r.Scenario.DrainTimeout }},
	{"", "schedule lag allowed", func(r *run.Document) string { return r.Scenario.MaxScheduleLag }},
	{"", "measured", func(r *run.Document) string { return string(r.Measured) }},
	{"", "queue", func(r *run.Document) string { return r.Scenario.Queue }},
	{"", "seed", func(r *run.Document) string { return strconv.FormatUint(r.Scenario.Seed, 10) }},
	{"", "scaled", func(r *run.Document) string { return r.Scenario.ScaleText() }},
	{"", "besides", func(r *run.Document) string { return more(r.Scenario) }},
	{"", "workers", func(r *run.Document) string {
		if r.Workers == 0 {
			return ""
		}
		return strconv.Itoa(r.Workers)
	}},
	{"System", "implementation", func(r *run.Document) string { return r.Driver.String() }},
	{"", "server", (*run.Document).ServerText},
	{"", "server address", (*run.Document).ServerAddress},
	{"", "machine", func(r *run.Document) string {
		e := r.Environment
		if e.OS == "" {
			return ""
		}
		return fmt.Sprintf("%s/%s, %d CPUs", e.OS, e.Arch, e.CPUs)
	}},
	{"", "Go", func(r *run.Document) string {
		e := r.Environment
		if e.GoVersion == "" {
			return ""
		}
		return fmt.Sprintf("%s, GOMAXPROCS %d", e.GoVersion, e.GOMAXPROCS)
	}},
	{"", "tool", func(r *run.Document) string { return strings.TrimSpace(r.Tool.Name + " " + r.Tool.Version) }},
	{"", "labels", func(r *run.Document) string {
		var labels []string
		for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
			labels = append(labels, k+"="+r.Labels[k])
		}
		return strings.Join(labels, " ")
	}},
	{"Run", "started", func(r *run.Document) string { return r.Started.UTC().Format(time.DateTime) + " UTC" }},
	{"", "took", func(r *run.Document) string { return run.FormatFloat(r.ElapsedSeconds) + " s" }},
	{"", "run ID", func(r *run.Document) string { return r.RunID }},
}

func configRows(sides []*sideView) []configRow {
	var rows []configRow
	group := ""
	for _, f := range slices.Concat(configFields, besideFields) {
		if f.group != "" {
			group = f.group
		}
		row := configRow{Name: f.name, Group: group}
		some := false
		for _, s := range sides {
			text := distinct(s.Runs, f.value)
			row.Differ = row.Differ || len(row.Values) > 0 && text != row.Values[0]
			some = some || text != ""
			row.Values = append(row.Values, text)
		}
		if !some {
			continue
		}
		if !row.Differ {
			row.Values = row.Values[:1]
		}
		rows = append(rows, row)
		group = ""
	}
	return rows
}

// mostDistinct is how many values of one field are listed.
const mostDistinct = 3

// distinct lists the different values that the runs of a side have.
func distinct(runs []*run.Document, value func(*run.Document) string) string {
	var values []string
	for _, r := range runs {
		if v := value(r); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) > mostDistinct {
		return values[0] + " … " + values[len(values)-1] + fmt.Sprintf(" (%d values)", len(values))
	}
	return strings.Join(values, ", ")
}
