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

// Count is one row of the table of counts, from which the verdict, objectives, text, page and metrics derive.
type Count struct {
	In func(*Counts) *int64 // points to the count
	// Name is the name in the run file, in objectives and, with _total behind all that only grow, in metrics: "offer_errors".
	Name string
	// Title heads a column that people read, and Help is a sentence for a monitoring system.
	Title, Help string
	// Effect is the verdict's reading of a value above 0; the verdict prints Fault after the number.
	Effect Effect
	Fault  string
	Rare   bool // ones are shown only if they are not 0
}

// Of reads the count.
func (c Count) Of(counts Counts) int64 { return *c.In(&counts) }

// Effect is a count's meaning for the verdict.
type Effect int

// With a Harmless count the run passes, with an Odd one too, which is shown as wrong. A Refused count fails the run unless an
// objective says how many may be, a Wrong one unless it is expected.
const (
	Harmless Effect = iota
	Odd
	Refused
	Wrong
)

// AllCounts is the table of counts, in the order of display. Document.Judge says when pending messages fail a run.
var AllCounts = []Count{
	{func(c *Counts) *int64 { return &c.Offered }, "offered", "offered", "Messages that the implementation took over.", Harmless, "", false},
	{func(c *Counts) *int64 { return &c.Delivered }, "delivered", "delivered", "Messages delivered at least once.", Harmless, "", false},
	{func(c *Counts) *int64 { return &c.Lost }, "lost", "lost", "Messages that were accepted, never delivered and are in no key; known at the end of the run.", Wrong, "lost", false},
	{func(c *Counts) *int64 { return &c.Unknown }, "unknown", "unknown", "Messages whose agent was gone before it answered, or that could not be looked for at the end.", Wrong, "of unknown fate", true},
	{func(c *Counts) *int64 { return &c.Duplicate }, "duplicate", "duplicate", "Deliveries beyond the first of a message.", Wrong, "delivered more than once", false},
	{func(c *Counts) *int64 { return &c.Early }, "early", "early", "Messages delivered more than 1 ms before they were due.", Wrong, "delivered early", false},
	{func(c *Counts) *int64 { return &c.Pending }, "pending", "pending", "Messages that were offered and have not been delivered.", Harmless, "", false},
	{func(c *Counts) *int64 { return &c.NotDue }, "not_due", "of it not due", "Pending messages that were not due at the end of a run that does not wait for all.", Harmless, "", true},
	{func(c *Counts) *int64 { return &c.Removed }, "removed", "removed", "Messages that were cancelled and not delivered; known at the end of the run.", Harmless, "", true},
	{func(c *Counts) *int64 { return &c.Revived }, "revived", "revived", "Messages delivered although they had been cancelled.", Wrong, "delivered although cancelled", true},
	{func(c *Counts) *int64 { return &c.OfferErrors }, "offer_errors", "offer errors", "Offers that failed.", Refused, "with a failed offer", true},
	{func(c *Counts) *int64 { return &c.Corrupt }, "corrupt", "corrupt", "Deliveries of this run's messages with other bytes.", Wrong, "delivered with other bytes than were offered", true},
	{func(c *Counts) *int64 { return &c.Foreign }, "foreign", "foreign", "Deliveries that this run did not offer.", Odd, "", true},
}

// Counts is the exact accounting of the measured phase, as AllCounts explains it. At its end
// Offered = Delivered + Pending + Lost + Unknown + Removed.
type Counts struct {
	Offered     int64 `json:"offered"` // messages whose offer was confirmed, or that were delivered, or are still held
	Delivered   int64 `json:"delivered"`
	Lost        int64 `json:"lost"`
	Unknown     int64 `json:"unknown,omitempty"` // messages that were not delivered, if their agent was gone, or the held ones could not be read at the end
	Duplicate   int64 `json:"duplicate"`
	Early       int64 `json:"early"` // messages delivered more than EarlyTolerance before they were due
	Pending     int64 `json:"pending"`
	NotDue      int64 `json:"not_due,omitempty"` // pending messages that were not due at the end, in a run that does not wait for all
	Removed     int64 `json:"removed,omitempty"`
	Revived     int64 `json:"revived,omitempty"`
	OfferErrors int64 `json:"offer_errors"` // offers that were answered by an error or not at all, whatever became of the message
	Corrupt     int64 `json:"corrupt,omitempty"`
	Foreign     int64 `json:"foreign"`
}

