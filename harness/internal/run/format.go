package run

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// FormatNs writes a time in ns with three significant digits and the unit that
// suits it: "-312 µs", "1.62 ms", "47.3 s".
func FormatNs(ns int64) string {
	units := []struct {
		size int64
		name string
	}{{int64(time.Second), "s"}, {int64(time.Millisecond), "ms"}, {int64(time.Microsecond), "µs"}}
	magnitude := math.Abs(float64(ns))
	for _, u := range units {
		// 999.6 µs rounds to 1.00 ms, not to 1000 µs.
		if magnitude >= .9995*float64(u.size) {
			return significant(float64(ns)/float64(u.size)) + " " + u.name
		}
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

// significant writes v with three significant digits, whole numbers in full.
func significant(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// MinTail is how many samples must lie beyond a quantile before it is shown:
// with fewer it is an accident of single messages.
const MinTail = 10

// Bears reports whether n samples bear the quantile q: whether at least ten of
// them are expected beyond it.
func Bears(n int64, q float64) bool {
	return float64(n)*(1-q) >= MinTail-1e-6
}

// FormatFloat writes v with four significant digits, and what is before the point in full:
// "0.1667", "1.25", "500000".
func FormatFloat(v float64) string { return plan.FormatFloat(v) }
