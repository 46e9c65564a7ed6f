package run

import (
	"bytes"
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

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

// ticks is how many points a spectrum has per halving of the distance to 100 %, as HdrHistogram's own tools print it.
const ticks = 5

// spectrum is the percentile distribution of h in ms, in the layout of HdrHistogram's .hgrm files; early deliveries are 0.
func (h *Histogram) spectrum() []byte {
	all := newHDR()
	all.Merge(h.positive)
	_ = all.RecordValues(0, h.negatives()) // which is inside the bounds
	var out bytes.Buffer
	_, _ = all.PercentilesPrint(&out, ticks, float64(time.Millisecond)) // to memory
	return out.Bytes()
}
