package run

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func mustSLO(t *testing.T, text string) SLO {
	t.Helper()
	slo, err := ParseSLO(text)
	require.NoError(t, err)
	return slo
}

func TestObjectives(t *testing.T) {
	r := sampleRun(1, 1, 1)
	h := NewHistogram()
	for i := 1; i <= 1000; i++ {
		h.Record(int64(i) * int64(time.Millisecond))
	}
	r.Histograms.Lateness = h
	r.Counts = Counts{Offered: 1000, Delivered: 998, Lost: 2}
	for text, met := range map[string]bool{
		"lateness.p50<=501ms": true, "lateness.p50<=499ms": false, "lateness.p99 < 1s": true, "lateness.p999<=990ms": false,
		"lateness.p99.9<=1s": true, "lateness.p9999<=1s": true, "lateness.max==1s": true, "lateness.max>1s": false,
		"lateness.min>=1ms": true, "lateness.mean<=501ms": true, "offer_rtt.max>=0s": true, "schedule_lag.p90<=1h": true,
		"lost<=0": false, "lost==2": true, "duplicate<=0": true, "early < 1": true, "pending<=0": true, "delivered>=998": true,
		"transfer_calls_per_message<=1.1": true, "offer_errors<=0": true, "server_cpu_seconds<1": true, "offered>1e3": false,
	} {
		require.Equal(t, met, mustSLO(t, text).Evaluate(r).Met, text)
	}
}

// A limit that names a count or a setting is that of the run.
func TestObjectivesCompareCounts(t *testing.T) {
	r := sampleRun(1, 1, 1)
	r.Counts = Counts{Offered: 400, Delivered: 398, Lost: 2, OfferErrors: 3}
	r.Scenario.Consumers, r.Scenario.Messages = 2, 403
	for text, met := range map[string]bool{
		"delivered==offered": false, "delivered < offered": true, "lost<=consumers": true, "lost<consumers": false,
		"offer_errors<=producers": true, "offered==messages": false, "commands_per_message>=transfer_calls_per_message": false,
	} {
		require.Equal(t, met, mustSLO(t, text).Evaluate(r).Met, text)
	}
	o := mustSLO(t, "delivered==offered").Evaluate(r)
	require.Equal(t, "delivered==offered missed (398, offered 400)", o.miss())
	require.InDelta(t, 400, o.Limit, 0)
	require.Equal(t, "offered", o.LimitOf)

	r.ServerStats = nil
	o = mustSLO(t, "delivered>=commands_per_message").Evaluate(r)
	require.False(t, o.Met, "a limit that was not measured")
	require.Contains(t, o.miss(), "not measured")
}

// What was not measured cannot be claimed to hold.
func TestUnmeasuredObjectiveIsMissed(t *testing.T) {
	r := sampleRun(1, 1, 1)
	r.ServerStats, r.Histograms.Lateness = nil, NewHistogram()
	for _, text := range []string{"transfer_calls_per_message<=1.1", "lateness.p99<=20ms", "commands_per_message<100"} {
		o := mustSLO(t, text).Evaluate(r)
		require.False(t, o.Met)
		require.Contains(t, o.miss(), "not measured")
	}
}

// An objective on lateness or past due takes the place of the default one, whose miss says so. Another one does not.
func TestTheDefaultObjective(t *testing.T) {
	for text, want := range map[string]string{
		"delivered==offered": "past_due.p99<=1s missed (2.00 s), the default objective; an --slo on lateness or past_due replaces it",
		"lateness.p50<=1h":   "", "past_due.max<=1h": "", "none": "",
	} {
		r := sampleRun(1, 1, 1)
		r.Histograms.PastDue = NewHistogram()
		r.Histograms.PastDue.Record(2e9)
		verdict := r.Judge(WithDefault([]SLO{mustSLO(t, text)}, nil))
		require.Equal(t, want == "", !strings.Contains(verdict.Text, "the default objective"), verdict.Text)
		require.Contains(t, verdict.Text, want)
	}
}

func TestObjectivesThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", "lateness", "lateness.p99", "lateness.p99=20ms", "lateness.p99<=", "lateness.p99<=20", "lateness<=20ms", "lateness.p<=1s",
		"lateness.p0<=1s", "lateness.p100<=1s", "lateness.p9x<=1s", "latency.p99<=1s", "lost<=x", "lost<=1ms", "lost<=NaN", "<=1",
		"lateness.p99<=>1s", "lateness.p99.<=1s", "p99<=20ms", "lost=>0",
	} {
		_, err := ParseSLO(text)
		require.Error(t, err, text)
	}
}

func TestParseQuantiles(t *testing.T) {
	got, err := ParseQuantiles("99.9, 50,99,50")
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{.5, .99, .999}, got, 1e-12)
	for _, text := range []string{"", "50,", "0", "100", "x", "-1", "5e1"} {
		_, err := ParseQuantiles(text)
		require.Error(t, err, text)
	}
}

func FuzzParseSLO(f *testing.F) {
	f.Add("lateness.p99<=20ms")
	f.Add("transfer_calls_per_message <= 1.1")
	f.Add("lost==0")
	f.Add("delivered==offered")
	r := sampleRun(1, 10, 1)
	f.Fuzz(func(t *testing.T, text string) {
		slo, err := ParseSLO(text)
		if err != nil {
			return
		}
		require.Equal(t, text, slo.Evaluate(r).Expr)
		_, err = r.Encode()
		require.NoError(t, err)
	})
}
