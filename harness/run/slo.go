package run

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SLO is one service-level objective, such as lateness.p99<=20ms.
//
// Its grammar is METRIC OPERATOR LIMIT, blanks allowed between them. Metrics are
// lateness, past_due, offer_rtt, response_time, schedule_lag and remove_rtt followed by .min .mean .max or a quantile
// (.p50 .p99 .p999 .p99.9 .p9999, any digits), with a duration as limit; and
// the counts of AllCounts and the figures transfer_calls_per_message, commands_per_message,
// server_cpu_seconds, with a number as limit. Operators are <= < >= > and ==.
type SLO struct {
	text     string
	metric   string
	operator string
	limit    float64
	value    func(*Document) (float64, bool)
	duration bool
}

// Objective is the outcome of one SLO in a run file.
type Objective struct {
	// Expr is the objective as it was given.
	Expr   string `json:"expr"`
	Metric string `json:"metric"`
	// Limit and Actual are in ns for durations. Actual is missing if the run did
	// not measure the metric, which counts as a miss.
	Limit  float64  `json:"limit"`
	Actual *float64 `json:"actual,omitempty"`
	Met    bool     `json:"met"`
	// Expected marks what the system is known to do wrong, and must do.
	Expected bool `json:"expected,omitempty"`
}

// ParseSLO reads one objective. Its errors are wrong usage.
func ParseSLO(text string) (SLO, error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return SLO{}, fmt.Errorf("slo %q: expected METRIC OPERATOR LIMIT such as lateness.p99<=20ms; there is none of <= < >= > ==", text)
	}
	operator := text[at : at+1]
	if strings.HasPrefix(text[at+1:], "=") {
		operator += "="
	}
	if operator == "=" {
		return SLO{}, fmt.Errorf("slo %q: expected one of <= < >= > ==, got a single =", text)
	}
	slo := SLO{text: text, metric: strings.TrimSpace(text[:at]), operator: operator}
	if err := slo.resolve(); err != nil {
		return SLO{}, err
	}
	return slo, slo.parseLimit(strings.TrimSpace(text[at+len(operator):]))
}

// Scaled returns the objective with a limit of time multiplied by a factor; other
// limits stay.
func (s SLO) Scaled(factor float64) SLO {
	if !s.duration || factor == 1 {
		return s
	}
	s.limit = math.Round(s.limit * factor)
	s.text = s.metric + s.operator + time.Duration(s.limit).String()
	return s
}

// String returns the objective as it was given.
func (s SLO) String() string { return s.text }

// Histogram returns one of lateness, past_due, offer_rtt, response_time, schedule_lag and remove_rtt; nil for
// another name, and where the run has none.
func (h *Histograms) Histogram(name string) *Histogram {
	if pick, ok := sloHistograms[name]; ok {
		return pick(h)
	}
	return nil
}

// Figure returns a count or a figure of the server by the name that objectives know it
// by; ok is false where the run did not measure it, and for an unknown name.
func (r *Document) Figure(name string) (v float64, ok bool) {
	if figure, known := sloFigures[name]; known {
		return figure(r)
	}
	return 0, false
}

var sloHistograms = map[string]func(*Histograms) *Histogram{
	"lateness":      func(h *Histograms) *Histogram { return h.Lateness },
	"past_due":      func(h *Histograms) *Histogram { return h.PastDue },
	"offer_rtt":     func(h *Histograms) *Histogram { return h.OfferRTT },
	"response_time": func(h *Histograms) *Histogram { return h.ResponseTime },
	"schedule_lag":  func(h *Histograms) *Histogram { return h.ScheduleLag },
	"remove_rtt":    func(h *Histograms) *Histogram { return h.RemoveRTT },
}

var sloFigures = withCounts(map[string]func(*Document) (float64, bool){
	"transfer_calls_per_message": func(r *Document) (float64, bool) {
		if r.ServerStats == nil {
			return 0, false
		}
		return r.ServerStats.TransferCallsPerMessage, true
	},
	"commands_per_message": func(r *Document) (float64, bool) {
		if r.ServerStats == nil || r.Counts.Delivered == 0 {
			return 0, false
		}
		return float64(r.ServerStats.Commands) / float64(r.Counts.Delivered), true
	},
	"server_cpu_seconds": func(r *Document) (float64, bool) {
		if r.ServerStats == nil {
			return 0, false
		}
		return r.ServerStats.CPUSeconds, true
	},
})

