package run

import (
	"fmt"
	"math"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram bounds. Values above the highest are counted at the highest, and
// their exact maximum is kept beside.
const (
	lowestNs  = 64
	highestNs = int64(48 * time.Hour)
)

// Precision of a histogram in significant decimal digits.
const (
	// TotalDigits is the precision of the histograms in a run file.
	TotalDigits = 3
	// IntervalDigits is the precision of the histograms of single seconds, which
	// there are many of: a tenth of the memory of TotalDigits.
	IntervalDigits = 2
)

// Histogram counts durations in nanoseconds, negative ones too.
//
// An HdrHistogram holds no negative values, so those are kept by their absolute
// value in a second one; every quantile is taken over both. Minimum, maximum and
// sum are exact. A Histogram is not safe for use by several goroutines.
type Histogram struct {
	digits   int
	positive *hdr.Histogram
	negative *hdr.Histogram // nil until the first negative value
	count    int64
	min, max int64
	sum      float64
}

// NewHistogram returns an empty histogram of TotalDigits or IntervalDigits.
func NewHistogram(digits int) *Histogram {
	return &Histogram{digits: digits, positive: hdr.New(lowestNs, highestNs, digits)}
}

// Record counts one value in ns.
func (h *Histogram) Record(ns int64) {
	if ns < 0 {
		if h.negative == nil {
			h.negative = hdr.New(lowestNs, highestNs, h.digits)
		}
		recordClamped(h.negative, -max(ns, -highestNs))
	} else {
		recordClamped(h.positive, ns)
	}
	h.note(1, ns, ns, float64(ns))
}

// recordClamped cannot fail: the value is inside the histogram's bounds.
func recordClamped(h *hdr.Histogram, ns int64) {
	_ = h.RecordValue(min(ns, highestNs))
}

// note adds n values to the exact figures.
func (h *Histogram) note(n, low, high int64, sum float64) {
	if h.count == 0 {
		h.min, h.max = low, high
	} else {
		h.min, h.max = min(h.min, low), max(h.max, high)
	}
	h.count += n
	h.sum += sum
}

// Count returns the number of values.
func (h *Histogram) Count() int64 { return h.count }

// Min returns the smallest value in ns, exactly; 0 if there is none.
func (h *Histogram) Min() int64 { return h.min }

// Max returns the greatest value in ns, exactly; 0 if there is none.
func (h *Histogram) Max() int64 { return h.max }

// Mean returns the arithmetic mean in ns; 0 if there is no value.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// Quantile returns the value in ns that a share q (0 to 1) of all values do not
// exceed: the value of rank ceil(q·n), to the histogram's precision and never
// outside minimum and maximum. It returns 0 if there is no value.
func (h *Histogram) Quantile(q float64) int64 {
	if h.count == 0 {
		return 0
	}
	rank := int64(math.Ceil(q*float64(h.count) - 1e-6))
	rank = min(max(rank, 1), h.count)
	return min(max(h.atRank(rank), h.min), h.max)
}

// ShareUpTo returns which share of the values, 0 to 1, do not exceed ns, to the
// histogram's precision; 1 if there is no value.
func (h *Histogram) ShareUpTo(ns int64) float64 {
	low, high := int64(0), h.count // the greatest rank whose value does not exceed ns
	for low < high {
		middle := low + (high-low+1)/2
		if min(max(h.atRank(middle), h.min), h.max) <= ns {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if h.count == 0 {
		return 1
	}
	return float64(low) / float64(h.count)
}

// atRank returns the value of the given rank, 1 being the smallest.
func (h *Histogram) atRank(rank int64) int64 {
	negatives := h.negatives()
	if rank > negatives {
		return valueAtRank(h.positive, rank-negatives)
	}
	// The smallest value is the greatest absolute one.
	return -valueAtRank(h.negative, negatives-rank+1)
}

func valueAtRank(h *hdr.Histogram, rank int64) int64 {
	return h.ValueAtPercentile(100 * float64(rank) / float64(h.TotalCount()))
}

func (h *Histogram) negatives() int64 {
	if h.negative == nil {
		return 0
	}
	return h.negative.TotalCount()
}

// Merge adds the counts of other, exactly. It fails if other holds values that
// this histogram has no bucket for, which histograms of this package never do.
func (h *Histogram) Merge(other *Histogram) error {
	if other == nil || other.count == 0 {
		return nil
	}
	if dropped := h.positive.Merge(other.positive); dropped > 0 {
		return fmt.Errorf("merge histograms: %d values lie outside 0…%s", dropped, time.Duration(highestNs))
	}
	if other.negative != nil {
		if h.negative == nil {
			h.negative = hdr.New(lowestNs, highestNs, h.digits)
		}
		if dropped := h.negative.Merge(other.negative); dropped > 0 {
			return fmt.Errorf("merge histograms: %d values lie outside -%s…0", dropped, time.Duration(highestNs))
		}
	}
	h.note(other.count, other.min, other.max, other.sum)
	return nil
}

// Reset forgets every value and keeps the memory.
func (h *Histogram) Reset() {
	h.positive.Reset()
	if h.negative != nil {
		h.negative.Reset()
	}
	h.count, h.min, h.max, h.sum = 0, 0, 0, 0
}
