package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// latency compares how late Redisson releases and dq deliver the scenario steady: a section of
// docs/results.md.
//
//	make compare-releases
//
// The drivers run by turns on one machine. The first driver comes twice: how it differs from itself is
// the noise of the machine.
func latency() {
	drivers := flag.String("drivers", "redisson:3.16.6 redisson:3.16.6 redisson:3.21.1 redisson:4.7.0 dq", "what to compare with the first")
	repeat := flag.Int("repeat", 6, "how often each driver runs")
	out := flag.String("out", filepath.Join("out", "latency"), "the folder of the run files")
	runReport("latency", time.Hour, func(ctx context.Context) (string, error) {
		args := []string{"-f", "steady", "--repeat", strconv.Itoa(*repeat)}
		for _, d := range strings.Fields(*drivers) {
			args = append(args, "--driver", d)
		}
		runs, err := runLoad(ctx, *out, args...)
		if err != nil {
			return "", err
		}
		return latencySection(runs, len(strings.Fields(*drivers)), *repeat)
	})
}

// columns are the figures that are shown, with their ratios to the first driver.
var columns = []struct{ name, figure string }{
	{"past due p50", "past due p50"},
	{"p99/s", "past due p99 per second"},
	{"response p50", "response time p50"},
	{"server CPU", "server CPU per message"},
}

// latencySection has a row for each driver, of which each has run so often.
func latencySection(runs []*run.Document, drivers, repeat int) (string, error) {
	turns := series.Order(drivers, repeat)
	if len(turns) == 0 || len(runs) != len(turns) {
		return "", fmt.Errorf("expected %d runs, got %d", len(turns), len(runs))
	}
	sides := make([][]*run.Document, drivers)
	for i, turn := range turns {
		sides[turn.Side] = append(sides[turn.Side], runs[i])
	}
	head := []string{"driver"}
	for _, c := range columns {
		head = append(head, c.name, "ratio")
	}
	options := compare.DefaultOptions()
	options.Force = true
	var rows [][]string
	for i, side := range sides {
		c, err := compare.Sets(context.Background(), []compare.Set{{Name: "first", Runs: sides[0]}, {Name: "other", Runs: sides[max(i, 1)%drivers]}}, options)
		if err != nil {
			return "", err
		}
		cells := []string{side[0].Driver.String()}
		for _, column := range columns {
			cells = append(cells, figure(c, column.figure, i == 0)...)
		}
		rows = append(rows, cells)
	}
	return asTable(head, rows), nil
}

// figure is a figure and its ratio with the 95 % interval, of the first side or of the second.
func figure(c *compare.Comparison, name string, first bool) []string {
	for _, row := range c.Rows {
		switch {
		case row.Figure != name:
		case first:
			return []string{run.FormatNs(int64(row.Old)), "1"}
		case row.Ratio == nil || row.Ratio.Low == nil:
			return []string{run.FormatNs(int64(row.New)), "–"}
		default:
			return []string{run.FormatNs(int64(row.New)), fmt.Sprintf("%.3g (%.3g…%.3g)", row.Ratio.Value, *row.Ratio.Low, *row.Ratio.High)}
		}
	}
	return []string{"–", "–"}
}
