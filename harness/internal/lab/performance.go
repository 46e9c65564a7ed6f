package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// performance measures what this project claims about speed: a section of docs/results.md. Each row
// compares two sides that were measured in turn in one run: the figures of another run, or another
// machine, are not comparable with it.
//
//	make bench-report
//
// It takes about 12 minutes, and no longer than -bound: what there was no time for, or what a tool is
// missing for, the table says. out/performance keeps what was printed, and the run files.
func performance() {
	only := flag.String("only", "", "measure only the steps whose names contain this")
	out := flag.String("out", filepath.Join("out", "performance"), "the folder of what was printed, and of the run files")
	runReport("performance", 14*time.Minute, func(ctx context.Context) (string, error) {
		m := &measuring{raw: *out, samples: samples{}, missing: map[string]string{}}
		if err := m.all(ctx, *only); err != nil {
			return "", err
		}
		return m.section(), nil
	})
}

// longestStep bounds one step.
const longestStep = 4 * time.Minute

// steps are measured in turn: benchmarks of dq, each so many times, or a load of dq-bench run.
var steps = []struct {
	name, bench string
	count       int
	load        string
}{
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

// measuring is the report in the making.
type measuring struct {
	raw     string
	tests   string // the test binary of dq
	samples samples
	missing map[string]string // step → why it was not measured
}

func (m *measuring) all(ctx context.Context, only string) error {
	if err := os.RemoveAll(m.raw); err != nil {
		return err
	}
	if err := os.MkdirAll(m.raw, 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "performance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	m.tests = filepath.Join(folder, "dq.test")
	if err := goCommand(ctx, "test", "-c", "-o", m.tests, "./dq"); err != nil {
		return err
	}
	began := time.Now()
	for i, s := range steps {
		if !strings.Contains(s.name, only) {
			m.missing[s.name] = "left out"
			continue
		}
		fmt.Fprintf(os.Stderr, "%s  %d of %d: %s\n", time.Since(began).Round(time.Second), i+1, len(steps), s.name)
		err := m.bench(ctx, s.name, s.bench, s.count)
		if s.load != "" {
			err = m.load(ctx, s.name, strings.Fields(s.load))
		}
		if err != nil {
			m.missing[s.name] = strings.SplitN(err.Error(), "\n", 2)[0]
			fmt.Fprintf(os.Stderr, "%s was not measured: %v\n", s.name, err)
		}
	}
	return nil
}

// load notes the figures of the runs of a load.
func (m *measuring) load(ctx context.Context, step string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, longestStep)
	defer cancel()
	runs, err := runLoad(ctx, filepath.Join(m.raw, step), args...)
	for _, r := range runs {
		m.samples.run(step, r)
	}
	return err
}

// bench notes the figures that benchmarks of dq print.
func (m *measuring) bench(ctx context.Context, step, pattern string, count int) error {
	if pattern == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, longestStep)
	defer cancel()
	cmd := stopped(ctx, m.tests, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", "1x", "-test.count", fmt.Sprint(count))
	cmd.Dir = "dq"
	said, err := cmd.CombinedOutput()
	m.samples.benchmarks(string(said))
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, said)
	}
	return errors.Join(err, run.WriteWhole(filepath.Join(m.raw, step+".txt"), said))
}
