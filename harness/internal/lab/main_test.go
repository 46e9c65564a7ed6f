package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
)

const results = "../../../docs/results.md"

var update = flag.Bool("update", false, "write the conformance section of docs/results.md")

// The conformance section of docs/results.md is the table of recordings/counts.tsv.
func TestConformanceSection(t *testing.T) {
	counts, err := os.ReadFile("../../../recordings/counts.tsv")
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(counts)), "\n")[1:]
	var releases [][]string
	for i := 0; i < len(rows); i += 2 {
		dq, redisson := strings.Split(rows[i], "\t"), strings.Split(rows[i+1], "\t")
		releases = append(releases, append(append(dq[:1:1], dq[3:]...), redisson[3:]...))
	}
	section := asTable([]string{"release", "dq: pass", "skip", "fail", "Redisson: pass", "skip", "fail"}, releases)
	if *update {
		require.NoError(t, writeSection(results, "conformance", section))
	}
	page, err := os.ReadFile(results)
	require.NoError(t, err)
	require.Contains(t, string(page), section, "write it by: go test ./harness/internal/lab -update")
	require.LessOrEqual(t, len(strings.Fields(string(page))), 900)
}

func TestWriteKeepsTheRest(t *testing.T) {
	page := filepath.Join(t.TempDir(), "results.md")
	require.NoError(t, os.WriteFile(page, []byte("a\n<!-- one: make one -->\nold\n<!-- end -->\nb\n<!-- two: make two -->\n<!-- end -->\n"), 0o600))
	require.NoError(t, writeSection(page, "one", asTable([]string{"n"}, [][]string{{"-1,234,567"}, {"123"}})))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- one: make one -->\n\n|n|\n|-|\n|-1,234,567|\n|123|\n\n<!-- end -->\nb\n<!-- two: make two -->\n<!-- end -->\n", string(text))
	require.ErrorContains(t, writeSection(page, "three", ""), "<!-- three: command -->")
}

func document(name, scenario string, second int64, f run.Faults) *run.Document {
	return &run.Document{
		Driver: driver.Identity{Name: name}, Scenario: run.Scenario{Name: scenario, Producers: 5}, Started: time.Unix(second, 0), Faults: &f,
	}
}

func resumed(after time.Duration) []run.FaultEvent {
	ns := int64(after)
	return []run.FaultEvent{{Text: "cut at 2s", MayLose: "nothing", ResumedNs: &ns}}
}

func TestPairsAreInTheOrderOfTheRuns(t *testing.T) {
	rows, err := pair([]*run.Document{
		document("redisson", "n/b", 1, run.Faults{}), document("dq", "n/b", 2, run.Faults{}),
		document("redisson", "n/a", 3, run.Faults{}), document("dq", "n/a", 4, run.Faults{}),
	})
	require.NoError(t, err)
	var names []string
	for _, r := range rows {
		names = append(names, r.name(), r.old.Driver.Name, r.new.Driver.Name)
	}
	require.Equal(t, []string{"b", "redisson", "dq", "a", "redisson", "dq"}, names)
	_, err = pair([]*run.Document{document("dq", "n/b", 2, run.Faults{})})
	require.ErrorContains(t, err, "two runs of b")
}

func TestBehind(t *testing.T) {
	old := run.Faults{Offered: 100, Acknowledged: 90, Uncertain: 5, Lost: 1, Events: resumed(time.Second)}
	for name, tc := range map[string]struct {
		change func(*run.Faults)
		want   string
	}{
		"the same":         {func(*run.Faults) {}, ""},
		"better":           {func(f *run.Faults) { f.Uncertain, f.Acknowledged, f.Events = 0, 100, resumed(0) }, ""},
		"lost what may be": {func(f *run.Faults) { f.Lost = 3 }, ""},
		"lost beyond":      {func(f *run.Faults) { f.LostBeyond = 1 }, "lost: 1 more than may be"},
		"twice":            {func(f *run.Faults) { f.Duplicate = 1 }, "duplicate: 1 against 0"},
		"by chance":        {func(f *run.Faults) { f.Uncertain, f.Acknowledged = 10, 85 }, ""},
		"uncertain":        {func(f *run.Faults) { f.Uncertain = 11 }, "uncertain: 11 against 5"},
		"refused":          {func(f *run.Faults) { f.Acknowledged = 84 }, "acknowledged: 84 against 90"},
		"early":            {func(f *run.Faults) { f.Early = 6 }, "early: 6 against 0"},
		"early beyond":     {func(f *run.Faults) { f.EarlyBeyond = 1 }, "early: 1 more than may be"},
		"postponed":        {func(f *run.Faults) { f.Postponed = 6 }, "postponed: 6 against 0"},
		"on time at once":  {func(f *run.Faults) { f.Events = resumed(1100 * time.Millisecond) }, ""},
		"later":            {func(f *run.Faults) { f.Events = resumed(1101 * time.Millisecond) }, "resumed: 1.10s against 1.00s"},
		"never":            {func(f *run.Faults) { f.Events = []run.FaultEvent{{}} }, "resumed: never against 1.00s"},
	} {
		f := old
		tc.change(&f)
		rows := []faultRow{{document("redisson", "n/a", 1, old), document("dq", "n/a", 2, f)}}
		text, err := faultSection(rows)
		if tc.want == "" {
			require.NoError(t, err, name)
			require.Contains(t, text, "dq is behind: nowhere.")
			continue
		}
		require.EqualError(t, err, "a: "+tc.want, name)
		require.Contains(t, text, "dq is behind: a: "+tc.want)
	}
}

