package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram bounds. Values above the highest are counted at the highest, and their exact maximum is kept.
const (
	lowestNs  = 64
	highestNs = int64(48 * time.Hour)
	digits    = 3 // significant decimal ones
	// maxEncodedHDR bounds the input of the decoder: a histogram of this package with every bucket in use stays below it.
	maxEncodedHDR = 1 << 20
)

// Histogram counts durations in nanoseconds, negative ones too.
//
// An HdrHistogram holds no negative values, so negative ones are kept by their absolute value in a second one; every quantile is
// taken over both. Minimum, maximum and sum are exact. A Histogram is not safe for use by several goroutines.
type Histogram struct {
	positive *hdr.Histogram
	negative *hdr.Histogram // nil until the first negative value
	min, max int64
	sum      float64
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{positive: newHDR()} }

func newHDR() *hdr.Histogram { return hdr.New(lowestNs, highestNs, digits) }

// Record counts one value in ns.
func (h *Histogram) Record(ns int64) {
	into, value := h.positive, ns
	if ns < 0 {
		into, value = h.below(), -max(ns, -highestNs)
	}
	_ = into.RecordValue(min(value, highestNs)) // which is inside the bounds
	h.note(1, ns, ns, float64(ns))
}

// below is the histogram of the negative values.
func (h *Histogram) below() *hdr.Histogram {
	if h.negative == nil {
		h.negative = newHDR()
	}
	return h.negative
}

// note adds values to the exact figures; they are counted already, n of them.
func (h *Histogram) note(n, low, high int64, sum float64) {
	if h.Count() == n {
		h.min, h.max = low, high
	}
	h.min, h.max = min(h.min, low), max(h.max, high)
	h.sum += sum
}

// Count returns the number of values; 0 of a nil histogram.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.positive.TotalCount() + h.negatives()
}

// Min returns the smallest value in ns, exactly; 0 if there is no value.
func (h *Histogram) Min() int64 { return h.min }

// Max returns the greatest value in ns, exactly; 0 if there is no value.
func (h *Histogram) Max() int64 { return h.max }

// Sum returns the sum of all values in ns.
func (h *Histogram) Sum() float64 { return h.sum }

// Mean returns the arithmetic mean in ns; 0 if there is no value.
func (h *Histogram) Mean() float64 { return h.sum / float64(max(h.Count(), 1)) }

// Quantile returns the value in ns that a share q (0 to 1) of all values do not exceed: the value of rank ceil(q·n), to
// the histogram's precision and never outside minimum and maximum. It returns 0 if there is no value.
func (h *Histogram) Quantile(q float64) int64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	rank := min(max(int64(math.Ceil(q*float64(n)-1e-6)), 1), n)
	negatives := h.negatives()
	at := func(of *hdr.Histogram, rank int64) int64 {
		return of.ValueAtPercentile(100 * float64(rank) / float64(of.TotalCount()))
	}
	if rank > negatives {
		return min(max(at(h.positive, rank-negatives), h.min), h.max)
	}
	return min(max(-at(h.negative, negatives-rank+1), h.min), h.max) // the smallest value is the greatest absolute one
}

func (h *Histogram) negatives() int64 {
	if h.negative == nil {
		return 0
	}
	return h.negative.TotalCount()
}

// Merge adds the counts of other, exactly: all histograms have the same bounds.
func (h *Histogram) Merge(other *Histogram) {
	if other.Count() == 0 {
		return
	}
	h.positive.Merge(other.positive)
	if other.negative != nil {
		h.below().Merge(other.negative)
	}
	h.note(other.Count(), other.min, other.max, other.sum)
}

// Buckets calls each with every bucket that holds values, from the smallest to the greatest: count values in ns lie in from…to, both included.
func (h *Histogram) Buckets(each func(from, to, count int64)) {
	if h.negative != nil {
		for _, bar := range slices.Backward(h.negative.Distribution()) {
			if bar.Count > 0 {
				each(-bar.To, -bar.From, bar.Count)
			}
		}
	}
	for _, bar := range h.positive.Distribution() {
		if bar.Count > 0 {
			each(bar.From, bar.To, bar.Count)
		}
	}
}

// histogramJSON is a Histogram in a run file. Times are in ns.
//
// hdr is the HdrHistogram V2 compressed form, in base64, of the values from 0 up; hdr_negative, left out when there are no
// others, of the absolute values of the negative ones. All else is over both.
type histogramJSON struct {
	Unit        string  `json:"unit"`
	Count       int64   `json:"count"`
	Min         int64   `json:"min"`
	Max         int64   `json:"max"`
	Mean        float64 `json:"mean"`
	P50         int64   `json:"p50"`
	P90         int64   `json:"p90"`
	P99         int64   `json:"p99"`
	P999        int64   `json:"p999"`
	P9999       int64   `json:"p9999"`
	HDR         string  `json:"hdr"`
	HDRNegative string  `json:"hdr_negative,omitempty"`
}

