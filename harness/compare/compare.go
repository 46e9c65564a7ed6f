// Package compare answers: which is later?
//
// It reads the runs of two sides, tests what differs between them, knows the noise of
// the machine, and judges. How that looks is for package page.
package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
)

// Schema is the schema of a Comparison.
const Schema = "dq-bench/comparison/v1"

// Outcome is the judgement on one figure, or on all of them.
type Outcome string

// The outcomes of a comparison.
const (
	Better       Outcome = "better"
	Worse        Outcome = "worse"
	NoDifference Outcome = "no difference"
	Inconclusive Outcome = "inconclusive"
)

const (
	// MinRuns is how many runs a side needs: with fewer, no difference in
	// quantiles is significant at 0.05 once it is adjusted for several of them.
	MinRuns = 6
	// significance is the level of all judged figures together.
	significance = .05
	// judgedTail is how many messages must lie beyond a quantile in every run
	// before it is judged: far more than to show it, as the quantile of each run
	// is one single value of the test.
	judgedTail = 100
)

// Options tune a comparison.
type Options struct {
	// MinEffect is the smallest change that matters, as a share of OLD: 0.05.
	MinEffect float64
	// MinDelta is the smallest change that matters whatever OLD is, which for a
	// median of lateness is about 0: 20 µs.
	MinDelta time.Duration
	// Noise are runs of one implementation, at least 2·MinRuns, whose spread is the
	// noise of the machine: no smaller change matters. May be nil.
	Noise []*run.Document
	// Force compares runs of different configurations.
	Force bool
}

// DefaultOptions are those of 'dq-bench compare' without flags.
func DefaultOptions() Options {
	return Options{MinEffect: .05, MinDelta: 20 * time.Microsecond}
}

// Comparison is the outcome of comparing two sets of runs.
type Comparison struct {
	Schema string `json:"schema"`
	Old    Side   `json:"old"`
	New    Side   `json:"new"`
	// Rows are per histogram and quantile.
	Rows []Row `json:"rows"`
	// Differences of configuration that Force overrode.
	Differences []string `json:"differences,omitempty"`
	Outcome     Outcome  `json:"outcome"`
	Text        string   `json:"text"`
}

// Side sums up the runs of one side.
type Side struct {
	Driver string     `json:"driver"`
	Server string     `json:"server"`
	Runs   int        `json:"runs"`
	Counts run.Counts `json:"counts"`
	// Calls is the median over the runs, missing if no server told.
	Calls *float64 `json:"transfer_calls_per_message,omitempty"`
	// Bands are those of a side that is one single run, missing if its folder has
	// no log of the seconds.
	Bands Bands `json:"within_run_bands,omitempty"`
}

