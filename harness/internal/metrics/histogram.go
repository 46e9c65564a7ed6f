package metrics

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	// schema 3 makes the bounds of native buckets 2^(1/8) apart: 9 %.
	schema = 3
	// zeroThreshold is where the histograms of a run file begin to tell values apart.
	zeroThreshold = 64e-9
)

// classicBounds are the buckets in seconds for scrapers that know no native
// histograms. 0 is there so that early deliveries stand apart, and 1 ms because it
// is the resolution of the format.
var classicBounds = []float64{
	-.001, 0, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
}

// histogram is a native histogram that has classic buckets as well, which the
// client library does not make out of finished counts.
type histogram struct {
	prometheus.Metric
	classic []*dto.Bucket
}

// newHistogram counts a value where the middle of its bucket in h lies, which is
// off by 0.5 % at most.
func newHistogram(desc *prometheus.Desc, h *run.Histogram, since time.Time, labels []string) prometheus.Metric {
	positive, negative := map[int]int64{}, map[int]int64{}
	zero := uint64(0)
	counts := make([]uint64, len(classicBounds))
	h.Buckets(func(from, to, count int64) {
		value := seconds(float64(from)/2 + float64(to)/2)
		if math.Abs(value) <= zeroThreshold {
			value = 0
		}
		switch {
		case value == 0:
			zero += uint64(count)
		case value > 0:
			positive[bucketOf(value)] += count
		default:
			negative[bucketOf(-value)] += count
		}
		if i, _ := slices.BinarySearch(classicBounds, value); i < len(counts) {
			counts[i] += uint64(count)
		}
	})
	native, err := prometheus.NewConstNativeHistogram(desc, uint64(h.Count()), seconds(h.Sum()),
		positive, negative, zero, schema, zeroThreshold, since, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return &histogram{Metric: native, classic: cumulative(counts)}
}

// bucketOf is the index of the native bucket that holds a value above 0: the
// bucket i reaches from 2^((i-1)/8), not included, to 2^(i/8).
func bucketOf(value float64) int {
	return int(math.Ceil(math.Log2(value) * (1 << schema)))
}

// cumulative makes classic buckets, each of which holds those before it too.
func cumulative(counts []uint64) []*dto.Bucket {
	buckets := make([]*dto.Bucket, len(counts))
	total := uint64(0)
	for i, n := range counts {
		total += n
		sum, bound := total, classicBounds[i]
		buckets[i] = &dto.Bucket{CumulativeCount: &sum, UpperBound: &bound}
	}
	return buckets
}

// Write implements prometheus.Metric.
func (h *histogram) Write(out *dto.Metric) error {
	if err := h.Metric.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = h.classic
	return nil
}
