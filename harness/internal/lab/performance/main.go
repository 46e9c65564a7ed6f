// Performance measures what this project claims about speed: a section of docs/results.md. Each row
// compares two sides that were measured in turn in one run: the figures of another run, or another
// machine, are not comparable with it.
//
//	make bench-report
//
// It takes about 12 minutes, and no longer than -bound: what there was no time for, or what a tool is
// missing for, the table says. out/performance keeps what was printed, and the run files.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/lab"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func main() {
	only := flag.String("only", "", "measure only the steps whose names contain this")
	out := flag.String("out", filepath.Join("out", "performance"), "the folder of what was printed, and of the run files")
	lab.Main("performance", 14*time.Minute, func(ctx context.Context) (string, error) {
		m := &measuring{raw: *out, samples: samples{}, missing: map[string]string{}}
		if err := m.all(ctx, *only); err != nil {
			return "", err
		}
		return m.section(), nil
	})
}

// step is one measurement.
type step struct {
	name string
	// takes bounds it.
	takes time.Duration
	// bench is a benchmark of dq, a regular expression, that is run count times.
	bench string
	count int
	// load are the flags of dq-bench run.
	load []string
	java bool
}

var steps = []step{
	{name: "backlog", takes: 2 * time.Minute, bench: "^BenchmarkBacklog$"},
	{name: "long-queue", takes: 2 * time.Minute, bench: "^BenchmarkLongQueue$"},
	{name: "consume", takes: 2 * time.Minute, bench: "^BenchmarkConsume$"},
	{name: "burst-batch", takes: time.Minute, bench: "^BenchmarkBurst$"},
	{name: "offer", takes: 2 * time.Minute, bench: "^BenchmarkOffer(All)?$", count: 3},
	{name: "cancel", takes: time.Minute, bench: "^BenchmarkCancel$", count: 2},
	{name: "turns", takes: time.Minute, bench: "^Benchmark(Turns|Takeover)$"},
	{name: "rate-5000", takes: 4 * time.Minute, load: []string{
		"--driver", "dq", "--driver", "dq:4.7.0,faithful", "--rate", "5000/s", "--duration", "5s", "--delay", "1s", "--repeat", "3",
	}},
	{name: "rate-1000", takes: 4 * time.Minute, java: true, load: []string{
		"--driver", "dq", "--driver", "redisson:4.7.0", "--rate", "1000/s", "--duration", "8s", "--delay", "2s", "--warmup", "20s",
	}},
	{name: "rate-20", takes: 3 * time.Minute, java: true, load: []string{
		"--driver", "dq", "--driver", "redisson:4.7.0", "--rate", "20/s", "--duration", "20s", "--delay", "1s..3s", "--warmup", "5s",
	}},
	{name: "burst", takes: 2 * time.Minute, java: true, load: []string{
		"-f", "burst-one-instant", "--driver", "dq", "--driver", "redisson:4.7.0",
	}},
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
	if err := lab.Go(ctx, "test", "-c", "-o", m.tests, "./dq"); err != nil {
		return err
	}
	began := time.Now()
	for i, s := range steps {
		if !strings.Contains(s.name, only) {
			m.missing[s.name] = "left out"
			continue
		}
		fmt.Fprintf(os.Stderr, "%s  %d of %d: %s\n", time.Since(began).Round(time.Second), i+1, len(steps), s.name)
		if err := m.step(ctx, s); err != nil {
			m.missing[s.name] = strings.SplitN(err.Error(), "\n", 2)[0]
			fmt.Fprintf(os.Stderr, "%s was not measured: %v\n", s.name, err)
		}
	}
	return nil
}

func (m *measuring) step(ctx context.Context, s step) error {
	if ctx.Err() != nil {
		return errors.New("there was no time left")
	}
	if s.java {
		for _, tool := range []string{"java", "mvn"} {
			if _, err := exec.LookPath(tool); err != nil {
				return fmt.Errorf("there is no %s here for a real Redisson", tool)
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.takes)
	defer cancel()
	if s.bench != "" {
		return m.bench(ctx, s)
	}
	runs, err := lab.Load(ctx, filepath.Join(m.raw, s.name), s.load...)
	for _, r := range runs {
		m.samples.run(s.name, sideOf(r.Driver), r)
	}
	return err
}

func (m *measuring) bench(ctx context.Context, s step) error {
	cmd := lab.Stopped(ctx, m.tests, "-test.run", "^$", "-test.bench", s.bench, "-test.benchtime", "1x",
		"-test.count", fmt.Sprint(max(s.count, 1)), "-test.timeout", s.takes.String())
	cmd.Dir = "dq"
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	file := filepath.Join(m.raw, s.name+".txt")
	if err := run.WriteWhole(file, said.Bytes()); err != nil {
		return err
	}
	m.samples.benchmarks(said.String())
	if err != nil {
		return fmt.Errorf("%w; see %s", err, file)
	}
	return nil
}
