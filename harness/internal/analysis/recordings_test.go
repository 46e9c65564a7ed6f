package analysis_test

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/recordings"
)

// open opens a recording of Redisson or, of documents/, a document's.
func open(file string) (fs.File, error) {
	if strings.HasPrefix(file, "documents/") {
		return recordings.Files.Open(file)
	}
	return recordings.Redisson().Open(file)
}

// analyse takes in files of the recordings.
func analyse(t *testing.T, files ...string) *analysis.Document {
	t.Helper()
	r := &analysis.Reader{Analysis: analysis.New()}
	for _, file := range files {
		f, err := open(file)
		require.NoError(t, err)
		require.NoError(t, r.Log(t.Context(), opened(f)))
		require.NoError(t, f.Close())
		r.End()
	}
	return r.Document()
}

func release(t *testing.T, s string) wire.Release {
	t.Helper()
	r, err := wire.ParseRelease(s)
	require.NoError(t, err)
	return r
}

func contains(t *testing.T, ranges []analysis.Range, r wire.Release) bool {
	t.Helper()
	for _, in := range ranges {
		if r.AtLeast(release(t, in.From)) && release(t, in.To).AtLeast(r) {
			return true
		}
	}
	return false
}

// ranges are the releases of a span.
func ranges(s *analysis.Span) []analysis.Range {
	if len(s.Ranges) > 0 {
		return s.Ranges
	}
	return []analysis.Range{s.Range}
}

// What each release was recorded to send, it can have sent, and the conformance cases
// tell it from those whose scripts are others.
func TestReleasesOfTheRecordings(t *testing.T) {
	folders, err := fs.ReadDir(recordings.Redisson(), ".")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			files, err := fs.Glob(recordings.Redisson(), path.Join(folder.Name(), "*.monitor"))
			require.NoError(t, err)
			d := analyse(t, files...)
			recorded := release(t, folder.Name())

			require.Zero(t, d.Unparsed)
			require.NotNil(t, d.Redisson)
			require.True(t, contains(t, ranges(d.Redisson), recorded), "%v", *d.Redisson)
			require.True(t, contains(t, ranges(d.Usual), recorded), "with default settings: %v", *d.Usual)
			require.Len(t, d.Groups, 1)
			require.True(t, contains(t, d.Groups[0].Ranges, recorded))
		})
	}
}

func TestDocument002(t *testing.T) {
	d := analyse(t, "documents/002-zlyx.monitor")
	require.Equal(t, &analysis.Span{Range: analysis.Range{From: "2.7.0", To: "3.21.0"}}, d.Redisson)
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.InEpsilon(t, 101.054, q.Lateness.P50, 0.016)
	q.Lateness.P50, q.Lateness.P99 = 0, 0
	require.Equal(t, &analysis.Queue{
		Name: "zlyx", Layout: "dLc0", Offers: 1, Transfers: 1, Transferred: 1, Taken: 1,
		Lateness: &analysis.Lateness{Max: 101.054},
	}, q)
}

// Its script calls are missing, and the client's clock is 4.3 s behind.
func TestDocument004(t *testing.T) {
	d := analyse(t, "documents/004-dest_queue1.monitor")
	require.Equal(t, &analysis.Span{Range: analysis.Range{From: "2.7.0", To: "3.21.0"}}, d.Redisson, "by the layout")
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.Equal(t, []int64{5, 4, 5, 5, 0}, []int64{q.Offers, q.Transfers, q.Transferred, q.Taken, q.StillPending})
	require.Len(t, d.Clocks, 1)
	require.InDelta(t, -4264, d.Clocks[0].AheadMs, 1)
	require.Less(t, q.Lateness.Max, 100.0)
}

// Two real releases of either side of 3.21.1 on one queue: who they are, and what became
// of the messages.
func TestRollingDeployment(t *testing.T) {
	r := &analysis.Reader{Analysis: analysis.New()}
	require.NoError(t, r.Files(t.Context(), []string{"testdata/rolling-deployment.monitor"}))
	d := r.Document()

	require.Nil(t, d.Redisson)
	require.Len(t, d.Groups, 2)
	require.True(t, contains(t, d.Groups[0].Ranges, release(t, "4.7.0")))
	require.True(t, contains(t, d.Groups[1].Ranges, release(t, "3.21.0")))
	require.Equal(t, map[analysis.Kind]int64{
		analysis.ForeignMember: 2, analysis.PoisonLoop: 4, analysis.Stall: 1, analysis.Overdue: 116,
	}, d.AnomalyCounts)
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.Equal(t, "mixed", q.Layout)
	require.Equal(t, []int64{120, 17, 4, 4, 116}, []int64{q.Offers, q.Transfers, q.Transferred, q.Taken, q.StillPending})
	for _, a := range d.Anomalies {
		require.NotEmpty(t, a.Lines, a.Kind)
		for _, l := range a.Lines {
			require.NotEmpty(t, l.Text, "%s: line %d", a.Kind, l.Number)
		}
	}
}
