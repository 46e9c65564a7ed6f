package compare

import (
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Row compares one figure; times are in ns.
type Row struct {
	Histogram string `json:"histogram"`
	// Stat is "p50", "p99", …, "p99 per second" (the median over the calmer seconds of a
	// run of the p99 of each) or "max".
	Stat string  `json:"stat"`
	Old  float64 `json:"old"` // median over the runs
	New  float64 `json:"new"`
	// Shift is how much greater NEW is; Low and High bound it with 95 %
	// confidence and are missing where there are too few runs.
	Shift float64  `json:"shift"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// Ratio is NEW over OLD, with the 95 % bounds; missing where a figure is not above 0.
	Ratio     *float64 `json:"ratio,omitempty"`
	RatioLow  *float64 `json:"ratio_low,omitempty"`
	RatioHigh *float64 `json:"ratio_high,omitempty"`
	// P is the p-value, adjusted for the number of judged rows; missing in a row
	// that is not judged.
	P *float64 `json:"p,omitempty"`
	// Floor is the smallest shift that matters: the greatest of MinEffect, MinDelta
	// and the noise. Missing in a row that is not judged.
	Floor   *float64 `json:"floor,omitempty"`
	Outcome Outcome  `json:"outcome,omitempty"`
	// Refused says why a row is not judged that would be, had it more evidence.
	Refused string `json:"refused,omitempty"`

	figure   figure
	old, new []float64
	chance   float64 // not adjusted
	bears    bool
}

func newRow(f figure, old, new []*run.Document, inPairs bool) Row {
	row := Row{Histogram: f.histogram, Stat: f.stat, figure: f, bears: true}
	for _, r := range slices.Concat(old, new) {
		row.bears = row.bears && f.bears(r)
	}
	row.old, row.new = f.values(old), f.values(new)
	row.Old, row.New = stats.Median(row.old), stats.Median(row.new)
	if inPairs {
		row.pair(old, new)
		return row
	}
	_, row.chance = stats.MannWhitney(row.new, row.old)
	row.Shift, row.Low, row.High = shiftOf(row.old, row.new)
	if positive(row.old) && positive(row.new) {
		ratio, low, high := shiftOf(logs(row.old), logs(row.new))
		row.Ratio, row.RatioLow, row.RatioHigh = exp(&ratio), exp(low), exp(high)
	}
	return row
}

// shiftOf is the shift with its bounds, which are nil where there are too few values.
func shiftOf(from, to []float64) (estimate float64, low, high *float64) {
	return bounded(stats.HodgesLehmann(from, to, 1-significance))
}

func bounded(shift stats.Shift) (estimate float64, low, high *float64) {
	if math.IsInf(shift.Low, 0) {
		return shift.Estimate, nil, nil
	}
	return shift.Estimate, &shift.Low, &shift.High
}

func exp(v *float64) *float64 {
	if v == nil {
		return nil
	}
	e := math.Exp(*v)
	return &e
}

// told reports whether there is anything to show: all runs tell, and a figure that not
// every run has is one that is judged.
func (row *Row) told() bool {
	return row.old != nil && row.new != nil && (row.bears || row.Stat != PerSecond)
}

func positive(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v <= 0 })
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}
