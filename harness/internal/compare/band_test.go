package compare

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// writtenRun writes a run file set of so many seconds, each with a level of its own,
// and reads the run file again.
func writtenRun(t *testing.T, seed uint64, seconds int) *run.Document {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	r := runtest.Sample(seed, 0, 1)
	log, err := run.NewLatenessLog(r.Started)
	require.NoError(t, err)
	for s := range seconds {
		h := run.NewHistogram(run.IntervalDigits)
		level := 1 + .2*rng.Float64()
		for range 500 {
			h.Record(int64(level*1e6*rng.ExpFloat64()) - 200_000)
		}
		from := r.Started.Add(time.Duration(s) * time.Second)
		require.NoError(t, log.Add(from, from.Add(time.Second), h))
		require.NoError(t, r.Histograms.Lateness.Merge(h))
	}
	r.Counts.Offered, r.Counts.Delivered = r.Histograms.Lateness.Count(), r.Histograms.Lateness.Count()
	folder := t.TempDir()
	require.NoError(t, run.WriteFolder(folder, r, log))
	read, err := run.ReadFile(filepath.Join(folder, run.File))
	require.NoError(t, err)
	return read
}

func TestOneRunASideShowsItsBands(t *testing.T) {
	old, new := writtenRun(t, 1, 12), writtenRun(t, 2, 12)
	c := compare(t, []*run.Document{old}, []*run.Document{new})
	require.Equal(t, Inconclusive, c.Outcome, "bands are no judgement")
	for _, side := range []Side{c.Old, c.New} {
		require.Len(t, side.Bands, 3, "6000 messages bear p50, p90 and p99")
	}
	for _, q := range []float64{.5, .9, .99} {
		band := c.Old.Bands[run.QuantileName(q)]
		value := float64(old.Histograms.Lateness.Quantile(q))
		require.Less(t, band.Low, band.High)
		require.InDelta(t, value, (band.Low+band.High)/2, value/4+20e3, "around the run's own")
	}
	again := compare(t, []*run.Document{old}, []*run.Document{new})
	require.Equal(t, []Side{c.Old, c.New}, []Side{again.Old, again.New}, "the same runs give the same bands")
}

func TestBandsNeedSeconds(t *testing.T) {
	for name, r := range map[string]*run.Document{"few": writtenRun(t, 1, 5), "no folder": runtest.Sample(1, 100, 1)} {
		bands, err := bandsOf(r)
		require.NoError(t, err, name)
		require.Nil(t, bands, name)
	}
	several := []*run.Document{writtenRun(t, 1, 12), writtenRun(t, 2, 12)}
	require.Nil(t, compare(t, several, again(several)).Old.Bands, "what differs between runs is seen between runs")
}

func TestDamagedLogIsRefused(t *testing.T) {
	r := writtenRun(t, 1, 12)
	path := filepath.Join(filepath.Dir(r.Path()), run.LogFile)
	for _, damage := range []string{"1.0,1.0,1.0", "Tag=early,1.0,1.0,1.0,HISTFAAA", "1.0,1.0,1.0,HISTFAAA", "\x00"} {
		require.NoError(t, os.WriteFile(path, []byte("#[comment]\n"+damage+"\n"), 0o600))
		_, err := Runs([]*run.Document{r}, again([]*run.Document{r}), DefaultOptions())
		require.ErrorContains(t, err, run.LogFile, damage)
		require.ErrorContains(t, err, "line 2", damage)
	}
}

func FuzzReadLatenessLog(f *testing.F) {
	log, err := run.NewLatenessLog(time.Unix(1793534400, 0))
	require.NoError(f, err)
	h := run.NewHistogram(run.IntervalDigits)
	h.Record(1e6)
	h.Record(-1e5)
	require.NoError(f, log.Add(time.Unix(1793534400, 0), time.Unix(1793534401, 0), h))
	f.Add(log.Bytes())
	f.Add([]byte("Tag=early,1,1,1,HISTFAAA"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var s seconds
		if run.ReadLatenessLog(bytes.NewReader(data), s.add) == nil {
			s.bands()
		}
	})
}
