package run

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// SLO is one service-level objective, such as lateness.p99<=20ms.
//
// Its grammar is METRIC OPERATOR LIMIT, blanks allowed between them. Metrics are lateness, past_due, offer_rtt,
// response_time, schedule_lag and remove_rtt followed by .min .mean .max or a quantile (.p50 .p99 .p999 .p99.9 .p9999, any
// digits), with a duration as limit; and the counts of AllCounts and the figures transfer_calls_per_message,
// commands_per_message, server_cpu_seconds and inversions, with a number as limit, or the name of another of these, or of
// producers, consumers or messages of the plan. Operators are <= < >= > and ==.
type SLO struct {
	text, metric, operator string
	value                  figure
	duration               bool
	// bound reads the limit, and limitOf names the figure that is the limit; the latter is empty for a number.
	bound   figure
	limit   float64
	limitOf string

	none     bool // lifts the default objective
	standard bool // is the default objective
}

// figure reads a figure; ok is false if the run did not measure it.
type figure func(*Document) (v float64, ok bool)

// Objective is the outcome of one SLO in a run file.
type Objective struct {
	// Expr is the objective as it was given.
	Expr   string `json:"expr"`
	Metric string `json:"metric"`
	// Limit and Actual are in ns for durations. Actual is missing if the run did not measure the metric, or its limit,
	// which counts as a miss.
	Limit  float64  `json:"limit"`
	Actual *float64 `json:"actual,omitempty"`
	// LimitOf names the figure that the limit was taken from, if it was.
	LimitOf string `json:"limit_of,omitempty"`
	Met     bool   `json:"met"`
	// Default marks the objective of a run that has no other on lateness.
	Default bool `json:"default,omitempty"`
	// Expected marks a known fault of the system, which must occur.
	Expected bool `json:"expected,omitempty"`
}

// defaultSLO is the objective of a run without any on lateness.
const defaultSLO = "past_due.p99<=1s"

// WithDefault adds the default objective to the objectives of a run, unless one of them, or of the expected ones, is on
// lateness or lifts it.
func WithDefault(slos, expected []SLO) []SLO {
	for _, s := range slices.Concat(slos, expected) {
		if s.none || strings.HasPrefix(s.metric, "lateness.") || strings.HasPrefix(s.metric, "past_due.") {
			return slos
		}
	}
	standard, _ := ParseSLO(defaultSLO) // which is one
	standard.standard = true
	return append(slices.Clone(slos), standard)
}

// ofServer is a figure of the server; a figure that is no number was not measured.
func ofServer(read func(*ServerStats, Counts) float64) figure {
	return func(r *Document) (v float64, ok bool) {
		if r.ServerStats == nil {
			return 0, false
		}
		v = read(r.ServerStats, r.Counts)
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	}
}

// figures are the metrics with a number as limit.
var figures = func() map[string]figure {
	all := map[string]figure{
		"transfer_calls_per_message": ofServer(func(s *ServerStats, _ Counts) float64 { return s.TransferCallsPerMessage }),
		"commands_per_message":       ofServer(func(s *ServerStats, c Counts) float64 { return float64(s.Commands) / float64(c.Delivered) }),
		"server_cpu_seconds":         ofServer(func(s *ServerStats, _ Counts) float64 { return s.CPUSeconds }),
		"inversions": func(r *Document) (float64, bool) {
			if r.Order == nil {
				return 0, false
			}
			return float64(r.Order.Inversions), true
		},
	}
	for _, count := range AllCounts {
		all[count.Name] = func(r *Document) (float64, bool) { return float64(count.Of(r.Counts)), true }
	}
	return all
}()

// limits are the figures that a limit may name: all of them, and settings of the plan.
var limits = func() map[string]figure {
	all := maps.Clone(figures)
	all["producers"] = func(r *Document) (float64, bool) { return float64(r.Scenario.Producers), true }
	all["consumers"] = func(r *Document) (float64, bool) { return float64(r.Scenario.Consumers), true }
	all["messages"] = func(r *Document) (float64, bool) { return float64(r.Scenario.Messages), true }
	return all
}()

// Figure returns a count or a figure of the server by its name in objectives; ok is false if the run did not measure it,
// and for an unknown name.
func (r *Document) Figure(name string) (v float64, ok bool) {
	if read, known := figures[name]; known {
		return read(r)
	}
	return 0, false
}

func histogramNames() (names []string) {
	for _, d := range Distributions {
		names = append(names, d.Metric)
	}
	return names
}

var sloForm = regexp.MustCompile(`(?s)^([^<>=]*)([<>=]=?)(.*)$`)