// Faults is how many messages were treated wrongly.
func (c Counts) Faults() (n int64) {
	for _, count := range AllCounts {
		if count.Effect == Wrong {
			n += count.Of(c)
		}
	}
	return n
}

// Plus adds each count.
func (c Counts) Plus(p Counts) Counts {
	for _, count := range AllCounts {
		*count.In(&c) += count.Of(p)
	}
	return c
}

// SLO is one service-level objective, such as lateness.p99<=20ms.
//
// Its grammar is METRIC OPERATOR LIMIT, blanks allowed between them. Metrics are lateness, past_due, offer_rtt, response_time, schedule_lag
// and remove_rtt followed by .min .mean .max or a quantile (.p50 .p99 .p999 .p99.9 .p9999, any digits), with a duration as limit; and the
// figures, which are the counts of AllCounts, transfer_calls_per_message, commands_per_message, server_cpu_seconds, inversions, and
// producers, consumers and messages of the plan, with a number or another figure as limit. Operators are <= < >= > and ==.
type SLO struct {
	text, metric, operator string
	value                  figure
	limitOf                string // the figure that is the limit; empty if the number is
	limit                  float64

	none     bool // lifts the default objective
	standard bool // is the default objective
}

// figure reads a number of a run; NaN or infinite if the run did not measure it.
type figure func(*Document) float64

// Objective is the outcome of one SLO in a run file.
type Objective struct {
	Expr   string `json:"expr"` // the objective as it was given
	Metric string `json:"metric"`
	// Limit and Actual are in ns for durations. Actual is missing if the run did not measure the metric, or its limit, which counts as a miss.
	Limit    float64  `json:"limit"`
	Actual   *float64 `json:"actual,omitempty"`
	LimitOf  string   `json:"limit_of,omitempty"` // the figure that the limit was taken from, if it was
	Met      bool     `json:"met"`
	Default  bool     `json:"default,omitempty"`  // of a run that has no other objective on lateness
	Expected bool     `json:"expected,omitempty"` // a known fault of the system, which must occur
}

// WithDefault adds the default objective to the objectives of a run, unless one of them, or of the expected ones, is on lateness or lifts it.
func WithDefault(slos, expected []SLO) []SLO {
	for _, s := range slices.Concat(slos, expected) {
		if s.none || strings.HasPrefix(s.metric, "lateness.") || strings.HasPrefix(s.metric, "past_due.") {
			return slos
		}
	}
	standard, _ := ParseSLO("past_due.p99<=1s") // which is one
	standard.standard = true
	return append(slices.Clone(slos), standard)
}

// figures are the metrics with a number as limit.
var figures = func() map[string]figure {
	ofServer := func(read func(*ServerStats, Counts) float64) figure {
		return func(r *Document) float64 {
			if r.ServerStats == nil {
				return math.NaN()
			}
			return read(r.ServerStats, r.Counts)
		}
	}
	all := map[string]figure{
		"transfer_calls_per_message": ofServer(func(s *ServerStats, _ Counts) float64 { return s.TransferCallsPerMessage }),
		"commands_per_message":       ofServer(func(s *ServerStats, c Counts) float64 { return float64(s.Commands) / float64(c.Delivered) }),
		"server_cpu_seconds":         ofServer(func(s *ServerStats, _ Counts) float64 { return s.CPUSeconds }),
		"inversions": func(r *Document) float64 {
			if r.Order == nil {
				return math.NaN()
			}
			return float64(r.Order.Inversions)
		},
		"producers": func(r *Document) float64 { return float64(r.Scenario.Producers) },
		"consumers": func(r *Document) float64 { return float64(r.Scenario.Consumers) },
		"messages":  func(r *Document) float64 { return float64(r.Scenario.Messages) },
	}
	for _, count := range AllCounts {
		all[count.Name] = func(r *Document) float64 { return float64(count.Of(r.Counts)) }
	}
	return all
}()

// Figure returns a figure by its name in objectives; NaN or infinite if the run did not measure it.
func (r *Document) Figure(name string) float64 { return figures[name](r) }

var sloForm = regexp.MustCompile(`(?s)^([^<>=]*)(<=|>=|==|<|>)(.*)$`)