// withCounts adds the table of counts to the figures.
func withCounts(figures map[string]func(*Document) (float64, bool)) map[string]func(*Document) (float64, bool) {
	for _, count := range AllCounts {
		figures[count.Name] = func(r *Document) (float64, bool) { return float64(count.Of(r.Counts)), true }
	}
	return figures
}

// resolve finds the figure that the metric names.
func (s *SLO) resolve() error {
	if figure, ok := sloFigures[s.metric]; ok {
		s.value = figure
		return nil
	}
	name, stat, _ := strings.Cut(s.metric, ".")
	pick, ok := sloHistograms[name]
	if !ok {
		return fmt.Errorf("slo %q: unknown metric %q; known are %s, and %s each with .p50 .p99 .p999 .min .max .mean",
			s.text, s.metric, strings.Join(sortedKeys(sloFigures), ", "), strings.Join(sortedKeys(sloHistograms), ", "))
	}
	read, err := parseStat(stat)
	if err != nil {
		return fmt.Errorf("slo %q: %w", s.text, err)
	}
	s.duration = true
	s.value = func(r *Document) (float64, bool) {
		h := pick(&r.Histograms)
		if h == nil || h.Count() == 0 {
			return 0, false
		}
		return read(h), true
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func parseStat(stat string) (func(*Histogram) float64, error) {
	switch stat {
	case "min":
		return func(h *Histogram) float64 { return float64(h.Min()) }, nil
	case "max":
		return func(h *Histogram) float64 { return float64(h.Max()) }, nil
	case "mean":
		return (*Histogram).Mean, nil
	}
	q, err := parseQuantile(stat)
	if err != nil {
		return nil, err
	}
	return func(h *Histogram) float64 { return float64(h.Quantile(q)) }, nil
}

// parseQuantile reads p50, p99, p999 (99.9 %), p99.9 and p9999 as 0 < q < 1.
func parseQuantile(stat string) (float64, error) {
	digits, ok := strings.CutPrefix(stat, "p")
	whole, frac, dotted := strings.Cut(digits, ".")
	if !dotted && len(digits) > 2 && digits[0] == '9' {
		// p999 is short for p99.9; p100 is no quantile.
		whole, frac = digits[:2], digits[2:]
	}
	valid := ok && whole != "" && len(whole) <= 2 && len(frac) <= 6 && (!dotted || frac != "")
	for _, c := range whole + frac {
		valid = valid && '0' <= c && c <= '9'
	}
	if valid {
		percent, err := strconv.ParseFloat(whole+"."+frac+"0", 64)
		if err == nil && percent > 0 {
			return percent / 100, nil
		}
	}
	return 0, fmt.Errorf("expected .min, .max, .mean or a quantile such as .p50, .p99, .p999 or .p99.9, got %q", stat)
}

func (s *SLO) parseLimit(text string) error {
	if s.duration {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("slo %q: expected a duration such as 20ms after %s, got %q", s.text, s.operator, text)
		}
		s.limit = float64(d)
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("slo %q: expected a number after %s, got %q", s.text, s.operator, text)
	}
	s.limit = n
	return nil
}

// Evaluate compares the run's figure with the limit. A figure that the run did
// not measure misses it.
func (s SLO) Evaluate(r *Document) Objective {
	o := Objective{Expr: s.text, Metric: s.metric, Limit: s.limit}
	actual, ok := s.value(r)
	if !ok {
		return o
	}
	o.Actual = &actual
	switch s.operator {
	case "<=":
		o.Met = actual <= s.limit
	case "<":
		o.Met = actual < s.limit
	case ">=":
		o.Met = actual >= s.limit
	case ">":
		o.Met = actual > s.limit
	case "==":
		o.Met = actual == s.limit
	}
	return o
}

// miss says in a few words how the objective was missed.
func (o Objective) miss() string {
	return fmt.Sprintf("%s missed (%s)", o.Expr, o.ActualText())
}

// ActualText writes what was measured in the unit of the metric.
func (o Objective) ActualText() string {
	if o.Actual == nil {
		return "not measured"
	}
	if name, _, _ := strings.Cut(o.Metric, "."); sloHistograms[name] != nil {
		return FormatNs(int64(*o.Actual))
	}
	return strconv.FormatFloat(*o.Actual, 'g', 6, 64)
}
