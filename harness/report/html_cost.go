package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/report/stats"
)

// cost is one figure of what a message costs the server.
type cost struct {
	title, hint, unit string
	reference         float64 // a line to read the bars by; 0 for none
	value             func(*Run) (float64, bool)
}

// costs starts with the transfer calls, which the key figures show too.
var costs = []cost{
	{"Transfer calls per message", "one each is enough when messages are due one by one", "", 1, sloFigures["transfer_calls_per_message"]},
	{"Commands per message", "those that scripts call included", "", 0, sloFigures["commands_per_message"]},
	{"Server CPU per message", "system and user time of the server process", "µs", 0, func(r *Run) (float64, bool) {
		if r.ServerStats == nil || r.Counts.Delivered == 0 {
			return 0, false
		}
		return r.ServerStats.CPUSeconds * float64(time.Second/time.Microsecond) / float64(r.Counts.Delivered), true
	}},
}

// values are those of the runs that tell.
func (c cost) values(s *htmlSide) []float64 {
	var values []float64
	for _, r := range s.Runs {
		if v, ok := c.value(r); ok {
			values = append(values, v)
		}
	}
	return values
}

func (c cost) median(s *htmlSide) (float64, bool) {
	values := c.values(s)
	if len(values) == 0 {
		return 0, false
	}
	return stats.Median(values), true
}

// htmlBars is a bar chart with a bar for every side.
type htmlBars struct {
	Title, Hint string
	Reference   *htmlTick
	Bars        []htmlBar
}

type htmlBar struct {
	Side  *htmlSide
	Text  string
	Width float64   // per cent
	Dots  []float64 // where the single runs lie, per cent
}

// costBars leaves out what no side can tell, such as runs without a server.
func costBars(sides []*htmlSide) []htmlBars {
	var all []htmlBars
	for _, c := range costs {
		most := 1.1 * c.reference
		for _, s := range sides {
			most = max(most, slices.Max(append(c.values(s), 0)))
		}
		bars := htmlBars{Title: c.title, Hint: c.hint}
		if c.reference > 0 {
			bars.Reference = &htmlTick{percentOf(c.reference, most), trimFloat(c.reference)}
		}
		known := false
		for _, s := range sides {
			bar := htmlBar{Side: s, Text: "not told"}
			if median, ok := c.median(s); ok {
				known = true
				bar.Text = strings.TrimSpace(trimFloat(median) + " " + c.unit)
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

// htmlConfigRow is one line of the configuration: one value if all sides share
// it, else one a side.
type htmlConfigRow struct {
	Name   string
	Values []string
	Differ bool
	Group  string // heads the rows that follow; set on the first of them
}

type configField struct {
	group, name string
	value       func(*Run) string
}

var configFields = []configField{
	{"Load", "scenario", func(r *Run) string { return r.Scenario.Name }},
	{"", "producers", func(r *Run) string { return strconv.Itoa(r.Scenario.Producers) }},
	{"", "consumers", func(r *Run) string { return strconv.Itoa(r.Scenario.Consumers) }},
	{"", "rate", func(r *Run) string { return trimFloat(r.Scenario.Rate) + "/s" }},
	{"", "duration", func(r *Run) string { return r.Scenario.Duration }},
	{"", "delay", func(r *Run) string { return r.Scenario.Delay }},
	{"", "messages planned", func(r *Run) string { return groupDigits(r.Scenario.Messages) }},
	{"", "payload", func(r *Run) string { return strconv.Itoa(r.Scenario.PayloadSize) + " B" }},
	{"", "warm-up", func(r *Run) string { return r.Scenario.Warmup }},
	{"", "drain timeout", func(r *Run) string { return r.Scenario.DrainTimeout }},
	{"", "schedule lag allowed", func(r *Run) string { return r.Scenario.MaxScheduleLag }},
	{"", "measured", func(r *Run) string { return string(r.Measured) }},
	{"", "queue", func(r *Run) string { return r.Scenario.Queue }},
	{"", "seed", func(r *Run) string { return strconv.FormatUint(r.Scenario.Seed, 10) }},
	{"", "besides", func(r *Run) string { return r.Scenario.more() }},
	{"", "workers", func(r *Run) string {
		if r.Workers == 0 {
			return ""
		}
		return strconv.Itoa(r.Workers)
	}},
	{"System", "implementation", func(r *Run) string { return r.Driver.String() }},
	{"", "server", (*Run).ServerText},
	{"", "machine", func(r *Run) string {
		e := r.Environment
		if e.OS == "" {
			return ""
		}
		return fmt.Sprintf("%s/%s, %d CPUs", e.OS, e.Arch, e.CPUs)
	}},
	{"", "Go", func(r *Run) string {
		e := r.Environment
		if e.GoVersion == "" {
			return ""
		}
		return fmt.Sprintf("%s, GOMAXPROCS %d", e.GoVersion, e.GOMAXPROCS)
	}},
	{"", "tool", func(r *Run) string { return strings.TrimSpace(r.Tool.Name + " " + r.Tool.Version) }},
	{"", "labels", func(r *Run) string {
		var labels []string
		for _, k := range sortedKeys(r.Labels) {
			labels = append(labels, k+"="+r.Labels[k])
		}
		return strings.Join(labels, " ")
	}},
	{"Run", "started", func(r *Run) string { return r.Started.UTC().Format(time.DateTime) + " UTC" }},
	{"", "took", func(r *Run) string { return trimFloat(r.ElapsedSeconds) + " s" }},
	{"", "run ID", func(r *Run) string { return r.RunID }},
}

func configRows(sides []*htmlSide) []htmlConfigRow {
	var rows []htmlConfigRow
	group := ""
	for _, f := range configFields {
		if f.group != "" {
			group = f.group
		}
		row := htmlConfigRow{Name: f.name, Group: group}
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
func distinct(runs []*Run, value func(*Run) string) string {
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
