package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// A run that has no past due or response time is left out of these; where one in five has none, or the newest, all are
// judged by what every run has.
func TestFiguresThatFewRunsLackAreJudged(t *testing.T) {
	versions := repeated(8, "1", "2", "3")
	of := func(without ...int) *History {
		runs := samples(func(i int) float64 { return 1 + float64(i%3/2) }, versions...)
		for _, r := range runs {
			r.Histograms.ResponseTime = r.Histograms.OfferRTT
		}
		for _, i := range without {
			runs[i].Histograms.ResponseTime = run.NewHistogram(run.TotalDigits)
		}
		h, err := Of(t.Context(), runs, DefaultOptions())
		require.NoError(t, err)
		return h
	}
	has := func(h *History, histogram string) bool {
		for _, f := range h.Figures {
			if f.Histogram == histogram {
				return true
			}
		}
		return false
	}
	for name, row := range map[string]struct {
		without  []int
		response bool
		note     string
	}{
		"all have it":        {nil, true, ""},
		"one has none":       {[]int{3}, true, "response time p50 is that of 23 runs of 24: not told"},
		"one in four":        {[]int{0, 3, 4, 6, 7, 9}, false, ""},
		"some of the newest": {[]int{2, 5}, false, ""},
	} {
		h := of(row.without...)
		require.Equal(t, row.response, has(h, "response_time"), name)
		require.Equal(t, !row.response, has(h, "offer_rtt"), name)
		require.Equal(t, "3", h.FirstWorse, name)
		if row.note == "" {
			require.Empty(t, h.Notes, name)
		} else {
			require.Contains(t, h.Notes[0], row.note, name)
		}
	}
}
