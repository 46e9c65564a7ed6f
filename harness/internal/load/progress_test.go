package load

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func TestProgressLines(t *testing.T) {
	p := Progress{Phase: plan.Measured, Planned: 100, Offered: 40, Delivered: 30, Pending: 10, Left: 6400 * time.Millisecond, Lateness: run.NewHistogram()}
	p.Lateness.Record(1_500_000)
	require.Equal(t, "load  offered 40/100  delivered 30  pending 10  p99 1.50 ms  left 6s", p.String())
	p.Phase, p.Lateness, p.OfferErrors = plan.Warmup, nil, 3
	require.Equal(t, "warm-up  offered 40/100  delivered 30  pending 10  failed 3  p99 -  left 6s", p.String())
}

// A terminal gets one line that is rewritten, a file one every ten seconds and the last.
func TestProgressModes(t *testing.T) {
	for rewrite, want := range map[bool][2]int{true: {1, 25}, false: {3, 0}} {
		var out strings.Builder
		write := ProgressWriter(&out, rewrite)
		for second := 1; second <= 25; second++ {
			write(Progress{Last: second == 25})
		}
		require.Equal(t, want, [2]int{strings.Count(out.String(), "\n"), strings.Count(out.String(), "\r")})
	}
}
