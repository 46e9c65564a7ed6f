package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// latencyDrivers run by turns. The second driver is the first again: their difference is the noise of the machine.
var latencyDrivers = strings.Fields("redisson:3.16.6 redisson:3.16.6 redisson:3.21.1 redisson:4.7.0 dq")

const latencyRepeat = 6

// latency compares how late Redisson releases and dq deliver the scenario steady.
//
//	make compare-releases
func latency(ctx context.Context, out string) (string, error) {
	args := []string{"-f", "steady", "--repeat", strconv.Itoa(latencyRepeat)}
	for _, d := range latencyDrivers {
		args = append(args, "--driver", d)
	}
	runs, err := runLoad(ctx, out, args...)
	if err != nil {
		return "", err
	}
	turns := series.Order(len(latencyDrivers), latencyRepeat)
	if len(runs) != len(turns) {
		return "", fmt.Errorf("expected %d runs, got %d", len(turns), len(runs))
	}
	sides := make([][]*run.Document, len(latencyDrivers))
	for i, turn := range turns {
		sides[turn.Side] = append(sides[turn.Side], runs[i])
	}
	return latencySection(sides)
}

// latencySection has a row for each side: figures, and their ratios to the first side.
func latencySection(sides [][]*run.Document) (string, error) {
	head := []string{"driver"}
	for _, title := range []string{"past due p50", "p99/s", "response p50", "server CPU"} {
		head = append(head, title, "ratio")
	}
	options := compare.DefaultOptions()
	options.Force = true
	var rows [][]string
	for i, side := range sides {
		c, err := compare.Sets(context.Background(), []compare.Set{{Name: "first", Runs: sides[0]}, {Name: "other", Runs: sides[max(i, 1)%len(sides)]}}, options)
		if err != nil {
			return "", err
		}
		cells := []string{side[0].Driver.String()}
		for _, figure := range []string{"past due p50", "past due p99 per second", "response time p50", "server CPU per message"} {
			at := slices.IndexFunc(c.Rows, func(r compare.Row) bool { return r.Figure == figure })
			switch {
			case at < 0:
				cells = append(cells, "–", "–")
			case i == 0:
				cells = append(cells, run.FormatNs(int64(c.Rows[at].Old)), "1")
			default:
				ratio := "–"
				if r := c.Rows[at].Ratio; r != nil && r.Low != nil {
					ratio = fmt.Sprintf("%.3g (%.3g…%.3g)", r.Value, *r.Low, *r.High)
				}
				cells = append(cells, run.FormatNs(int64(c.Rows[at].New)), ratio)
			}
		}
		rows = append(rows, cells)
	}
	return asTable(head, rows), nil
}
