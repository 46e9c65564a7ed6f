package compare

import (
	"fmt"
	"math/rand/v2"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// AASchema is the schema of an AA.
const AASchema = "dq-bench/aa/v2"

// MaxAlarms is the share of alarms that a comparison may give where there is no
// difference.
const MaxAlarms = significance

// AA is what comparing an implementation with itself comes to.
type AA struct {
	Schema      string `json:"schema"`
	Runs        int    `json:"runs"`
	Comparisons int    `json:"comparisons"`
	// Alarms are comparisons that came out better or worse.
	Alarms int `json:"alarms"`
	// Noise is how much the runs differ.
	Noise *Noise `json:"noise"`
	// Drift is what setting the second half of the runs, by the time they were made,
	// against the first comes to: better or worse is a drift, which splits at random
	// cannot see. DriftText says where.
	Drift     Outcome `json:"drift"`
	DriftText string  `json:"drift_text"`
	// Warnings are what weakens the evidence, such as runs that were left out.
	Warnings []string `json:"warnings,omitempty"`
}

// Drifts reports whether the later runs differ from the earlier ones.
func (a *AA) Drifts() bool { return a.Drift == Better || a.Drift == Worse }

// WithItself splits runs of one implementation at random into two sides,
// rounds times, pairs so that either side has one of each, and counts the comparisons that see a difference. The seed makes
// it repeatable. It also sets the later half of the runs against the earlier one, and
// takes the noise of the machine from them. It needs 2·MinRuns. Interrupted runs, and their partners, are left out.
func WithItself(same []*run.Document, rounds int, seed uint64, o Options) (*AA, error) {
	given := len(same)
	same, cut := whole(same)
	noise, err := NewNoise(same)
	if err != nil {
		return nil, err
	}
	inOrder := byStart(same)
	half := len(inOrder) / 2
	drift, err := newComparison(inOrder[:half], inOrder[half:], o)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	out := &AA{Schema: AASchema, Runs: len(same), Comparisons: rounds, Noise: noise, Drift: drift.Outcome, DriftText: drift.Text}
	if len(cut) > 0 {
		out.Warnings = []string{fmt.Sprintf("left out %d of %d runs, as interrupted%s", len(cut), given, withFaults(cut))}
	}
	for range rounds {
		old, new := split(rng, same)
		c, err := newComparison(old, new, o)
		if err != nil {
			return nil, err
		}
		if c.Outcome == Better || c.Outcome == Worse {
			out.Alarms++
		}
	}
	return out, nil
}

// split deals runs out to two sides.
func split(rng *rand.Rand, same []*run.Document) (old, new []*run.Document) {
	if old, new, ok := halves(same); ok {
		for i := range old {
			if rng.IntN(2) == 1 {
				old[i], new[i] = new[i], old[i]
			}
		}
		return old, new
	}
	for i, k := range rng.Perm(len(same)) {
		if i%2 == 0 {
			old = append(old, same[k])
		} else {
			new = append(new, same[k])
		}
	}
	return old, new
}