func TestSectionShowsWhatWasSeen(t *testing.T) {
	f := run.Faults{Offered: 600, Acknowledged: 590, Refused: 2, Uncertain: 8, Lost: 4, Events: resumed(1500 * time.Microsecond)}
	quiet := run.Faults{Offered: 600, Acknowledged: 600, Events: resumed(time.Second)}
	text, err := faultSection([]faultRow{
		{document("redisson", "n/a", 1, f), document("dq", "n/a", 2, f)},
		{document("redisson", "n/b", 1, quiet), document("dq", "n/b", 2, quiet)},
	})
	require.NoError(t, err)
	require.Contains(t, text, "|a|2/2|8/8|4/4|0|0|0|1.50ms/1.50ms|\n")
	require.Contains(t, text, "resumed within 1.00s/1.00s: b.")
}

// Packing a release that is packed already changes no byte.
func TestFoldIsStable(t *testing.T) {
	root := filepath.Join(t.TempDir(), "redisson")
	newest, recorded := recordings.Redisson(), fstest.MapFS{}
	names, err := fs.Glob(newest, "4.7.0/*.monitor")
	require.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(newest, name)
		require.NoError(t, err)
		text = bytes.ReplaceAll(text, []byte(`"echo" "case:`), []byte(`"ECHO" "case:`)) // as record writes it
		recorded[path.Base(name)] = &fstest.MapFile{Data: text}
	}
	require.NoError(t, fold(root, "4.7.0", recorded))
	packed := os.DirFS(root)
	count := 0
	require.NoError(t, fs.WalkDir(packed, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		want, err := recordings.Files.ReadFile("redisson/" + name)
		require.NoError(t, err)
		got, err := fs.ReadFile(packed, name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
		return nil
	}))
	require.Greater(t, count, 50)
	require.ErrorContains(t, fold(root, "4.8.0", os.DirFS(t.TempDir())), "expected recordings")
}

const printed = `goos: linux
BenchmarkBacklog-2   	       1	    120224 auto-msg/s	       300.5 exact-msg/s	         4.5 auto-longest-ms	 8 exact-longest-ms	 2 rate-ratio
BenchmarkCancel/equal-delays-2         	       1	       400.0 remove-ms	         0.5 ticket-ms	       800 time-ratio
BenchmarkCancel/equal-delays-2         	       1	       300.0 remove-ms	         0.5 ticket-ms	       600 time-ratio
PASS
`

func TestSamples(t *testing.T) {
	s := samples{}
	s.benchmarks(printed)
	require.Equal(t, "120,224/s, 350 and –",
		s.fill("{Backlog auto-msg/s}/s, {Cancel/equal-delays remove-ms} and {nothing}"))
	ratio, ok := s.figure("Cancel/equal-delays remove-ms : Cancel/equal-delays ticket-ms")
	require.True(t, ok)
	require.InDelta(t, 700, ratio, 1e-9)
	_, ok = s.figure("Backlog auto-msg/s : nothing")
	require.False(t, ok)
	require.Equal(t, []string{"0.0812", "999", "1,000", "1,234,567", "-12,345"},
		[]string{short(0.08123), short(999.4), short(999.9), short(1234567.2), short(-12345)})
}

