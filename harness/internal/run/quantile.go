package run

import (
	"fmt"
	"slices"
	"strings"
)

// Quantiles are what tables show and comparisons declare.
var Quantiles = []float64{.5, .9, .99, .999}

// QuantileName returns p50, p99, p99.9.
func QuantileName(q float64) string { return "p" + PercentText(q) }

// PercentText returns 50, 99, 99.9: the quantile in per cent.
func PercentText(q float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", q*100), "0"), ".")
}

// ParseQuantiles reads percentiles such as "50,99,99.9".
func ParseQuantiles(text string) ([]float64, error) {
	var quantiles []float64
	for field := range strings.SplitSeq(text, ",") {
		q, err := parseQuantile("p" + strings.TrimSpace(field))
		if err != nil || strings.TrimSpace(field) == "" {
			return nil, fmt.Errorf("percentiles: expected numbers between 0 and 100 such as 50,99,99.9, got %q", text)
		}
		quantiles = append(quantiles, q)
	}
	slices.Sort(quantiles)
	return slices.Compact(quantiles), nil
}
