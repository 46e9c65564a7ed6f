package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var l lateness
	var all []int64
	for range 10_000 {
		v := int64(random.ExpFloat64()*50_000) - 1_000
		l.add(v)
		all = append(all, v)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		exact := all[int(math.Ceil(q*float64(len(all))))-1]
		require.InDelta(t, exact, l.quantile(q), math.Abs(float64(exact))*0.016+1, "%v", q)
	}
	require.Equal(t, all[len(all)-1], l.max)
}

func TestBucketsCoverAllValues(t *testing.T) {
	for _, v := range []int64{0, 1, 63, 64, 65, 127, 128, 1 << 40, math.MaxInt64} {
		require.InDelta(t, float64(v), float64(middleOf(bucketOf(v))), float64(v)*0.016, "%d", v)
		require.Equal(t, -bucketOf(v), bucketOf(-v))
	}
	require.Equal(t, bucketOf(-math.MaxInt64), bucketOf(math.MinInt64))
}

// ready does what Redis does to a list.
func TestReadyIsAList(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var r ready
	var list []uint64
	drop := func(element) {}
	for step := range 20_000 {
		v := random.Uint64N(5)
		switch random.IntN(8) {
		case 0, 1, 2:
			r.push(element{value: v})
			list = append(list, v)
		case 3:
			r.push(element{value: v, front: true})
			list = append([]uint64{v}, list...)
		case 4, 5:
			back := random.IntN(2) == 0
			e, ok := r.pop(back)
			require.Equal(t, len(list) > 0, ok)
			if ok && back {
				require.Equal(t, list[len(list)-1], e.value)
				list = list[:len(list)-1]
			} else if ok {
				require.Equal(t, list[0], e.value)
				list = list[1:]
			}
		case 6:
			n := random.Int64N(5) - 2
			r.remove(v, n, drop)
			list = removed(list, v, n)
		case 7:
			if step%20 == 0 {
				start, stop := random.Int64N(9)-4, random.Int64N(40)-20
				r.trim(start, stop, drop)
				list = trimmed(list, start, stop)
			}
		}
		require.Equal(t, len(list), r.len())
		for i, e := range r.items[r.head:] {
			require.Equal(t, list[i], e.value)
		}
	}
}

// removed is LREM by the words of its documentation.
func removed(list []uint64, v uint64, n int64) []uint64 {
	list = slices.Clone(list)
	if n < 0 {
		slices.Reverse(list)
		list = removed(list, v, -n)
		slices.Reverse(list)
		return list
	}
	left := n
	return slices.DeleteFunc(list, func(of uint64) bool {
		if of != v || n > 0 && left == 0 {
			return false
		}
		left--
		return true
	})
}

// trimmed is LTRIM.
func trimmed(list []uint64, start, stop int64) []uint64 {
	var kept []uint64
	n := int64(len(list))
	if start < 0 {
		start += n
	}
	if stop < 0 {
		stop += n
	}
	for i, v := range list {
		if int64(i) >= start && int64(i) <= stop {
			kept = append(kept, v)
		}
	}
	return kept
}

// Lives are evenly spread over the messages of a queue, however many there are.
func TestLivesAreSpread(t *testing.T) {
	l := lives{drawn: true}
	const messages = 100_000
	for n := range int64(messages) {
		l.begin(Life{Line: n + 1, Offered: n + 1})
	}
	list := l.list()
	require.LessOrEqual(t, len(list), maxLives)
	require.Greater(t, len(list), maxLives/2-1)
	for i := 1; i < len(list); i++ {
		require.Equal(t, l.step, list[i].Line-list[i-1].Line)
	}
}

func TestFindingsKeepTheGravest(t *testing.T) {
	f := findings{counts: map[Kind]int64{}, kept: map[findingKey][]*Anomaly{}}
	q := &queue{name: "orders"}
	for i := range int64(1_000) {
		f.add(Overdue, q, i, i*37%1_000, func() (string, []LineOf) { return "", nil })
	}
	require.EqualValues(t, 1_000, f.counts[Overdue])
	list := f.list()
	require.Len(t, list, maxExamples)
	for _, a := range list {
		require.GreaterOrEqual(t, a.weight, int64(1_000-maxExamples))
	}
}
