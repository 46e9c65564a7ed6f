package run

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// SLO is one service-level objective, such as lateness.p99<=20ms.
//
// Its grammar is METRIC OPERATOR LIMIT, blanks allowed between them. Metrics are
// lateness, past_due, offer_rtt, response_time, schedule_lag and remove_rtt followed by .min .mean .max or a quantile
// (.p50 .p99 .p999 .p99.9 .p9999, any digits), with a duration as limit; and
// the counts of AllCounts and the figures transfer_calls_per_message, commands_per_message,
// server_cpu_seconds, with a number as limit, or the name of another of these, or of
// producers, consumers or messages, which are those of the plan. Operators are <= < >= > and ==.
type SLO struct {
	text     string
	metric   string
	operator string
	limit    float64
	// limitOf names the figure that is the limit, and bound reads it; both are empty where
	// the limit is a number.
	limitOf  string
	bound    func(*Document) (float64, bool)
	value    func(*Document) (float64, bool)
	duration bool

	none     bool // lifts the default objective
	standard bool // is the default objective
}

// defaultSLO is the objective of a run without any on lateness.
const defaultSLO = "past_due.p99<=1s"

// WithDefault adds the default objective to those of a run, unless one of them, or of the expected ones, is
// on lateness or lifts it.
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

// ParseSLO reads one objective, or "none", which lifts the default one. Its errors are wrong usage.
func ParseSLO(text string) (SLO, error) {
	if text == "none" {
		return SLO{text: text, none: true}, nil
	}
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

// Metrics are what an objective can name, of the histograms with their most common figures.
func Metrics() []string {
	metrics := sortedKeys(sloFigures)
	for _, name := range sortedKeys(sloHistograms) {
		for _, stat := range []string{"p50", "p90", "p99", "p99.9", "min", "mean", "max"} {
			metrics = append(metrics, name+"."+stat)
		}
	}
	return metrics
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
	"inversions": func(r *Document) (float64, bool) {
		if r.Order == nil {
			return 0, false
		}
		return float64(r.Order.Inversions), true
	},
	"server_cpu_seconds": func(r *Document) (float64, bool) {
		if r.ServerStats == nil {
			return 0, false
		}
		return r.ServerStats.CPUSeconds, true
	},
})

// sloSettings are what of the plan a limit may name, so that an objective follows it.
var sloSettings = map[string]func(Scenario) float64{
	"producers": func(s Scenario) float64 { return float64(s.Producers) },
	"consumers": func(s Scenario) float64 { return float64(s.Consumers) },
	"messages":  func(s Scenario) float64 { return float64(s.Messages) },
}

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
		known := slices.Concat(sortedKeys(sloHistograms), sortedKeys(sloFigures))
		return fmt.Errorf("slo %q: unknown metric %q%s; known are %s, and %s, each with one of %s",
			s.text, s.metric, text.DidYouMean(name, known), strings.Join(sortedKeys(sloFigures), ", "), strings.Join(sortedKeys(sloHistograms), ", "), stats)
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
	return 0, fmt.Errorf("expected one of %s behind the name, got %q", stats, stat)
}

// stats are the figures of a histogram.
const stats = ".min, .mean, .max, or a quantile: .p50, .p90, .p99, .p99.9, .p99.99 or any other"

func (s *SLO) parseLimit(limit string) error {
	if s.duration {
		d, err := time.ParseDuration(limit)
		if err != nil {
			return fmt.Errorf("slo %q: expected a duration such as 20ms after %s, got %q", s.text, s.operator, limit)
		}
		s.limit = float64(d)
		return nil
	}
	if s.bound = bound(limit); s.bound != nil {
		s.limitOf = limit
		return nil
	}
	n, err := strconv.ParseFloat(limit, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		known := slices.Concat(sortedKeys(sloFigures), sortedKeys(sloSettings))
		return fmt.Errorf("slo %q: expected a number after %s, or a count such as offered, got %q%s", s.text, s.operator, limit, text.DidYouMean(limit, known))
	}
	s.limit = n
	return nil
}

// bound reads the figure or the setting of that name, and is nil if there is none.
func bound(name string) func(*Document) (float64, bool) {
	if setting, ok := sloSettings[name]; ok {
		return func(r *Document) (float64, bool) { return setting(r.Scenario), true }
	}
	return sloFigures[name]
}
