package stats_test

import (
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
)

func ExampleMannWhitney() {
	before := []float64{203, 207, 199, 201, 210, 205}
	after := []float64{241, 236, 244, 239, 251, 233}
	_, p := stats.MannWhitney(before, after)
	shift := stats.HodgesLehmann(before, after, 0.95)
	fmt.Printf("p = %.4f, later by %.0f, 95 %% interval %.0f to %.0f\n", p, shift.Estimate, shift.Low, shift.High)
	// Output: p = 0.0022, later by 36, 95 % interval 29 to 44
}
