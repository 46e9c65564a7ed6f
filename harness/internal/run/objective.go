package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Objective is the outcome of one SLO in a run file.
type Objective struct {
	// Expr is the objective as it was given.
	Expr   string `json:"expr"`
	Metric string `json:"metric"`
	// Limit and Actual are in ns for durations. Actual is missing if the run did
	// not measure the metric, or its limit, which counts as a miss.
	Limit  float64  `json:"limit"`
	Actual *float64 `json:"actual,omitempty"`
	// LimitOf names the figure that the limit was taken from, if it was.
	LimitOf string `json:"limit_of,omitempty"`
	Met     bool   `json:"met"`
	// Default marks the objective of a run that has no other on lateness.
	Default bool `json:"default,omitempty"`
	// Expected marks what the system is known to do wrong, and must do.
	Expected bool `json:"expected,omitempty"`
}

// Evaluate compares the run's figure with the limit. A figure that the run did
// not measure misses it.
func (s SLO) Evaluate(r *Document) Objective {
	o := Objective{Expr: s.text, Metric: s.metric, Limit: s.limit, LimitOf: s.limitOf}
	limited := true
	if s.bound != nil {
		o.Limit, limited = s.bound(r)
	}
	actual, ok := s.value(r)
	if !ok || !limited {
		return o
	}
	o.Actual = &actual
	switch s.operator {
	case "<=":
		o.Met = actual <= o.Limit
	case "<":
		o.Met = actual < o.Limit
	case ">=":
		o.Met = actual >= o.Limit
	case ">":
		o.Met = actual > o.Limit
	case "==":
		o.Met = actual == o.Limit
	}
	return o
}

// miss says in a few words how the objective was missed.
func (o Objective) miss() string {
	if o.Default {
		return fmt.Sprintf("%s missed (%s), the objective where no other is given", o.Expr, o.ActualText())
	}
	return fmt.Sprintf("%s missed (%s)", o.Expr, o.ActualText())
}

// ActualText writes what was measured in the unit of the metric, and the limit where that
// was measured too: "399, offered 400".
func (o Objective) ActualText() string {
	if o.Actual == nil {
		return "not measured"
	}
	if name, _, _ := strings.Cut(o.Metric, "."); sloHistograms[name] != nil {
		return FormatNs(int64(*o.Actual))
	}
	if o.LimitOf != "" {
		return fmt.Sprintf("%s, %s %s", figureText(*o.Actual), o.LimitOf, figureText(o.Limit))
	}
	return figureText(*o.Actual)
}

// figureText writes whole numbers in full, and others with six digits.
func figureText(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