// MarshalJSON writes the form of the run file.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	out := histogramJSON{
		Unit: "ns", Count: h.Count(), Min: h.min, Max: h.max, Mean: h.Mean(),
		P50: h.Quantile(.5), P90: h.Quantile(.9), P99: h.Quantile(.99), P999: h.Quantile(.999), P9999: h.Quantile(.9999),
	}
	positive, err := h.positive.Encode(hdr.V2CompressedEncodingCookieBase)
	out.HDR = string(positive)
	if err == nil && h.negatives() > 0 {
		var negative []byte
		negative, err = h.negative.Encode(hdr.V2CompressedEncodingCookieBase)
		out.HDRNegative = string(negative)
	}
	if err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the form of the run file. The quantiles are computed from the encoded values; the stored median must agree.
func (h *Histogram) UnmarshalJSON(data []byte) (err error) {
	var in histogramJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	var read Histogram
	if read.positive, err = decodeHDR("hdr", in.HDR); err == nil && in.HDRNegative != "" {
		read.negative, err = decodeHDR("hdr_negative", in.HDRNegative)
	}
	if err != nil {
		return err
	}
	switch held := read.Count(); {
	case in.Unit != "ns":
		return fmt.Errorf("histogram: expected unit \"ns\", got %q", in.Unit)
	case held != in.Count:
		return fmt.Errorf("histogram: count says %d, but the encoded values are %d", in.Count, held)
	case in.Min > in.Max || math.IsNaN(in.Mean) || math.IsInf(in.Mean, 0):
		return fmt.Errorf("histogram: min %d, max %d and mean %v contradict each other", in.Min, in.Max, in.Mean)
	case in.Count > 0:
		read.note(in.Count, in.Min, in.Max, in.Mean*float64(in.Count))
	}
	if median := read.Quantile(.5); in.P50 != 0 && math.Abs(float64(in.P50-median)) > .01*math.Abs(float64(median))+2*lowestNs {
		return fmt.Errorf("histogram: p50 says %d, but the encoded values say %d", in.P50, median)
	}
	*h = read
	return nil
}

// decodeHDR reads a histogram, whatever its own bounds and digits, into one with the bounds of this package, so that all histograms can be merged.
func decodeHDR(field, encoded string) (*hdr.Histogram, error) {
	if len(encoded) > maxEncodedHDR {
		return nil, fmt.Errorf("histogram: %s is longer than %d characters", field, maxEncodedHDR)
	}
	decoded, err := hdr.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("histogram: %s is no HdrHistogram V2 in base64: %w", field, err)
	}
	own := newHDR()
	if dropped := own.Merge(decoded); dropped > 0 {
		return nil, fmt.Errorf("histogram: %s holds %d values above %d ns", field, dropped, highestNs)
	}
	return own, nil
}

// Histograms are the distributions of a run.
type Histograms struct {
	Lateness     *Histogram `json:"lateness"`                // delivered − due
	PastDue      *Histogram `json:"past_due,omitempty"`      // delivered − the due instant cut to its millisecond, which is the score in Redis
	OfferRTT     *Histogram `json:"offer_rtt"`               // how long an offer took, confirmed or not
	ResponseTime *Histogram `json:"response_time,omitempty"` // the offer's end − its intended instant: RTT and schedule lag of one offer together
	ScheduleLag  *Histogram `json:"schedule_lag"`            // actual − intended send instant
	RemoveRTT    *Histogram `json:"remove_rtt,omitempty"`    // how long a cancellation took; missing if no message was cancelled
}

// NewHistograms returns the histograms that every run has, empty.
func NewHistograms() Histograms {
	h := NewHistogram
	return Histograms{Lateness: h(), PastDue: h(), OfferRTT: h(), ResponseTime: h(), ScheduleLag: h()}
}

// A Distribution is a field of Histograms.
type Distribution struct {
	// Metric is the name in objectives and, with _seconds behind it, in metrics; Name and Help are for people.
	Metric, Name, Help string
	in                 func(*Histograms) **Histogram
}

// Of returns the histogram; nil if a run lacks it.
func (d Distribution) Of(h Histograms) *Histogram { return *d.in(&h) }