// ParseSLO reads one objective, or "none", which lifts the default one. Its errors are wrong usage.
func ParseSLO(expr string) (SLO, error) {
	parts := sloForm.FindStringSubmatch(expr)
	switch {
	case expr == "none":
		return SLO{text: expr, none: true}, nil
	case parts == nil:
		return SLO{}, fmt.Errorf("slo %q: expected METRIC OPERATOR LIMIT such as lateness.p99<=20ms; there is no operator <= < >= > ==", expr)
	}
	s := SLO{text: expr, metric: strings.TrimSpace(parts[1]), operator: parts[2]}
	limit, err := strings.TrimSpace(parts[3]), error(nil)
	if s.value = figures[s.metric]; s.value == nil {
		if s.value, err = ofHistogram(s.metric); err == nil {
			d, malformed := time.ParseDuration(limit)
			if s.limit = float64(d); malformed != nil {
				err = fmt.Errorf("expected a duration such as 20ms after %s, got %q", s.operator, limit)
			}
		}
	} else if figures[limit] != nil {
		s.limitOf = limit
	} else if s.limit, err = strconv.ParseFloat(limit, 64); err != nil || !Measured(s.limit) {
		err = fmt.Errorf("expected a number after %s, or a count such as offered, got %q%s",
			s.operator, limit, text.DidYouMean(limit, slices.Sorted(maps.Keys(figures))))
	}
	if err != nil {
		return SLO{}, fmt.Errorf("slo %q: %w", expr, err)
	}
	return s, nil
}

// quantileForm is p50, p99.9, or p999 for p99.9.
var quantileForm = regexp.MustCompile(`^p(?:(\d\d?)(?:\.(\d{1,6}))?|(9\d)(\d{1,6}))$`)

// ofHistogram returns the figure of a metric such as lateness.p99.
func ofHistogram(metric string) (figure, error) {
	name, stat, _ := strings.Cut(metric, ".")
	at := slices.IndexFunc(Distributions, func(d Distribution) bool { return d.Metric == name })
	if at < 0 {
		known, names := slices.Sorted(maps.Keys(figures)), []string(nil)
		for _, d := range Distributions {
			names = append(names, d.Metric)
		}
		return nil, fmt.Errorf("unknown metric %q%s; known are %s, and %s, each with one of %s",
			metric, text.DidYouMean(name, append(names, known...)), strings.Join(known, ", "), strings.Join(names, ", "), stats)
	}
	read := map[string]func(*Histogram) float64{
		"min": func(h *Histogram) float64 { return float64(h.Min()) }, "max": func(h *Histogram) float64 { return float64(h.Max()) }, "mean": (*Histogram).Mean,
	}[stat]
	if m := quantileForm.FindStringSubmatch(stat); m != nil {
		percent, _ := strconv.ParseFloat(m[1]+m[3]+"."+m[2]+m[4]+"0", 64) // of digits
		if percent > 0 {
			read = func(h *Histogram) float64 { return float64(h.Quantile(percent / 100)) }
		}
	}
	if read == nil {
		return nil, fmt.Errorf("expected one of %s behind the name, got %q", stats, stat)
	}
	return func(r *Document) float64 {
		if h := Distributions[at].Of(r.Histograms); h.Count() > 0 {
			return read(h)
		}
		return math.NaN()
	}, nil
}

// stats are the figures of a histogram.
const stats = ".min, .mean, .max, or a quantile: .p50, .p90, .p99, .p99.9, .p99.99 or any other"

// String returns the objective as it was given.
func (s SLO) String() string { return s.text }

// Evaluate compares the run's figure with the limit. A figure that the run did not measure misses it.
func (s SLO) Evaluate(r *Document) Objective {
	o := Objective{Expr: s.text, Metric: s.metric, LimitOf: s.limitOf}
	actual, limit := s.value(r), s.limit
	if s.limitOf != "" {
		limit = r.Figure(s.limitOf)
	}
	if Measured(limit) {
		o.Limit = limit
	}
	if Measured(actual) && Measured(limit) {
		o.Actual = &actual
		o.Met = actual == limit && strings.HasSuffix(s.operator, "=") || actual < limit && s.operator[0] == '<' || actual > limit && s.operator[0] == '>'
	}
	return o
}

// Measured reports whether a figure of a run is a number.
func Measured(figure float64) bool { return !math.IsNaN(figure) && !math.IsInf(figure, 0) }

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
	switch {
	case o.Actual == nil:
		return "not measured"
	case strings.Contains(o.Metric, "."): // of a histogram
		return FormatNs(int64(*o.Actual))
	case o.LimitOf != "":
		return fmt.Sprintf("%s, %s %s", number(*o.Actual), o.LimitOf, number(o.Limit))
	}
	return number(*o.Actual)
}

// number writes whole numbers in full, and others with six digits.
func number(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
