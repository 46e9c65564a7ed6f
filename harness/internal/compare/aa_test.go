package compare

import (
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// simulated is a run as machines give them: log-normal lateness whose level wanders
// from second to second (an AR(1) of ρ = 0.8) around a level of the run's own
// (5 %). Everything above the 95th percentile of the bare distribution is
// multiplied by tail. All figures are invented; what is tested is that the
// judgement survives such dependence, which tests within one run do not.
func simulated(rng *rand.Rand, tail float64) *run.Document {
	const seconds, perSecond = 60, 170
	r := &run.Document{
		Driver: run.Driver{Name: "simulated"}, Scenario: run.Scenario{Name: "simulated"},
		Histograms: run.Histograms{
			Lateness: run.NewHistogram(run.IntervalDigits), OfferRTT: run.NewHistogram(run.IntervalDigits), ScheduleLag: run.NewHistogram(run.IntervalDigits),
		},
		Counts: run.Counts{Offered: seconds * perSecond, Delivered: seconds * perSecond},
	}
	level := .05 * rng.NormFloat64()
	wander := .1 * rng.NormFloat64()
	for range seconds {
		wander = .8*wander + .06*rng.NormFloat64()
		for range perSecond {
			z := rng.NormFloat64()
			ns := 1e6 * math.Exp(.5*z+level+wander)
			if z > 1.645 {
				ns *= tail
			}
			r.Histograms.Lateness.Record(int64(ns))
		}
	}
	return r
}

// study compares 10 runs a side, comparisons times, and counts how often NEW comes
// out better or worse.
func study(t *testing.T, comparisons int, tail float64) (alarms, worse int) {
	t.Helper()
	outcomes := make([]Outcome, comparisons)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := w; i < comparisons; i += 4 {
				rng := rand.New(rand.NewPCG(2026, uint64(i)))
				var old, new []*run.Document
				for range 10 {
					old = append(old, simulated(rng, 1))
					new = append(new, simulated(rng, tail))
				}
				if c, err := Runs(old, new, DefaultOptions()); err == nil {
					outcomes[i] = c.Outcome
				}
			}
		})
	}
	workers.Wait()
	for _, o := range outcomes {
		require.NotEmpty(t, o)
		switch o {
		case Worse:
			worse++
			alarms++
		case Better:
			alarms++
		}
	}
	return alarms, worse
}

// studied is how many comparisons a study makes: make power sets DQ_THOROUGH=1.
func studied(thorough int) int {
	if os.Getenv("DQ_THOROUGH") == "1" {
		return thorough
	}
	return thorough / 5
}

func TestAAStudyAlarmsRarely(t *testing.T) {
	n := studied(200)
	alarms, _ := study(t, n, 1)
	t.Logf("%d of %d A/A comparisons alarmed", alarms, n)
	require.LessOrEqual(t, alarms, n/20)
}

func TestPlantedTailIsFound(t *testing.T) {
	n := studied(100)
	_, worse := study(t, n, 1.2)
	t.Logf("p99 worse by 20 %% was found in %d of %d", worse, n)
	require.GreaterOrEqual(t, worse, n*9/10)
}
