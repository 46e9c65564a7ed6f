package analysis

import (
	"math"
	"math/bits"
	"slices"
)

// lateness counts durations in µs, negative ones too, in buckets no wider than 1.6 % of
// the value. It holds only buckets that are used, for a log may have thousands of queues.
type lateness struct {
	buckets map[int16]int64
	count   int64
	max     int64
}

// bucketBits is how many bits of a value, after its first one, a bucket keeps.
const bucketBits = 6

func (l *lateness) add(us int64) {
	if l.count == 0 {
		l.buckets, l.max = map[int16]int64{}, us
	}
	l.buckets[bucketOf(us)]++
	l.count++
	l.max = max(l.max, us)
}

// quantile returns the q-th quantile in µs: the middle of its bucket, and the largest
// value itself where that is nearer to the end.
func (l *lateness) quantile(q float64) int64 {
	keys := make([]int16, 0, len(l.buckets))
	for k := range l.buckets {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	rank := max(1, int64(math.Ceil(q*float64(l.count))))
	for _, k := range keys {
		if rank -= l.buckets[k]; rank <= 0 {
			return min(middleOf(k), l.max)
		}
	}
	return l.max
}

// bucketOf is odd: that of -v is the negative of that of v.
func bucketOf(v int64) int16 {
	switch {
	case v == math.MinInt64:
		v++
		fallthrough
	case v < 0:
		return -bucketOf(-v)
	case v < 1<<bucketBits:
		return int16(v)
	}
	shift := bits.Len64(uint64(v)) - 1 - bucketBits
	return int16((shift+1)<<bucketBits + int(v>>shift) - 1<<bucketBits)
}

func middleOf(k int16) int64 {
	switch {
	case k < 0:
		return -middleOf(-k)
	case k < 1<<bucketBits:
		return int64(k)
	}
	shift := int(k)>>bucketBits - 1
	low := int64(1<<bucketBits+int(k)&(1<<bucketBits-1)) << shift
	return low + int64(1)<<shift/2
}