// The distributions.
var (
	Lateness     = Distribution{"lateness", "lateness", "delivered − due", func(h *Histograms) **Histogram { return &h.Lateness }}
	PastDue      = Distribution{"past_due", "past due", "delivered − the score in Redis", func(h *Histograms) **Histogram { return &h.PastDue }}
	OfferRTT     = Distribution{"offer_rtt", "offer RTT", "how long an offer took", func(h *Histograms) **Histogram { return &h.OfferRTT }}
	ResponseTime = Distribution{"response_time", "response time", "confirmed − intended send instant", func(h *Histograms) **Histogram { return &h.ResponseTime }}
	ScheduleLag  = Distribution{"schedule_lag", "schedule lag", "actual − intended send instant", func(h *Histograms) **Histogram { return &h.ScheduleLag }}
	RemoveRTT    = Distribution{"remove_rtt", "remove RTT", "how long a removal took", func(h *Histograms) **Histogram { return &h.RemoveRTT }}

	Distributions = []Distribution{Lateness, PastDue, OfferRTT, ResponseTime, ScheduleLag, RemoveRTT} // all, in the order that they are shown in
)

// LateOf returns the distribution that judges runs: PastDue if each of them has it, and else Lateness.
func LateOf(runs ...*Document) Distribution {
	for _, r := range runs {
		if h := r.Histograms; r.Format != RedissonFormat || h.PastDue == nil || h.PastDue.Count() != h.Lateness.Count() {
			return Lateness
		}
	}
	return PastDue
}

// Add adds the histograms of another part of a run.
func (h *Histograms) Add(part Histograms) {
	for _, d := range Distributions {
		into, from := d.in(h), *d.in(&part)
		if *into == nil && from != nil {
			*into = NewHistogram()
		}
		(*into).Merge(from)
	}
}

// LatenessLog collects lateness.hlog: an HdrHistogram interval log of format 1.3 with values in ns. Lines without a tag
// hold the deliveries at or after their due instant, lines tagged "early" the absolute values of earlier ones.
type LatenessLog struct {
	buffer bytes.Buffer
	writer *hdr.HistogramLogWriter
}

// NewLatenessLog starts a log at the given instant.
func NewLatenessLog(start time.Time) *LatenessLog {
	l := &LatenessLog{}
	l.writer = hdr.NewHistogramLogWriter(&l.buffer) // of which nothing fails
	_ = l.writer.OutputComment("[Lateness in ns; Interval_Max in ms; lines tagged early hold absolute values]")
	_ = l.writer.OutputLogFormatVersion()
	// The library's own start line is cut to whole seconds, and intervals start with absolute times, so the instant is
	// given in the form Java writes.
	ms := start.UnixMilli()
	fmt.Fprintf(&l.buffer, "#[StartTime: %d.%03d (seconds since epoch), %s]\n", ms/1000, ms%1000, start.UTC().Format(time.RFC3339Nano))
	_ = l.writer.OutputLegend()
	return l
}

// Add appends one interval. An interval without values has a line too.
func (l *LatenessLog) Add(from, to time.Time, h *Histogram) {
	values := []*hdr.Histogram{h.positive}
	if h.negative != nil {
		h.negative.SetTag("early")
		values = append(values, h.negative)
	}
	for _, of := range values {
		of.SetStartTimeMs(from.UnixMilli())
		of.SetEndTimeMs(to.UnixMilli())
		_ = l.writer.OutputIntervalHistogram(of)
	}
}

// Bytes returns the log so far.
func (l *LatenessLog) Bytes() []byte { return l.buffer.Bytes() }

// spectrum is the percentile distribution of h in ms, in the layout of HdrHistogram's .hgrm files; early deliveries are 0.
func (h *Histogram) spectrum() []byte {
	all := newHDR()
	all.Merge(h.positive)
	_ = all.RecordValues(0, h.negatives()) // which is inside the bounds
	var out bytes.Buffer
	const ticks = 5                                                     // for each halving of the distance to 100 %, as HdrHistogram's own tools print it
	_, _ = all.PercentilesPrint(&out, ticks, float64(time.Millisecond)) // to memory
	return out.Bytes()
}

// FormatNs writes a time in ns with three significant digits and the unit that suits it: "-312 µs", "1.62 ms", "47.3 s".
func FormatNs(ns int64) string {
	for i, unit := range []string{"s", "ms", "µs"} {
		v, digits := float64(ns)/[]float64{1e9, 1e6, 1e3}[i], 2
		for a := math.Abs(v); a >= 9.995 && digits > 0; a /= 10 {
			digits--
		}
		if math.Abs(v) >= .9995 { // 999.6 µs rounds to 1.00 ms, not to 1000 µs
			return fmt.Sprintf("%.*f %s", digits, v, unit)
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