// Row compares one quantile, times in ns.
type Row struct {
	Histogram string  `json:"histogram"`
	Stat      string  `json:"stat"`
	Old       float64 `json:"old"` // median over the runs
	New       float64 `json:"new"`
	// Shift is how much greater NEW is; Low and High bound it with 95 %
	// confidence and are missing where there are too few runs.
	Shift float64  `json:"shift"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// P is the p-value, adjusted for the number of judged rows; missing in a row
	// that is not judged.
	P *float64 `json:"p,omitempty"`
	// Floor is the smallest shift that matters: the greatest of MinEffect, MinDelta
	// and the noise. Missing in a row that is not judged.
	Floor   *float64 `json:"floor,omitempty"`
	Outcome Outcome  `json:"outcome,omitempty"`
	// Refused says why a row of lateness is not judged.
	Refused string `json:"refused,omitempty"`

	old, new []float64
	bears    bool
	shown    bool // and not judged
}

// Runs judges NEW against OLD. Runs of one side must share a configuration
// and an implementation, and both sides must share the configuration and the machine,
// none may be interrupted or invalid, or it fails with a *DifferenceError unless forced.
// A run that is given twice is a *DuplicateRunError.
//
// Past due, or lateness where not both sides use Redisson's format, and response time,
// or offer RTT where it was not measured, are judged, and the server's processor time for
// each message; the former at each of Quantiles that every run
// has enough messages for: a row is better or worse if the exact Mann-Whitney test over the runs is
// significant at 0.05 (adjusted by Holm) and the shift exceeds MinEffect, MinDelta
// and the noise. There is no difference only where the whole 95 % interval of the shift
// lies within these bounds; else the row is inconclusive. The whole is worse if any row
// is, or if NEW treated more messages wrongly, left more of them overdue or had more
// offers refused. With fewer than MinRuns a side it is inconclusive, whatever the
// figures: seconds of one run are not independent. For a side that is one run it
// reads the run's lateness.hlog, if there is one, and fails if that is damaged.
func Runs(old, new []*run.Document, o Options) (*Comparison, error) {
	if len(old) == 0 || len(new) == 0 {
		return nil, errors.New("compare: expected at least one run a side")
	}
	if err := checkDistinct(old, new); err != nil {
		return nil, err
	}
	c := &Comparison{Schema: Schema, Differences: allDifferences(old, new)}
	if len(c.Differences) > 0 && !o.Force {
		return nil, &run.DifferenceError{Differences: c.Differences}
	}
	var err error
	if c.Old, err = newSide(old); err != nil {
		return nil, err
	}
	if c.New, err = newSide(new); err != nil {
		return nil, err
	}
	judged, shown := figures(slices.Concat(old, new))
	for _, name := range slices.Concat(judged, shown) {
		for _, q := range run.Quantiles {
			row := newRow(name, run.QuantileName(q), old, new,
				func(h *run.Histogram) float64 { return float64(h.Quantile(q)) },
				func(n int64) bool { return float64(n)*(1-q) >= judgedTail-1e-6 })
			row.shown = !slices.Contains(judged, name)
			c.Rows = append(c.Rows, row)
		}
		c.Rows = append(c.Rows, newRow(name, "max", old, new,
			func(h *run.Histogram) float64 { return float64(h.Max()) }, func(int64) bool { return false }))
	}
	if row, ok := serverCPU(old, new); ok {
		c.Rows = append(c.Rows, row)
	}
	noise, err := c.noise(old, o)
	if err != nil {
		return nil, err
	}
	c.judge(o, noise)
	return c, nil
}

// serverCPURow names the row of the server's processor time for each message delivered,
// in ns.
const serverCPURow = "server_cpu"

// serverCPU is that row; ok is false where a run does not tell.
func serverCPU(old, new []*run.Document) (row Row, ok bool) {
	collect := func(runs []*run.Document) (values []float64) {
		for _, r := range runs {
			if r.ServerStats == nil || r.Counts.Delivered == 0 {
				return nil
			}
			values = append(values, 1e9*r.ServerStats.CPUSeconds/float64(r.Counts.Delivered))
		}
		return values
	}
	row = Row{Histogram: serverCPURow, Stat: "per message", bears: true, old: collect(old), new: collect(new)}
	if row.old == nil || row.new == nil {
		return row, false
	}
	row.shift()
	return row, true
}

// noise returns the noise floors, none if there are no runs to take them from.
func (c *Comparison) noise(old []*run.Document, o Options) (map[string]float64, error) {
	if len(o.Noise) == 0 {
		return nil, nil
	}
	differences := allDifferences(o.Noise, old)
	differences = slices.DeleteFunc(differences, func(d string) bool { return slices.Contains(c.Differences, d) })
	if len(differences) > 0 && !o.Force {
		return nil, &run.DifferenceError{Differences: differences}
	}
	return NoiseFloors(o.Noise)
}

func allDifferences(old, new []*run.Document) []string {
	var differences []string
	seen := map[string]bool{}
	add := func(lines []string) {
		for _, line := range lines {
			if !seen[line] {
				seen[line] = true
				differences = append(differences, line)
			}
		}
	}
	for _, side := range [][]*run.Document{old, new} {
		for _, r := range side {
			add(run.Differ([]run.Field{{Name: "driver within a side", Value: side[0].Driver.String()}}, []run.Field{{Name: "driver within a side", Value: r.Driver.String()}}))
			add(run.Differ(old[0].Configuration(), r.Configuration()))
			add(run.Differ(old[0].Circumstances(), r.Circumstances()))
			if reason := unfit(r); reason != "" {
				add([]string{reason})
			}
		}
	}
	return differences
}

// figures are the histograms that are judged, and those that are only shown.
func figures(runs []*run.Document) (judged, shown []string) {
	late, _ := runs[0].Late()
	response := "response_time"
	for _, r := range runs {
		if name, _ := r.Late(); name != late {
			late = "lateness"
		}
		if h := r.Histograms.ResponseTime; h == nil || h.Count() != r.Histograms.OfferRTT.Count() {
			response = "offer_rtt"
		}
	}
	judged = []string{late, response}
	for _, name := range []string{"lateness", "offer_rtt", "schedule_lag"} {
		if !slices.Contains(judged, name) {
			shown = append(shown, name)
		}
	}
	return judged, shown
}

// checkDistinct refuses a run that is given twice: its copies are no further evidence.
func checkDistinct(old, new []*run.Document) error {
	seen := map[string]bool{}
	for _, r := range slices.Concat(old, new) {
		key := r.RunID + r.Started.Format(time.RFC3339Nano)
		if r.RunID != "" && seen[key] {
			return &DuplicateRunError{RunID: r.RunID, Started: r.Started}
		}
		seen[key] = true
	}
	return nil
}

// DuplicateRunError says that one run was given more than once.
type DuplicateRunError struct {
	RunID   string
	Started time.Time
}

func (e *DuplicateRunError) Error() string {
	return fmt.Sprintf("run %s of %s is given twice: copies of a run are no further evidence; give each run once",
		e.RunID, e.Started.Format(time.RFC3339))
}

func newSide(runs []*run.Document) (Side, error) {
	s := Side{Driver: runs[0].Driver.String(), Server: runs[0].ServerText(), Runs: len(runs)}
	var calls []float64
	for _, r := range runs {
		s.Counts = s.Counts.Plus(r.Counts)
		if r.ServerStats != nil {
			calls = append(calls, r.ServerStats.TransferCallsPerMessage)
		}
	}
	if len(calls) > 0 {
		median := stats.Median(calls)
		s.Calls = &median
	}
	var err error
	if len(runs) == 1 {
		s.Bands, err = bandsOf(runs[0])
	}
	return s, err
}

func newRow(histogram, stat string, old, new []*run.Document, read func(*run.Histogram) float64, bears func(int64) bool) Row {
	row := Row{Histogram: histogram, Stat: stat, bears: true}
	collect := func(runs []*run.Document) []float64 {
		var values []float64
		for _, r := range runs {
			h := r.Histograms.Histogram(histogram)
			values = append(values, read(h))
			row.bears = row.bears && bears(h.Count())
		}
		return values
	}
	row.old, row.new = collect(old), collect(new)
	row.shift()
	return row
}

// shift compares the two sides.
func (row *Row) shift() {
	row.Old, row.New = stats.Median(row.old), stats.Median(row.new)
	shift := stats.HodgesLehmann(row.old, row.new, 1-significance)
	row.Shift = shift.Estimate
	if !math.IsInf(shift.Low, 0) {
		row.Low, row.High = &shift.Low, &shift.High
	}
}
