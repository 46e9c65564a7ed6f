package compare

import (
	"math"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// MinPairs is how many pairs a judgement needs: with fewer, the signed-rank test is not
// significant at 0.05 once it is adjusted for some twenty figures.
const MinPairs = 10

// paired returns the runs of both sides in such an order that those at one place were made
// at the same time, and false unless every run has one partner on the other side.
func paired(old, new []*run.Document) (a, b []*run.Document, ok bool) {
	partner := map[string]*run.Document{}
	for _, r := range new {
		if r.Beside == nil || partner[r.Beside.Block] != nil {
			return nil, nil, false
		}
		partner[r.Beside.Block] = r
	}
	for _, r := range old {
		if r.Beside == nil || partner[r.Beside.Block] == nil {
			return nil, nil, false
		}
		b = append(b, partner[r.Beside.Block])
		delete(partner, r.Beside.Block)
	}
	return old, b, len(partner) == 0
}

// undisturbed leaves out the pairs of which both runs are invalid: what kept both from
// making their load is the machine that they share. It returns how many those are.
func undisturbed(old, new []*run.Document) (a, b []*run.Document, disturbed int) {
	for i := range old {
		if !old[i].Valid() && !new[i].Valid() {
			disturbed++
			continue
		}
		a, b = append(a, old[i]), append(b, new[i])
	}
	return a, b, disturbed
}

// pairs returns how much a figure of NEW differs from that of OLD, of runs in pairs: the
// logarithm of the ratio where all figures are above 0, as what the machine does in a block
// makes both as many times as late, and else NEW less OLD. It is nil where a pair does not tell.
func (f figure) pairs(old, new []*run.Document) (differences []float64, inLogs bool) {
	from, to := f.values(old), f.values(new)
	if from == nil || to == nil {
		return nil, false
	}
	inLogs = positive(from) && positive(to)
	differences = make([]float64, len(from))
	for i := range differences {
		switch {
		case inLogs && f.ratio != nil:
			differences[i] = math.Log(f.ratio(old[i], new[i]))
		case inLogs:
			differences[i] = math.Log(to[i] / from[i])
		default:
			differences[i] = to[i] - from[i]
		}
		if math.IsNaN(differences[i]) {
			return nil, false
		}
	}
	return differences, inLogs
}

// pair fills in what runs in pairs say.
func (row *Row) pair(old, new []*run.Document) {
	differences, inLogs := row.figure.pairs(old, new)
	if differences == nil {
		row.bears = false
		return
	}
	_, row.chance = stats.SignedRank(differences)
	estimate, low, high := bounded(stats.PairedShift(differences, 1-significance))
	if !inLogs {
		row.Shift, row.Low, row.High = estimate, low, high
		return
	}
	row.Ratio, row.RatioLow, row.RatioHigh = exp(&estimate), exp(low), exp(high)
	row.Shift, row.Low, row.High = *row.shifted(row.Ratio), row.shifted(row.RatioLow), row.shifted(row.RatioHigh)
}

// shifted is by how much OLD is shifted that becomes as many times itself.
func (row *Row) shifted(ratio *float64) *float64 {
	if ratio == nil {
		return nil
	}
	shift := row.Old * (*ratio - 1)
	return &shift
}

// ratioOfSeconds is the median, over the seconds in which enough was delivered by both, of
// how many times the p99 of NEW is that of OLD. The seconds of both are the same ones.
// It is NaN without leastSeconds of them.
func ratioOfSeconds(old, new *run.Document, late string) float64 {
	of := map[int]float64{}
	for _, i := range full(old) {
		of[place(i)] = p99Of(i, late)
	}
	var ratios []float64
	for _, i := range full(new) {
		if p99 := of[place(i)]; p99 > 0 && p99Of(i, late) > 0 {
			ratios = append(ratios, math.Log(p99Of(i, late)/p99))
		}
	}
	if len(ratios) < leastSeconds {
		return math.NaN()
	}
	return math.Exp(stats.Median(ratios))
}

// place tells which second of the run it is.
func place(i run.Interval) int { return int(math.Round(i.Second)) }