// A target that is met, one that is missed and says why, and one that was not measured.
func TestPage(t *testing.T) {
	m := measured{samples: samples{}, missing: map[string]string{"burst": "there is no java here"}}
	m.samples.benchmarks(printed)
	page := m.section()
	for _, line := range []string{
		"|120,224/s, longest call 4.5 ms|300/s, 8 ms, its script|400×|≥100,000/s, ≤5 ms|met|",
		"|700×|≥1,000×|missed [",
		"|–|≤120 ms|not measured [3]|",
		"\n3. there is no java here\n",
		"LREM walks the list",
	} {
		require.Contains(t, page, line)
	}
}

// Each figure of the table is one that a benchmark of dq reports, or a run has.
func TestFiguresAreReported(t *testing.T) {
	benchmarks, err := os.ReadFile("../../../dq/bench_test.go")
	require.NoError(t, err)
	for _, r := range claimed() {
		figures := []string{}
		for _, found := range named.FindAllString(r.dq+r.other, -1) {
			figures = append(figures, found[1:len(found)-1])
		}
		for _, a := range r.aims {
			figure, _, _ := strings.Cut(strings.ReplaceAll(a, " >= ", " <= "), " <= ")
			figures = append(figures, strings.Split(figure, " : ")...)
		}
		for _, figure := range figures {
			words := strings.Fields(figure)
			if len(words) == 3 { // of a run
				require.Contains(t, []string{"dq", "redisson", "faithful"}, words[1])
				continue
			}
			name, _, _ := strings.Cut(words[0], "/")
			require.Contains(t, string(benchmarks), "func Benchmark"+name+"(", figure)
			require.Contains(t, string(benchmarks), strings.TrimPrefix(strings.TrimPrefix(words[1], "auto"), "exact")+`"`, figure)
		}
	}
}

const (
	growthMessages    = 300
	growthPerSecond   = 50
	growthValueSize   = 100 // bytes
	growthMeasurement = 3 * time.Minute
)

// BenchmarkGrowth measures the cost of a message while a queue is long, and while a client has many queues. Each measurement
// has a fresh server. "Redisson's script" is sent by dq: its cost for the server is the same from any client.
//
//	make growth
func BenchmarkGrowth(b *testing.B) {
	ctx := b.Context()
	b.Chdir("../../..")
	const each = "p50|p99|server each"
	head := strings.Split("dq: "+each+"|Redisson's script: "+each, "|")
	row := func(n, pending, queues int) []string {
		cells := []string{text.Count(int64(n))}
		for _, strict := range []bool{false, true} {
			fmt.Fprintf(os.Stderr, "%d pending, %d queues, Redisson's script: %t\n", pending, queues, strict)
			c, err := costOf(ctx, strict, pending, queues)
			if pending > 0 && !strict {
				cells = append(cells, fmt.Sprintf("%.0f", c.bytes))
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				cells = append(cells, strings.SplitN(err.Error(), "\n", 2)[0], "–", "–")
				continue
			}
			cells = append(cells, compact(c.p50), compact(c.p99), compact(c.server))
		}
		return cells
	}
	var length, count [][]string
	for _, n := range []int{1_000, 10_000, 100_000, 500_000, 1_000_000, 5_000_000} {
		length = append(length, row(n, n, 1))
	}
	for n := 1; n <= 10_000; n *= 10 {
		count = append(count, row(n, 0, n))
	}
	section := asTable(append([]string{"pending", "bytes each"}, head...), length) + "\n" + asTable(append([]string{"queues"}, head...), count)
	require.NoError(b, writeSection(filepath.Join("docs", "results.md"), "growth", machine(ctx)+"\n\n"+section))
}

// cost is the result of one measurement.
type cost struct {
	bytes            float64       // of the server's memory, for each pending message
	p50, p99, server time.Duration // past due, and the server's processor time for each message
}

