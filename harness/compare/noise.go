package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
)

// NoiseFloors returns, for each quantile of past due, or lateness, by name, how large a shift of
// runs of one implementation against runs of the same can be, in ns: the further
// end of the 95 % interval of the shift between every other run and the rest. It needs at least 2·MinRuns runs of one configuration, in the
// order they were made.
func NoiseFloors(same []*run.Document) (map[string]float64, error) {
	if len(same) < 2*MinRuns {
		return nil, fmt.Errorf("noise: expected at least %d runs of one implementation, got %d", 2*MinRuns, len(same))
	}
	if differences := allDifferences(same, same); len(differences) > 0 {
		return nil, &run.DifferenceError{Differences: differences}
	}
	floors := map[string]float64{}
	for _, q := range run.Quantiles {
		var halves [2][]float64
		for i, r := range same {
			_, late := r.Late()
			halves[i%2] = append(halves[i%2], float64(late.Quantile(q)))
		}
		shift := stats.HodgesLehmann(halves[0], halves[1], 1-significance)
		floors[run.QuantileName(q)] = max(math.Abs(shift.Low), math.Abs(shift.High))
	}
	return floors, nil
}

// AA is what comparing an implementation with itself comes to.
type AA struct {
	Schema      string `json:"schema"`
	Runs        int    `json:"runs"`
	Comparisons int    `json:"comparisons"`
	// Alarms are comparisons that came out better or worse.
	Alarms int `json:"alarms"`
	// Floors are those of NoiseFloors.
	Floors map[string]float64 `json:"noise_floors_ns"`
	// Drift is what setting the second half of the runs, by the time they were made,
	// against the first comes to: better or worse is a drift, which splits at random
	// cannot see. DriftText says where.
	Drift     Outcome `json:"drift"`
	DriftText string  `json:"drift_text"`
}

// Drifts reports whether the later runs differ from the earlier ones.
func (a *AA) Drifts() bool { return a.Drift == Better || a.Drift == Worse }

// AASchema is the schema of an AA.
const AASchema = "dq-bench/aa/v1"

// MaxAlarms is the share of alarms that a comparison may give where there is no
// difference.
const MaxAlarms = significance

// WithItself splits runs of one implementation at random into two sides,
// rounds times, and counts the comparisons that see a difference. The seed makes
// it repeatable. It also sets the later half of the runs against the earlier one.
func WithItself(same []*run.Document, rounds int, seed uint64, o Options) (*AA, error) {
	floors, err := NoiseFloors(same)
	if err != nil {
		return nil, err
	}
	inOrder := slices.Clone(same)
	slices.SortStableFunc(inOrder, func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	half := len(inOrder) / 2
	drift, err := Runs(inOrder[:half], inOrder[half:], o)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	out := &AA{Schema: AASchema, Runs: len(same), Comparisons: rounds, Floors: floors, Drift: drift.Outcome, DriftText: drift.Text}
	for range rounds {
		order := rng.Perm(len(same))
		var old, new []*run.Document
		for i, k := range order {
			if i%2 == 0 {
				old = append(old, same[k])
			} else {
				new = append(new, same[k])
			}
		}
		c, err := Runs(old, new, o)
		if err != nil {
			return nil, err
		}
		if c.Outcome == Better || c.Outcome == Worse {
			out.Alarms++
		}
	}
	return out, nil
}
