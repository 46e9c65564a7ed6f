package run

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// Buckets calls each with every bucket that holds values, from the smallest to the
// greatest: count values in ns lie in from…to, both included.
func (h *Histogram) Buckets(each func(from, to, count int64)) {
	if h.negative != nil {
		bars := filledBars(h.negative)
		for i := len(bars) - 1; i >= 0; i-- {
			each(-bars[i].To, -bars[i].From, bars[i].Count)
		}
	}
	for _, bar := range filledBars(h.positive) {
		each(bar.From, bar.To, bar.Count)
	}
}

func filledBars(h *hdr.Histogram) []hdr.Bar {
	var bars []hdr.Bar
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			bars = append(bars, bar)
		}
	}
	return bars
}

// Sum returns the sum of all values in ns.
func (h *Histogram) Sum() float64 { return h.sum }