// costOf offers messages to queues of one client, on a server of its own. With pending messages there is one queue, and
// a message is late by its take; else by its transfer.
func costOf(ctx context.Context, strict bool, pending, n int) (c cost, err error) {
	ctx, cancel := context.WithTimeout(ctx, growthMeasurement)
	defer cancel()
	srv, err := redis.Start(ctx, "process", nil)
	if err != nil {
		return c, err
	}
	defer srv.Close()
	rdb, err := redis.NewClient(srv.URL())
	if err != nil {
		return c, err
	}
	defer rdb.Close()
	empty, _, err1 := usage(ctx, rdb)
	err2 := fill(ctx, rdb, "orders-0", pending)
	full, _, err3 := usage(ctx, rdb)
	c.bytes = (full - empty) / float64(max(pending, 1))
	late := run.NewHistogram()
	var mu sync.Mutex
	record := func(after time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		late.Record(int64(after))
	}
	options := []dq.Option{dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(dq.Transferred); ok && pending == 0 && e.Late > 0 {
			record(e.Late)
		}
	})}
	if strict {
		options = append(options, dq.WithRedissonCommands())
	}
	client, err4 := dq.NewClient(rdb, options...)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return c, err
	}
	defer client.Close()
	queues := make([]*dq.Queue[[]byte], n)
	for i := range queues {
		if queues[i], err = dq.NewQueue(client, "orders-"+strconv.Itoa(i), codec.Bytes{}); err != nil {
			return c, err
		}
	}
	for _, q := range queues {
		if err := q.Ready(ctx); err != nil {
			return c, err
		}
	}
	_, before, err := usage(ctx, rdb)
	if err != nil {
		return c, err
	}
	taken := make(chan error, 1)
	go func() {
		for i := 0; pending > 0 && i < growthMessages; i++ {
			value, err := queues[0].Take(ctx)
			if err != nil {
				taken <- fmt.Errorf("%d of %d messages came within %s: %w", i, growthMessages, growthMeasurement, err)
				return
			}
			due, _ := strconv.ParseInt(strings.TrimRight(string(value), "\x00"), 10, 64)
			record(time.Since(time.UnixMilli(due)))
		}
		taken <- nil
	}()
	used := func(i int) *dq.Queue[[]byte] { return queues[i*7919%n] }
	if err := errors.Join(steadily(ctx, used), <-taken); err != nil {
		return c, err
	}
	for i := range min(n, growthMessages) { // until all are transferred
		for waiting := pending + 1; waiting > pending; time.Sleep(10 * time.Millisecond) {
			counts, err := used(i).Counts(ctx)
			if err != nil {
				return c, err
			}
			waiting = counts.Waiting
		}
	}
	_, after, err := usage(ctx, rdb)
	mu.Lock()
	defer mu.Unlock()
	c.p50, c.p99 = time.Duration(late.Quantile(.5)), time.Duration(late.Quantile(.99))
	c.server = (after - before) / growthMessages
	return c, err
}

// steadily offers each message to its queue. Delays are whole milliseconds, as due times are: the value is the due
// time.
func steadily(ctx context.Context, queue func(i int) *dq.Queue[[]byte]) error {
	next := time.NewTicker(time.Second / growthPerSecond)
	defer next.Stop()
	for i := range growthMessages {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
		delay := time.Duration(500+rand.N(2000)) * time.Millisecond
		if _, err := queue(i).Offer(ctx, stamp(time.Now().Add(delay).UnixMilli()), delay); err != nil {
			return err
		}
	}
	return nil
}

// stamp is a value that contains its due time.
func stamp(due int64) []byte {
	return append(strconv.AppendInt(nil, due, 10), make([]byte, growthValueSize-13)...)
}

// fill puts n members into a queue, due in an hour or two, in random order.
func fill(ctx context.Context, rdb goredis.UniversalClient, queue string, n int) error {
	names, layout := wire.NamesOf(queue), wire.Newest().Layout()
	soon := time.Now().Add(time.Hour).UnixMilli()
	const batch = 5_000
	for first := 0; first < n; first += batch {
		members, entries := make([]goredis.Z, 0, batch), make([]any, 0, batch)
		for range min(batch, n-first) {
			due := soon + rand.Int64N(time.Hour.Milliseconds())
			member := string(layout.Pack([8]byte(binary.BigEndian.AppendUint64(nil, rand.Uint64())), stamp(due)))
			members, entries = append(members, goredis.Z{Score: float64(due), Member: member}), append(entries, member)
		}
		if err := errors.Join(rdb.ZAdd(ctx, names.TimeoutSet, members...).Err(), rdb.RPush(ctx, names.Pending, entries...).Err()); err != nil {
			return err
		}
	}
	return nil
}

// usage returns the server's memory in bytes and its processor time.
func usage(ctx context.Context, rdb goredis.UniversalClient) (memory float64, cpu time.Duration, err error) {
	text, err := rdb.Info(ctx, "memory", "cpu").Result()
	if err != nil {
		return 0, 0, err
	}
	number := func(field string) float64 {
		n, bad := strconv.ParseFloat(redis.Fields(text)[field], 64)
		err = errors.Join(err, bad)
		return n
	}
	cpu = time.Duration((number("used_cpu_sys") + number("used_cpu_user")) * float64(time.Second))
	return number("used_memory"), cpu, err
}
