// Faults runs each scenario in which something breaks with Redisson and with dq, and writes
// recordings/FAULTS.md: what became of the messages, and how soon deliveries went on.
//
//	make faults
//
// It takes about 15 minutes, and fails where dq is behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func main() {
	only := flag.String("only", "faults-network faults-server faults-process faults-members faults-clocks", "the scenarios, in order")
	drivers := flag.String("drivers", "redisson:4.7.0 dq", "the implementations: the one to be held up to, and the one that may not be behind it")
	out := flag.String("out", filepath.Join("recordings", "FAULTS.md"), "the table")
	bound := flag.Duration("bound", 40*time.Minute, "how long all may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *bound)
	defer cancel()
	if err := report(ctx, strings.Fields(*only), strings.Fields(*drivers), *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to be done
	}
}

// report runs the scenarios and writes the table. Its error says where the second driver is
// behind the first.
func report(ctx context.Context, scenarios, drivers []string, out string) error {
	if len(drivers) != 2 {
		return fmt.Errorf("expected two drivers, got %d", len(drivers))
	}
	folder, err := os.MkdirTemp("", "faults")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "dq-bench")
	if said, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/dq-bench").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	var rows []row
	for _, scenario := range scenarios {
		runs := filepath.Join(folder, scenario)
		if err := load(ctx, binary, scenario, drivers, runs); err != nil {
			return err
		}
		some, err := read(runs)
		if err != nil {
			return err
		}
		rows = append(rows, pair(some)...)
	}
	if err := run.WriteWhole(out, []byte(page(rows, time.Now()))); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "all is in", out)
	if behind := allBehind(rows); len(behind) > 0 {
		return fmt.Errorf("%s is behind:\n%s", drivers[1], strings.Join(behind, "\n"))
	}
	return nil
}

// load runs all variants of a scenario. That one of them fails is in its file.
func load(ctx context.Context, binary, scenario string, drivers []string, out string) error {
	args := []string{"run", "-f", scenario, "--redis", "process", "--progress", "none", "--json", "--out", out}
	for _, d := range drivers {
		args = append(args, "--driver", d)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends its servers
	cmd.WaitDelay = 20 * time.Second
	cmd.Stderr = os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 99 {
		return nil
	}
	return err
}

// read reads the run files of a folder, in the order that they were written in.
func read(folder string) ([]*run.Document, error) {
	var all []*run.Document
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "run.json" {
			return err
		}
		r, err := run.ReadFile(path)
		if err != nil {
			return err
		}
		if r.Faults == nil {
			return fmt.Errorf("%s: expected a run in which something broke", path)
		}
		all = append(all, r)
		return nil
	})
	return all, err
}
