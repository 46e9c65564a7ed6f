package run

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// LatenessLog collects lateness.hlog: an HdrHistogram interval log of format
// 1.3 with values in ns. Lines without a tag hold the deliveries at or after
// their due instant, lines tagged "early" the absolute values of those before.
type LatenessLog struct {
	buffer bytes.Buffer
	writer *hdr.HistogramLogWriter
}

// NewLatenessLog starts a log at the given instant.
func NewLatenessLog(start time.Time) (*LatenessLog, error) {
	l := &LatenessLog{}
	l.writer = hdr.NewHistogramLogWriter(&l.buffer)
	// The library's own start line is cut to whole seconds, and intervals start
	// with absolute times, so the instant is given in the form Java writes.
	ms := start.UnixMilli()
	steps := []error{
		l.writer.OutputComment("[Lateness in ns; Interval_Max in ms; lines tagged early hold absolute values]"),
		l.writer.OutputLogFormatVersion(),
		l.line("#[StartTime: %d.%03d (seconds since epoch), %s]\n", ms/1000, ms%1000, start.UTC().Format(time.RFC3339Nano)),
		l.writer.OutputLegend(),
	}
	for _, err := range steps {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", LogFile, err)
		}
	}
	return l, nil
}

func (l *LatenessLog) line(format string, args ...any) error {
	_, err := fmt.Fprintf(&l.buffer, format, args...)
	return err
}

// Add appends one interval. An interval without values has a line too.
func (l *LatenessLog) Add(from, to time.Time, h *Histogram) error {
	if err := l.add(h.positive, from, to, ""); err != nil {
		return err
	}
	if h.negatives() == 0 {
		return nil
	}
	return l.add(h.negative, from, to, "early")
}

func (l *LatenessLog) add(h *hdr.Histogram, from, to time.Time, tag string) error {
	h.SetStartTimeMs(from.UnixMilli())
	h.SetEndTimeMs(to.UnixMilli())
	h.SetTag(tag)
	if err := l.writer.OutputIntervalHistogram(h); err != nil {
		return fmt.Errorf("%s: %w", LogFile, err)
	}
	return nil
}

// Bytes returns the log so far.
func (l *LatenessLog) Bytes() []byte { return l.buffer.Bytes() }

// ReadLatenessLog reads what a LatenessLog wrote, and calls each with the histogram
// of every interval, one after the other. It fails on a line that is neither a
// comment nor an interval.
func ReadLatenessLog(source io.Reader, each func(*Histogram)) error {
	lines := bufio.NewScanner(io.LimitReader(source, maxLogFileSize))
	lines.Buffer(nil, maxEncodedHDR+1024)
	var interval *Histogram
	for number := 1; lines.Scan(); number++ {
		line, early := strings.CutPrefix(lines.Text(), "Tag=early,")
		if line == "" || line[0] == '#' || line[0] == '"' {
			continue
		}
		fields := strings.Split(line, ",")
		if len(fields) != 4 || early && interval == nil {
			return fmt.Errorf("line %d: expected start, length, maximum and histogram of an interval, got %.80q", number, lines.Text())
		}
		values, err := decodeHDR("interval", fields[3])
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if !early {
			if interval != nil {
				each(interval)
			}
			interval = NewHistogram(TotalDigits)
		}
		interval.addInterval(values, early)
	}
	if interval != nil {
		each(interval)
	}
	return lines.Err()
}

// addInterval takes over buckets; what is exact in a run file is as exact as its
// bucket here.
func (h *Histogram) addInterval(values *hdr.Histogram, early bool) {
	n := values.TotalCount()
	if n == 0 {
		return
	}
	low, high, sum := values.Min(), values.Max(), values.Mean()*float64(n)
	if early {
		h.negative = values
		low, high, sum = -high, -low, -sum
	} else {
		h.positive = values
	}
	h.note(n, low, high, sum)
}

// spectrumTicks is how many points a spectrum has per halving of the distance to
// 100 %, the resolution HdrHistogram's own tools print.
const spectrumTicks = 5

// SpectrumPoint is one point of a percentile distribution: the value in ns of
// the given rank, which lies at percentile.
type SpectrumPoint struct {
	Percentile  float64
	rank, Value int64
}

// Spectrum returns the percentile distribution of h; its last point is the
// maximum, at 100 %. It is empty if there is no value.
func (h *Histogram) Spectrum() []SpectrumPoint {
	var points []SpectrumPoint
	for percentile := 0.0; h.Count() > 0; {
		rank := max(int64(math.Ceil(percentile/100*float64(h.Count())-1e-6)), 1)
		if rank >= h.Count() {
			return append(points, SpectrumPoint{100, h.Count(), h.Max()})
		}
		points = append(points, SpectrumPoint{percentile, rank, h.Quantile(percentile / 100)})
		halvings := math.Floor(math.Log2(100/(100-percentile))) + 1
		percentile += 100 / (spectrumTicks * math.Exp2(halvings))
	}
	return nil
}

// WriteSpectrum writes the percentile distribution of h in ms, in the layout of
// HdrHistogram's .hgrm files.
func WriteSpectrum(w io.Writer, h *Histogram) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	const ms = float64(time.Millisecond)
	for _, p := range h.Spectrum() {
		inverse := "inf"
		if p.Percentile < 100 {
			inverse = fmt.Sprintf("%.2f", 100/(100-p.Percentile))
		}
		fmt.Fprintf(&out, "%12.3f %2.12f %10d %14s\n", float64(p.Value)/ms, p.Percentile/100, p.rank, inverse)
	}
	fmt.Fprintf(&out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", h.Mean()/ms, h.stdDev()/ms)
	fmt.Fprintf(&out, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/ms, h.Count())
	_, err := w.Write(out.Bytes())
	return err
}

// stdDev is the standard deviation in ns, to the histogram's precision.
func (h *Histogram) stdDev() float64 {
	if h.count == 0 {
		return 0
	}
	mean, squares := h.Mean(), 0.0
	add := func(part *hdr.Histogram, sign float64) {
		for _, bar := range part.Distribution() {
			if bar.Count > 0 {
				deviation := sign*float64(bar.From+bar.To)/2 - mean
				squares += float64(bar.Count) * deviation * deviation
			}
		}
	}
	add(h.positive, 1)
	if h.negative != nil {
		add(h.negative, -1)
	}
	return math.Sqrt(squares / float64(h.count))
}
