package lab

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// BenchmarkPerformance measures what this project claims about speed. The two sides of a row ran by turns on one machine: do not
// compare figures of two reports. What a tool or time was missing for, the table says.
//
//	make bench-report
func BenchmarkPerformance(b *testing.B) { report(performance).write(b, "performance") }

func performance(b *testing.B, out string) (string, error) {
	b.Helper()
	require.NoError(b, os.RemoveAll(out))
	tests := filepath.Join(b.TempDir(), "dq.test")
	require.NoError(b, goCommand(b.Context(), "test", "-c", "-o", tests, "./dq"))
	m := measured{samples{}, map[string]string{}}
	for _, s := range steps {
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), s.name)
		if err := m.measure(b, s, tests, filepath.Join(out, s.name)); err != nil {
			m.missing[s.name] = strings.SplitN(err.Error(), "\n", 2)[0]
			fmt.Fprintf(os.Stderr, "%s was not measured: %v\n", s.name, err)
		}
	}
	return m.section(), nil
}

// A step is a benchmark of dq, repeated count times, or a load of dq-bench run.
type step struct {
	name, bench string
	count       int
	load        string
}

var steps = []step{
	{name: "backlog", bench: "^BenchmarkBacklog$", count: 1},
	{name: "long-queue", bench: "^BenchmarkLongQueue$", count: 1},
	{name: "burst-batch", bench: "^BenchmarkBurst$", count: 1},
	{name: "offer", bench: "^BenchmarkOffer(All)?$", count: 3},
	{name: "cancel", bench: "^BenchmarkCancel$", count: 2},
	{name: "turns", bench: "^Benchmark(Turns|Takeover)$", count: 1},
	{name: "rate-5000", load: "--driver dq --driver dq:4.7.0,faithful --rate 5000/s --duration 5s --delay 1s --repeat 3"},
	{name: "rate-1000", load: "--driver dq --driver redisson:4.7.0 --rate 1000/s --duration 8s --delay 2s --warmup 20s"},
	{name: "rate-20", load: "--driver dq --driver redisson:4.7.0 --rate 20/s --duration 20s --delay 1s..3s --warmup 5s"},
	{name: "burst", load: "-f burst-one-instant --driver dq --driver redisson:4.7.0"},
}

// measured has the samples, and says for each step without samples why it has none.
type measured struct {
	samples samples
	missing map[string]string
}

// measure adds the samples of a step. out keeps the run files, or the output of the benchmark.
func (m measured) measure(b *testing.B, s step, tests, out string) error {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 4*time.Minute)
	defer cancel()
	if s.load != "" {
		runs, err := runLoad(ctx, b, out, strings.Fields(s.load)...)
		for _, r := range runs {
			m.samples.run(s.name, r)
		}
		return err
	}
	cmd := stopped(ctx, tests, "-test.run", "^$", "-test.bench", s.bench, "-test.benchtime", "1x", "-test.count", fmt.Sprint(s.count))
	cmd.Dir = "dq"
	output, err := cmd.CombinedOutput()
	m.samples.benchmarks(string(output))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	require.NoError(b, os.MkdirAll(filepath.Dir(out), 0o755))
	return run.WriteWhole(out+".txt", output)
}

// claims has a line for each row of the table: the work, its step, text for dq and for the other side with figures in
// braces, the ratio, the target in words and as bounds that all must hold, and why the target may be missed.
//
//go:embed performance.tsv
var claims string

type claim struct {
	work, step, dq, other, ratio, target string
	aims                                 []string
	excuse                               string
}

// section is the table, with a note for each target that is missed.
func (m measured) section() string {
	var notes []string
	var table [][]string
	for _, line := range strings.Split(strings.TrimSpace(claims), "\n")[1:] {
		cells := strings.Split(line+"\t", "\t")
		c := claim{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], strings.Split(cells[6], "; "), cells[7]}
		verdict, why := m.verdict(c)
		if why != "" {
			if !slices.Contains(notes, why) {
				notes = append(notes, why)
			}
			verdict += fmt.Sprintf(" [%d]", slices.Index(notes, why)+1)
		}
		ratio := "–"
		if v, ok := m.samples.figure(c.ratio); ok {
			ratio = short(v) + "×"
		}
		table = append(table, []string{c.work, m.samples.fill(c.dq), m.samples.fill(c.other), ratio, c.target, verdict})
	}
	text := asTable([]string{"work", "dq", "Redisson 4.7.0, or as named", "ratio", "target", ""}, table) + "\n"
	for i, note := range notes {
		text += fmt.Sprintf("%d. %s\n", i+1, note)
	}
	return text
}

// verdict says whether the target of a row is met, and why not.
func (m measured) verdict(c claim) (verdict, why string) {
	if reason, missing := m.missing[c.step]; missing {
		return "not measured", reason
	}
	verdict = "met"
	for _, a := range c.aims {
		figure, bound, least := strings.Cut(a, " >= ")
		if !least {
			figure, bound, _ = strings.Cut(a, " <= ")
		}
		limit, err := strconv.ParseFloat(bound, 64)
		v, ok := m.samples.figure(figure)
		switch {
		case !ok || err != nil:
			return "not measured", "there is no " + figure
		case least && v < limit, !least && v > limit:
			verdict, why = "missed", c.excuse
		}
	}
	for _, side := range []string{"dq", "redisson", "faithful"} {
		if n := len(m.samples[c.step+" "+side+" invalid"]); n > 0 {
			why = fmt.Sprintf("%d runs of %s are invalid: the load fell short of its rate", n, side)
		}
	}
	return verdict, why
}

