package analysis_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

func TestHostileLogs(t *testing.T) {
	t.Parallel()
	s := newStory("4.7.0")
	s.offer("a", 9000)
	good := s.out.String()
	tests := map[string]struct {
		in       io.Reader
		commands int64
		unparsed int64
	}{
		"binary":         {bytes.NewReader(bytes.Repeat([]byte{0, 1, 0xff, '\n'}, 1000)), 0, 1000},
		"embedded NULs":  {strings.NewReader(strings.ReplaceAll(good, "EVALSHA", "EV\x00LSHA")), 4, 0},
		"cut off":        {strings.NewReader(good[:len(good)-20]), 3, 1},
		"cut off before": {strings.NewReader(good[20:]), 3, 1},
		"CR LF, OK, +":   {strings.NewReader("OK\r\n+" + strings.ReplaceAll(good, "\n", "\r\n+") + "\r\n# remark\r\n\r\n"), 4, 0},
		"a line of 20 MB": {io.MultiReader(
			strings.NewReader(good), io.LimitReader(repeat("1700000000.000000 [0 a:1] \"SET\" \"k\" "), 20<<20), strings.NewReader("\n"+good),
		), 8, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := &heapMeter{Reader: test.in}
			d := readLog(t, in)
			require.Equal(t, []int64{test.commands, test.unparsed}, []int64{d.Commands, d.Unparsed})
			require.Less(t, in.peak, uint64(300<<20)) // other tests run too
		})
	}
}

// repeat reads a text again and again.
type repeat string

func (r repeat) Read(p []byte) (int, error) { return copy(p, r), nil }

// However long the log, memory is that of what is alive.
func TestMemoryIsOfWhatIsAlive(t *testing.T) {
	peak := func(size int64) uint64 {
		in := &heapMeter{Reader: &lives{story: newStory("4.7.0"), delay: 500, size: size}}
		d := readLog(t, in)
		require.Empty(t, d.Anomalies)
		return in.peak
	}
	short := peak(4 << 20)
	require.Less(t, peak(32<<20), 2*short+8<<20)
}

// Names, peers and scripts without end are not kept without end.
func TestEndlessNames(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	go func() {
		for i := range 11_000 {
			at := fmt.Sprintf("%d.%06d [0 ", 1_700_000_000+i/1000, i%1000)
			fmt.Fprintf(out, "%s10.%d.%d.1:%d] \"BLPOP\" \"q%d\" \"0\"\n", at, i/250, i%250, i, i)
			fmt.Fprintf(out, "%s10.0.0.1:1] \"EVAL\" \"return %d\" \"1\" \"redisson_delay_queue:{q%d}\"\n", at, i, i)
			fmt.Fprintf(out, "%slua] \"rpush\" \"redisson_delay_queue:{q%d}\" \"x\"\n", at, i)
		}
		out.Close()
	}()
	meter := &heapMeter{Reader: in}
	d := readLog(t, meter)
	require.LessOrEqual(t, len(d.Queues), 10_000)
	require.LessOrEqual(t, len(d.Anomalies), 2_000)
	require.EqualValues(t, 10_000, d.AnomalyCounts[analysis.UnknownScript])
	require.Contains(t, strings.Join(d.Notices, "\n"), "more than 10000 queues")
	require.Less(t, meter.peak, uint64(300<<20))
}

func FuzzAnalysis(f *testing.F) {
	s := newStory("4.7.0")
	a := s.offer("a", 100)
	s.client("BLPOP", "orders", "0")
	s.transfer(true, a)
	s.client("LTRIM", "orders", "1", "-1")
	s.client("LREM", orders.Pending, "-2", a)
	f.Add([]byte(s.out.String()))
	f.Add([]byte("OK\r\n+1.000000 [0 unix:/a] \"ZADD\" \"redisson_delay_queue_timeout:{\" \"nan\" \"\"\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		r := &analysis.Reader{Analysis: analysis.New()}
		require.NoError(t, r.Log(t.Context(), opened(bytes.NewReader(log))))
		d := r.Document()
		require.LessOrEqual(t, d.Commands+d.Unparsed, int64(bytes.Count(log, []byte("\n"))+1))
		for _, q := range d.Queues {
			require.LessOrEqual(t, q.Taken, q.Transferred)
			require.GreaterOrEqual(t, q.StillPending, int64(0))
		}
	})
}

// heapMeter notes the largest heap, without garbage, while it is read.
type heapMeter struct {
	io.Reader
	read, next int64
	peak       uint64
}

func (h *heapMeter) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if h.read += int64(n); h.read >= h.next {
		h.next = h.read + 4<<20
		var stats runtime.MemStats
		runtime.GC() // on a busy machine garbage waits
		runtime.ReadMemStats(&stats)
		h.peak = max(h.peak, stats.HeapInuse)
	}
	return n, err
}
