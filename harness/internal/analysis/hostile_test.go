package analysis_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

func TestHostileLogs(t *testing.T) {
	t.Parallel()
	s := newStory("4.7.0")
	s.offer("a", 9000)
	good := s.out.String()
	tests := map[string]struct {
		in                 io.Reader
		commands, unparsed int64
	}{
		"binary":         {bytes.NewReader(bytes.Repeat([]byte{0, 1, 0xff, '\n'}, 1000)), 0, 1000},
		"embedded NULs":  {strings.NewReader(strings.ReplaceAll(good, "EVALSHA", "EV\x00LSHA")), 4, 0},
		"cut off":        {strings.NewReader(good[:len(good)-20]), 3, 1},
		"cut off before": {strings.NewReader(good[20:]), 3, 1},
		"a bad quote":    {strings.NewReader(strings.Replace(good, `"zadd"`, `"zadd`, 1) + good[:17] + " [0 a:1] \"PING\"\n"), 4, 1},
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
			require.NotContains(t, d.AnomaliesText(), "ghost", "of what was not read")
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
	require.Less(t, peak(32<<20), 2*peak(4<<20)+8<<20)
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

// Any log is explained, and contradicts itself nowhere.
func FuzzAnalysis(f *testing.F) {
	s := newStory("4.7.0")
	a := s.offer("a", 100)
	s.client("BLPOP", "orders", "0")
	s.transfer(true, a)
	s.client("LTRIM", "orders", "1", "-1")
	s.client("LREM", orders.Pending, "-2", a)
	f.Add([]byte(s.out.String()))
	other := newStory("3.16.6")
	_, old := other.member("old")
	s.client("ZADD", "redisson_delay_queue_timeout:{other}", "1700000009000", old)
	s.transfer(false)
	s.inner("zrem", "redisson_delay_queue_timeout:{other}", old) // the line is out of order
	f.Add([]byte(s.out.String()))
	log, err := os.ReadFile("testdata/rolling-deployment.monitor")
	require.NoError(f, err)
	for seed := range uint64(5) { // out of order
		lines := bytes.SplitAfter(log, []byte("\n"))
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		f.Add(bytes.Join(lines, nil))
	}
	f.Add([]byte("OK\r\n+1.000000 [0 unix:/a] \"ZADD\" \"redisson_delay_queue_timeout:{\" \"nan\" \"\"\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		d := analyse(t, log)
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

// atRandom is a client that does, in random order, what clients do to the queue "orders", with the scripts of a release.
type atRandom struct {
	*rand.Rand
	rdb     redis.UniversalClient
	release wire.Release
	values  int
}

func (c *atRandom) eval(ctx context.Context, name wire.ScriptName, keys []string, args ...any) error {
	script, _ := c.release.Script(name)
	return c.rdb.Eval(ctx, script.Body, keys, args...).Err()
}

func (c *atRandom) step(ctx context.Context) (err error) {
	now := time.Now().UnixMilli()
	value := "v" + strconv.Itoa(c.values)
	both := []string{orders.Pending, orders.TimeoutSet}
	switch c.IntN(16) {
	case 0, 1, 2, 3, 4:
		c.values++
		random := strconv.Itoa(1 + c.values)
		if c.release.Layout() == wire.LayoutBc0Lc0 {
			random = string(binaryID(c.values))
		}
		keys := []string{orders.Destination, orders.TimeoutSet, orders.Pending, orders.Channel}
		err = c.eval(ctx, wire.ScriptOffer, keys, now+c.Int64N(40), random, value)
	case 5, 6, 7, 8:
		err = c.eval(ctx, wire.ScriptTransfer, []string{orders.Destination, orders.TimeoutSet, orders.Pending}, now, 1+c.IntN(100))
	case 9, 10:
		err = c.rdb.LPop(ctx, orders.Destination).Err()
	case 11:
		err = c.rdb.Do(ctx, "BLPOP", orders.Destination, "nowhere", "0.001").Err()
	case 12:
		err = c.eval(ctx, wire.ScriptPoll, both)
	case 13:
		err = c.eval(ctx, wire.ScriptRemove, both, "v"+strconv.Itoa(c.IntN(c.values+1)))
	case 14:
		err = c.eval(ctx, wire.ScriptPollLimit, both, 2)
	case 15:
		err = c.eval(ctx, wire.ScriptPollLastAndOfferFirstTo, append(both, "elsewhere"))
	}
	if err == redis.Nil { //nolint:errorlint // never wrapped
		return nil
	}
	return err
}

func binaryID(n int) []byte { return []byte{1, 2, 3, 4, 5, byte(n >> 16), byte(n >> 8), byte(n)} }

// What waits, and what waits to be taken, by the log is what Redis holds.
func TestModelAgreesWithRedis(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"3.16.6", "4.7.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, _, rdb, conn := watched(t)
			client := &atRandom{Rand: rand.New(rand.NewPCG(5, 6)), rdb: rdb, release: release(t, name)}
			for range 400 {
				require.NoError(t, client.step(ctx))
			}
			d := until(ctx, t, conn, rdb)
			require.Len(t, d.Queues, 1)
			q := d.Queues[0]
			require.Equal(t, rdb.ZCard(ctx, orders.TimeoutSet).Val(), q.StillPending)
			require.Equal(t, rdb.LLen(ctx, orders.Destination).Val(), q.Transferred-q.Taken)
			require.EqualValues(t, client.values, q.Offers)
			require.Equal(t, q.Offers, q.Transferred+q.Removed+q.StillPending)
			require.NotZero(t, q.Taken)
			require.NotZero(t, q.Removed)
			require.Zero(t, d.AnomalyCounts[analysis.Ghost]+d.AnomalyCounts[analysis.Orphan])
		})
	}
}

// A device that brings NUL bytes for ever is refused.
func TestNoText(t *testing.T) {
	t.Parallel()
	r := analysis.New()
	require.ErrorIs(t, trace.ReadLog(t.Context(), opened(repeat(strings.Repeat("\x00", 4096))), r.Line), trace.ErrNoText)
}

func opened(r io.Reader) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
}

// A named pipe is waited for, until somebody interrupts that. It is read once, and the lines of an anomaly from files alone: who opens
// a pipe again waits for another writer.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	log := recordings.Redisson("3.21.1")["DQ.poll"]
	silent, pipe := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "log") // one that is given up still waits for a writer
	require.Equal(t, [2]error{}, [2]error{syscall.Mkfifo(silent, 0o600), syscall.Mkfifo(pipe, 0o600)})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, analysis.New().Files(ctx, []string{silent}), context.DeadlineExceeded)
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, log, 0o600) }()
	r := analysis.New()
	require.NoError(t, r.Files(t.Context(), []string{pipe}))
	require.NoError(t, <-wrote)
	require.Eventually(t, func() bool { return len(r.Document().Anomalies) > 0 }, 20*time.Second, time.Millisecond, "it waits for another writer")
}
