// Performance measures what this project claims about speed, and writes recordings/PERFORMANCE.md
// with the raw runs beside it. Each row compares two sides that were measured in turn in one run: the
// figures of another run, or another machine, are not comparable with it.
//
//	make bench-report
//
// It takes about 12 minutes, and no longer than -bound: what there was no time for, or what a tool is
// missing for, the table says.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func main() {
	bound := flag.Duration("bound", 14*time.Minute, "how long all may take")
	only := flag.String("only", "", "measure only the steps whose names contain this")
	out := flag.String("out", "recordings", "the folder of PERFORMANCE.md and performance/raw")
	flag.Parse()
	if err := report(*bound, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// report measures and writes.
func report(bound time.Duration, only, out string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	m := &measuring{raw: filepath.Join(out, "performance", "raw"), samples: samples{}, missing: map[string]string{}}
	if err := m.all(ctx, only); err != nil {
		return err
	}
	table := filepath.Join(out, "PERFORMANCE.md")
	fmt.Fprintln(os.Stderr, "all is in", table)
	return run.WriteWhole(table, []byte(m.page(time.Now(), machine(context.Background()))))
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
	for _, build := range [][]string{{"test", "-c", "-o", m.tests, "./dq"}, {"build", "-o", filepath.Join(folder, "dq-bench"), "./cmd/dq-bench"}} {
		if said, err := exec.CommandContext(ctx, "go", build...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(build, " "), err, said)
		}
	}
	began := time.Now()
	for i, s := range steps {
		if !strings.Contains(s.name, only) {
			m.missing[s.name] = "left out"
			continue
		}
		fmt.Fprintf(os.Stderr, "%s  %d of %d: %s\n", time.Since(began).Round(time.Second), i+1, len(steps), s.name)
		if err := m.step(ctx, folder, s); err != nil {
			m.missing[s.name] = strings.SplitN(err.Error(), "\n", 2)[0]
			fmt.Fprintf(os.Stderr, "%s was not measured: %v\n", s.name, err)
		}
	}
	return nil
}

func (m *measuring) step(ctx context.Context, folder string, s step) error {
	if ctx.Err() != nil {
		return fmt.Errorf("there was no time left")
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
	return m.load(ctx, folder, s)
}

// stopped ends a command by an interrupt, so that it ends its servers, and kills it only then.
func stopped(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (m *measuring) bench(ctx context.Context, s step) error {
	cmd := stopped(ctx, m.tests, "-test.run", "^$", "-test.bench", s.bench, "-test.benchtime", "1x",
		"-test.count", fmt.Sprint(max(s.count, 1)), "-test.timeout", s.takes.String())
	cmd.Dir = "dq"
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if err := run.WriteWhole(filepath.Join(m.raw, s.name+".txt"), said.Bytes()); err != nil {
		return err
	}
	m.samples.benchmarks(said.String())
	if err != nil {
		return fmt.Errorf("%w; see raw/%s.txt", err, s.name)
	}
	return nil
}

func (m *measuring) load(ctx context.Context, folder string, s step) error {
	out := filepath.Join(folder, s.name)
	args := append([]string{"run", "--redis", "process", "--progress", "none", "--out", out}, s.load...)
	said, err := stopped(ctx, filepath.Join(folder, "dq-bench"), args...).CombinedOutput()
	files, _ := filepath.Glob(filepath.Join(out, "*", "*", "run.json"))
	for _, file := range files {
		document, err := run.ReadFile(file)
		if err != nil {
			return err
		}
		m.samples.run(s.name, sideOf(filepath.Base(filepath.Dir(filepath.Dir(file)))), document)
		kept := filepath.Join(m.raw, s.name, strings.TrimPrefix(filepath.Dir(file), out))
		if err := os.MkdirAll(kept, 0o755); err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := run.WriteWhole(filepath.Join(kept, "run.json"), data); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return fmt.Errorf("dq-bench run: %w\n%s", err, said)
	}
	return nil // what a run exits with is in its file
}

// machine says what all was measured on.
func machine(ctx context.Context) string {
	version := "an unknown redis-server"
	if said, err := exec.CommandContext(ctx, "redis-server", "--version").Output(); err == nil {
		if fields := strings.Fields(string(said)); len(fields) > 2 {
			version = "Redis " + strings.TrimPrefix(fields[2], "v=")
		}
	}
	return fmt.Sprintf("%s, %d processors, %s/%s, %s", version, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
