package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatNs writes a time in ns with three significant digits and the unit that suits it: "-312 µs", "1.62 ms", "47.3 s".
func FormatNs(ns int64) string {
	units := []struct {
		size float64
		name string
	}{{float64(time.Second), "s"}, {float64(time.Millisecond), "ms"}, {float64(time.Microsecond), "µs"}}
	for _, u := range units {
		v, digits := float64(ns)/u.size, 2
		for a := math.Abs(v); a >= 9.995 && digits > 0; a /= 10 {
			digits--
		}
		if math.Abs(v) >= .9995 { // 999.6 µs rounds to 1.00 ms, not to 1000 µs
			return fmt.Sprintf("%.*f %s", digits, v, u.name)
		}
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// MinTail is how many samples must lie beyond a quantile before it is shown: with fewer it is an accident of single messages.
const MinTail = 10

// Bears reports whether n samples bear the quantile q.
func Bears(n int64, q float64) bool { return float64(n)*(1-q) >= MinTail-1e-6 }

// TailText names the highest of p99 and max that the samples bear.
func TailText(h *Histogram) string {
	if Bears(h.Count(), .99) {
		return "p99 " + FormatNs(h.Quantile(.99))
	}
	return "max " + FormatNs(h.Max())
}

// Quantiles are the quantiles of tables and comparisons.
var Quantiles = []float64{.5, .9, .99, .999}

// QuantileName returns p50, p99, p99.9.
func QuantileName(q float64) string {
	return "p" + strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", q*100), "0"), ".")
}