// ParseSLO reads one objective, or "none", which lifts the default one. Its errors are wrong usage.
func ParseSLO(expr string) (SLO, error) {
	if expr == "none" {
		return SLO{text: expr, none: true}, nil
	}
	parts := sloForm.FindStringSubmatch(expr)
	if parts == nil {
		return SLO{}, fmt.Errorf("slo %q: expected METRIC OPERATOR LIMIT such as lateness.p99<=20ms; there is no operator <= < >= > ==", expr)
	}
	s := SLO{text: expr, metric: strings.TrimSpace(parts[1]), operator: parts[2]}
	if s.operator == "=" {
		return SLO{}, fmt.Errorf("slo %q: expected one of <= < >= > ==, got a single =", expr)
	}
	err := s.parseMetric()
	if err == nil {
		err = s.parseLimit(strings.TrimSpace(parts[3]))
	}
	if err != nil {
		return SLO{}, fmt.Errorf("slo %q: %w", expr, err)
	}
	return s, nil
}

// stats are the figures of a histogram.
const stats = ".min, .mean, .max, or a quantile: .p50, .p90, .p99, .p99.9, .p99.99 or any other"

// parseMetric finds the figure that the metric names.
func (s *SLO) parseMetric() (err error) {
	if s.value = figures[s.metric]; s.value != nil {
		return nil
	}
	name, stat, _ := strings.Cut(s.metric, ".")
	if names := histogramNames(); !slices.Contains(names, name) {
		known := slices.Sorted(maps.Keys(figures))
		return fmt.Errorf("unknown metric %q%s; known are %s, and %s, each with one of %s",
			s.metric, text.DidYouMean(name, append(names, known...)), strings.Join(known, ", "), strings.Join(names, ", "), stats)
	}
	read, known := map[string]func(*Histogram) float64{
		"min": func(h *Histogram) float64 { return float64(h.Min()) }, "max": func(h *Histogram) float64 { return float64(h.Max()) }, "mean": (*Histogram).Mean,
	}[stat]
	if !known {
		var q float64
		q, err = parseQuantile(stat)
		read = func(h *Histogram) float64 { return float64(h.Quantile(q)) }
	}
	s.duration = true
	s.value = func(r *Document) (float64, bool) {
		h := r.Histograms.Histogram(name)
		if h == nil || h.Count() == 0 {
			return 0, false
		}
		return read(h), true
	}
	return err
}

func (s *SLO) parseLimit(limit string) error {
	if s.duration {
		d, err := time.ParseDuration(limit)
		if s.limit = float64(d); err != nil {
			return fmt.Errorf("expected a duration such as 20ms after %s, got %q", s.operator, limit)
		}
		return nil
	}
	if s.bound = limits[limit]; s.bound != nil {
		s.limitOf = limit
		return nil
	}
	var err error
	if s.limit, err = strconv.ParseFloat(limit, 64); err != nil || math.IsNaN(s.limit) || math.IsInf(s.limit, 0) {
		return fmt.Errorf("expected a number after %s, or a count such as offered, got %q%s",
			s.operator, limit, text.DidYouMean(limit, slices.Sorted(maps.Keys(limits))))
	}
	return nil
}

// quantileForm is p50, p99.9, or p999 for p99.9.
var quantileForm = regexp.MustCompile(`^p(?:(\d\d?)(?:\.(\d{1,6}))?|(9\d)(\d{1,6}))$`)

// parseQuantile reads p50, p99, p999 (99.9 %), p99.9 and p9999 as 0 < q < 1.
func parseQuantile(stat string) (float64, error) {
	if m := quantileForm.FindStringSubmatch(stat); m != nil {
		if percent, err := strconv.ParseFloat(m[1]+m[3]+"."+m[2]+m[4]+"0", 64); err == nil && percent > 0 {
			return percent / 100, nil
		}
	}
	return 0, fmt.Errorf("expected one of %s behind the name, got %q", stats, stat)
}

// String returns the objective as it was given.
func (s SLO) String() string { return s.text }

// Evaluate compares the run's figure with the limit. A figure that the run did not measure misses it.
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
	o.Met = strings.HasSuffix(s.operator, "=") && actual == o.Limit ||
		s.operator[0] == '<' && actual < o.Limit || s.operator[0] == '>' && actual > o.Limit
	return o
}

// miss says in a few words how the objective was missed.
func (o Objective) miss() string {
	text := fmt.Sprintf("%s missed (%s)", o.Expr, o.ActualText())
	if o.Default {
		text += ", the default objective; an --slo on lateness or past_due replaces it"
	}
	return text
}

// ActualText writes the measured value in the unit of the metric, and the limit if it was measured too: "399, offered 400".
func (o Objective) ActualText() string {
	if o.Actual == nil {
		return "not measured"
	}
	if name, _, _ := strings.Cut(o.Metric, "."); slices.Contains(histogramNames(), name) {
		return FormatNs(int64(*o.Actual))
	}
	in := func(v float64) string { // whole numbers in full, others with six digits
		if v == math.Trunc(v) {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	if o.LimitOf != "" {
		return fmt.Sprintf("%s, %s %s", in(*o.Actual), o.LimitOf, in(o.Limit))
	}
	return in(*o.Actual)
}