// samples are measurements by the name of the figure.
type samples map[string][]float64

// benchmarks adds the figures that go test prints, under the benchmark's name and the unit: "Backlog auto-msg/s".
func (s samples) benchmarks(text string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			name = name[:at] // the number of processors
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				s[name+" "+fields[i+1]] = append(s[name+" "+fields[i+1]], v)
			}
		}
	}
}

// run adds the figures of a run file, under the names of the step, the side and the figure: "rate-20 dq p99-ms".
func (s samples) run(step string, r *run.Document) {
	side := r.Driver.Name
	if strings.HasSuffix(r.Driver.Version, ",faithful") {
		side = "faithful"
	}
	add := func(figure string, v float64) {
		name := step + " " + side + " " + figure
		s[name] = append(s[name], v)
	}
	delivered := float64(max(r.Counts.Delivered, 1))
	if past := r.Histograms.PastDue; past != nil {
		add("p99-ms", float64(past.Quantile(0.99))/1e6)
	}
	if late := r.Histograms.Lateness; late != nil {
		add("lateness-p99-ms", float64(late.Quantile(0.99))/1e6)
	}
	if server := r.ServerStats; server != nil {
		add("transfers/msg", server.TransferCallsPerMessage)
		add("commands/msg", float64(server.Commands)/delivered)
		add("server-µs/msg", server.CPUSeconds*1e6/delivered)
	}
	if tool := r.ToolUsage; tool != nil {
		add("tool-µs/msg", tool.CPUSeconds*1e6/delivered)
	}
	if !r.Valid() {
		add("invalid", 1)
	}
}

var named = regexp.MustCompile(`\{[^}]+\}`)

// fill replaces each name in braces by its figure.
func (s samples) fill(text string) string {
	return named.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := s.figure(name[1 : len(name)-1]); ok {
			return short(v)
		}
		return "–"
	})
}

// figure returns a median, or the ratio of two medians, "a : b"; false if one is missing.
func (s samples) figure(name string) (float64, bool) {
	above, below, two := strings.Cut(name, " : ")
	if len(s[above]) == 0 || two && len(s[below]) == 0 {
		return 0, false
	}
	v := compare.Median(s[above])
	if two {
		v /= compare.Median(s[below])
	}
	return v, true
}

// short writes a number with three digits, or as a whole number in groups of three.
func short(v float64) string {
	if math.Abs(v) < 999.5 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return text.Count(int64(math.Round(v)))
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
			c, err := costOf(b, strict, pending, queues)
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
func costOf(b *testing.B, strict bool, pending, n int) (c cost, err error) {
	b.Helper()
	srv, err := redis.Start(b.Context(), "process", nil)
	require.NoError(b, err)
	defer srv.Close()
	rdb := must(redis.NewClient(srv.URL()))
	defer rdb.Close()
	empty, _ := usage(b, rdb)
	fill(b, rdb, "orders-0", pending)
	full, _ := usage(b, rdb)
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
	client, err := dq.NewClient(rdb, options...)
	require.NoError(b, err)
	defer client.Close()
	queues := make([]*dq.Queue[[]byte], n)
	for i := range queues {
		queues[i] = must(dq.NewQueue(client, "orders-"+strconv.Itoa(i), codec.Bytes{}))
	}
	for _, q := range queues {
		require.NoError(b, q.Ready(b.Context()))
	}
	_, before := usage(b, rdb)
	ctx, cancel := context.WithTimeout(b.Context(), growthMeasurement)
	defer cancel()
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
	_, after := usage(b, rdb)
	mu.Lock()
	defer mu.Unlock()
	c.p50, c.p99 = time.Duration(late.Quantile(.5)), time.Duration(late.Quantile(.99))
	c.server = (after - before) / growthMessages
	return c, nil
}

// steadily offers each message to its queue. Delays are whole milliseconds, as due times are: the value is the due time.
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
func fill(b *testing.B, rdb goredis.UniversalClient, queue string, n int) {
	b.Helper()
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
		require.NoError(b, errors.Join(rdb.ZAdd(b.Context(), names.TimeoutSet, members...).Err(), rdb.RPush(b.Context(), names.Pending, entries...).Err()))
	}
}

// usage returns the server's memory in bytes and its processor time.
func usage(b *testing.B, rdb goredis.UniversalClient) (memory float64, cpu time.Duration) {
	b.Helper()
	text, err := rdb.Info(b.Context(), "memory", "cpu").Result()
	require.NoError(b, err)
	number := func(field string) float64 {
		return must(strconv.ParseFloat(redis.Fields(text)[field], 64))
	}
	cpu = time.Duration((number("used_cpu_sys") + number("used_cpu_user")) * float64(time.Second))
	return number("used_memory"), cpu
}
