package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	// minBandSeconds is how many seconds with deliveries a band needs.
	minBandSeconds = 6
	// blocksOfRun is into how many blocks a run's seconds are cut: neighbours are
	// alike, and one block must hold what they have in common.
	blocksOfRun = 6
)

// Bands are, for quantiles of lateness by name, where the quantile of one run would
// lie in 95 % of the resamples of its own seconds, in ns. They show how the run
// wandered, and say nothing about the next run: no resampling of one run can see
// what differs between runs.
type Bands map[string]stats.Interval

// bandsOf resamples the seconds of the run's lateness.hlog. It is nil if the run was
// not read from a folder that has one, and for a run with too few seconds.
func bandsOf(r *run.Document) (Bands, error) {
	if filepath.Base(r.Path()) != run.File {
		return nil, nil
	}
	path := filepath.Join(filepath.Dir(r.Path()), run.LogFile)
	log, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lateness log: %w", err)
	}
	defer log.Close()
	var s seconds
	if err := run.ReadLatenessLog(log, s.add); err != nil {
		return nil, fmt.Errorf("lateness log %s: %w", path, err)
	}
	return s.bands(), nil
}

// seconds are histograms in a form that is small, and quick to add up.
type seconds struct {
	filled [][]bucket
	count  int64
	// values are those of the buckets that any second uses, in ascending order; sums
	// are what a resample holds of each.
	values, sums []int64
}

// bucket holds how many values there are of one; place is where values has it.
type bucket struct {
	value, count int64
	place        int
}

// add takes over a second in which something was delivered.
func (s *seconds) add(h *run.Histogram) {
	if h.Count() == 0 {
		return
	}
	var filled []bucket
	h.Buckets(func(_, to, count int64) { filled = append(filled, bucket{value: to, count: count}) })
	s.filled = append(s.filled, filled)
	s.count += h.Count()
}

func (s *seconds) bands() Bands {
	if len(s.filled) < minBandSeconds {
		return nil
	}
	s.index()
	var judged []float64
	for _, q := range run.Quantiles {
		if run.Bears(s.count, q) {
			judged = append(judged, q)
		}
	}
	block := max(1, int(math.Round(float64(len(s.filled))/blocksOfRun)))
	intervals := stats.BlockBootstrap(len(s.filled), block, 1-significance, func(places []int) []float64 { return s.quantiles(places, judged) })
	bands := Bands{}
	for i, interval := range intervals {
		bands[run.QuantileName(judged[i])] = interval
	}
	return bands
}

// index gives every bucket its place.
func (s *seconds) index() {
	for _, second := range s.filled {
		for _, b := range second {
			s.values = append(s.values, b.value)
		}
	}
	slices.Sort(s.values)
	s.values = slices.Compact(s.values)
	s.sums = make([]int64, len(s.values))
	for _, second := range s.filled {
		for i := range second {
			second[i].place, _ = slices.BinarySearch(s.values, second[i].value)
		}
	}
}

// quantiles are those of the seconds at these places, together; they must ascend.
func (s *seconds) quantiles(places []int, quantiles []float64) []float64 {
	clear(s.sums)
	total := int64(0)
	for _, p := range places {
		for _, b := range s.filled[p] {
			s.sums[b.place] += b.count
			total += b.count
		}
	}
	found := make([]float64, 0, len(quantiles))
	below := int64(0)
	for i, n := range s.sums {
		below += n
		for len(found) < len(quantiles) && float64(below) >= quantiles[len(found)]*float64(total)-1e-6 {
			found = append(found, float64(s.values[i]))
		}
	}
	return found
}
