package main

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// samples are what was measured, by the name of the figure.
type samples map[string][]float64

// add notes a figure.
func (s samples) add(name string, v float64) { s[name] = append(s[name], v) }

// benchmarks notes the figures that go test prints, each under the benchmark's name and the unit:
// "Backlog auto-msg/s".
func (s samples) benchmarks(text string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			name = name[:at] // the number of processors
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				s.add(name+" "+fields[i+1], v)
			}
		}
	}
}

// run notes the figures of a run file under the step's name, the side's and what they are:
// "rate-20 dq p99-ms".
func (s samples) run(step string, r *run.Document) {
	side := r.Driver.Name
	if strings.HasSuffix(r.Driver.Version, ",faithful") {
		side = "faithful"
	}
	add := func(what string, v float64) { s.add(step+" "+side+" "+what, v) }
	delivered := float64(max(r.Counts.Delivered, 1))
	if past := r.Histograms.PastDue; past != nil {
		add("p99-ms", float64(past.Quantile(0.99))/1e6)
	}
	if late := r.Histograms.Lateness; late != nil {
		add("lateness-p99-ms", float64(late.Quantile(0.99))/1e6)
	}
	if server := r.ServerStats; server != nil {
		add("transfers/msg", server.TransferCallsPerMessage)
		add("commands/msg", float64(server.Commands)/delivered)
		add("server-µs/msg", server.CPUSeconds*1e6/delivered)
	}
	if tool := r.ToolUsage; tool != nil {
		add("tool-µs/msg", tool.CPUSeconds*1e6/delivered)
	}
	if !r.Valid() {
		add("invalid", 1)
	}
}

// fill puts the medians of figures in the place of their names in braces.
func (s samples) fill(text string) string {
	return named.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := s.figure(name[1 : len(name)-1]); ok {
			return short(v)
		}
		return "–"
	})
}

var named = regexp.MustCompile(`\{[^}]+\}`)

// figure returns the median of a figure, or the ratio of the medians of two, "a : b"; false where one
// was not measured.
func (s samples) figure(name string) (float64, bool) {
	above, below, two := strings.Cut(name, " : ")
	if len(s[above]) == 0 || two && len(s[below]) == 0 {
		return 0, false
	}
	v := compare.Median(s[above])
	if two {
		v /= compare.Median(s[below])
	}
	return v, true
}

// short writes a number with three digits, or as a whole number with its thousands apart.
func short(v float64) string {
	if math.Abs(v) < 999.5 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return grouped(int64(math.Round(v)))
}
