package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
func (s samples) run(step, side string, r *run.Document) {
	add := func(what string, v float64) { s.add(step+" "+side+" "+what, v) }
	delivered := float64(max(r.Counts.Delivered, 1))
	if past := r.Histograms.PastDue; past != nil {
		add("p50-ms", milliseconds(past.Quantile(0.5)))
		add("p99-ms", milliseconds(past.Quantile(0.99)))
	}
	if late := r.Histograms.Lateness; late != nil {
		add("lateness-p50-ms", milliseconds(late.Quantile(0.5)))
		add("lateness-p99-ms", milliseconds(late.Quantile(0.99)))
	}
	if server := r.ServerStats; server != nil {
		add("transfers/msg", server.TransferCallsPerMessage)
		add("commands/msg", float64(server.Commands)/delivered)
		add("server-µs/msg", server.CPUSeconds*1e6/delivered)
	}
	if tool := r.ToolUsage; tool != nil {
		add("tool-µs/msg", tool.CPUSeconds*1e6/delivered)
	}
	add("lost", float64(r.Counts.Lost+r.Counts.Duplicate+r.Counts.Early))
	if !r.Valid() {
		add("invalid", 1)
	}
}

// sideOf names the side that a folder of runs is of, such as dq-4.7.0-faithful.
func sideOf(folder string) string {
	if strings.HasSuffix(folder, "-faithful") {
		return "faithful"
	}
	side, _, _ := strings.Cut(folder, "-")
	return side
}

func milliseconds(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// median returns that of a figure, and whether it was measured.
func (s samples) median(name string) (float64, bool) {
	all := slices.Sorted(slices.Values(s[name]))
	switch n := len(all); {
	case n == 0:
		return 0, false
	case n%2 == 1:
		return all[n/2], true
	default:
		return (all[n/2-1] + all[n/2]) / 2, true
	}
}

// text is the median of a figure, with the lowest and the highest where it was measured more than
// once.
func (s samples) text(name string) string {
	v, ok := s.median(name)
	if !ok {
		return "–"
	}
	if all := s[name]; len(all) > 1 {
		return fmt.Sprintf("%s (%s to %s, %d runs)", short(v), short(slices.Min(all)), short(slices.Max(all)), len(all))
	}
	return short(v)
}

// over returns the ratio of two figures, by the medians; false where one was not measured.
func (s samples) over(a, b string) (float64, bool) {
	x, okX := s.median(a)
	if b == "" {
		return x, okX
	}
	y, okY := s.median(b)
	return x / y, okX && okY && y != 0
}

// short writes a number with three digits, or whole with its thousands apart.
func short(v float64) string {
	if v < 999.5 && v > -999.5 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	text := strconv.FormatInt(int64(math.Round(v)), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
