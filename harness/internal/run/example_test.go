package run_test

import (
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Redisson's due times are whole milliseconds, so that a message may come a little before its own.
func ExampleHistogram() {
	h := run.NewHistogram()
	for i := range 1000 {
		h.Record(int64(time.Duration(i-400) * time.Microsecond))
	}
	fmt.Println(h.Count(), time.Duration(h.Min()), time.Duration(h.Max()))
	fmt.Println(time.Duration(h.Quantile(.5)).Round(10 * time.Microsecond))
	// Output:
	// 1000 -400µs 599µs
	// 100µs
}
