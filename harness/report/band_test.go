package report

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writtenRun writes a run file set of so many seconds, each with a level of its own,
// and reads the run file again.
func writtenRun(t *testing.T, seed uint64, seconds int) *Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	r := sampleRun(seed, 0, 1)
	log, err := NewLatenessLog(r.Started)
	require.NoError(t, err)
	for s := range seconds {
		h := NewHistogram(IntervalDigits)
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
	require.NoError(t, WriteFolder(folder, r, log))
	read, err := ReadFile(filepath.Join(folder, RunFile))
	require.NoError(t, err)
	return read
}

func TestOneRunASideShowsItsBands(t *testing.T) {
	old, new := writtenRun(t, 1, 12), writtenRun(t, 2, 12)
	c := compare(t, []*Run{old}, []*Run{new})
	require.Equal(t, Inconclusive, c.Outcome, "bands are no judgement")
	for _, side := range []ComparisonSide{c.Old, c.New} {
		require.Len(t, side.Bands, 3, "6000 messages bear p50, p90 and p99")
	}
	for _, q := range []float64{.5, .9, .99} {
		band := c.Old.Bands[QuantileName(q)]
		value := float64(old.Histograms.Lateness.Quantile(q))
		require.Less(t, band.Low, band.High)
		require.InDelta(t, value, (band.Low+band.High)/2, value/4+20e3, "around the run's own")
	}
	var text, markdown strings.Builder
	require.NoError(t, c.WriteText(&text))
	require.NoError(t, c.WriteMarkdown(&markdown))
	for _, out := range []string{text.String(), markdown.String()} {
		require.Contains(t, out, "within-run only")
		require.Contains(t, out, c.New.Bands.text("p99"))
	}
	require.Equal(t, c, compare(t, []*Run{old}, []*Run{new}), "the same runs give the same bands")
}

func TestBandsNeedSeconds(t *testing.T) {
	for name, r := range map[string]*Run{"few": writtenRun(t, 1, 5), "no folder": sampleRun(1, 100, 1)} {
		bands, err := r.bands()
		require.NoError(t, err, name)
		require.Nil(t, bands, name)
	}
	several := []*Run{writtenRun(t, 1, 12), writtenRun(t, 2, 12)}
	require.Nil(t, compare(t, several, again(several)).Old.Bands, "what differs between runs is seen between runs")
}

func TestDamagedLogIsRefused(t *testing.T) {
	r := writtenRun(t, 1, 12)
	path := filepath.Join(filepath.Dir(r.file), LogFile)
	for _, damage := range []string{"1.0,1.0,1.0", "Tag=early,1.0,1.0,1.0,HISTFAAA", "1.0,1.0,1.0,HISTFAAA", "\x00"} {
		require.NoError(t, os.WriteFile(path, []byte("#[comment]\n"+damage+"\n"), 0o600))
		_, err := Compare([]*Run{r}, again([]*Run{r}), DefaultCompareOptions())
		require.ErrorContains(t, err, LogFile, damage)
		require.ErrorContains(t, err, "line 2", damage)
	}
}

func FuzzReadLatenessLog(f *testing.F) {
	log, err := NewLatenessLog(time.Unix(1793534400, 0))
	require.NoError(f, err)
	h := NewHistogram(IntervalDigits)
	h.Record(1e6)
	h.Record(-1e5)
	require.NoError(f, log.Add(time.Unix(1793534400, 0), time.Unix(1793534401, 0), h))
	f.Add(log.Bytes())
	f.Add([]byte("Tag=early,1,1,1,HISTFAAA"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		var s seconds
		if ReadLatenessLog(bytes.NewReader(data), s.add) == nil {
			s.bands()
		}
	})
}
