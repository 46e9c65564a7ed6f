// Topologies runs dq on every kind of topology, as real processes on 127.0.0.1: the conformance cases on
// each, and what became of the messages of a load during which a master was killed, a slot moved or all
// servers were restarted. It is a section of docs/results.md.
//
//	make topologies
//
// It takes some minutes, and fails where a case fails or a message is lost that Redis itself did not lose. The
// first redis-server or valkey-server on PATH runs all topologies; others, named by DQ_REDIS_SERVERS, alone, under
// Sentinel and as a Cluster.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/lab"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/topology"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// calm is how long a load lasts before a fault, and after it.
const calm = 2 * time.Second

func main() {
	servers := flag.String("servers", os.Getenv("DQ_REDIS_SERVERS"), "more server programs, separated by colons")
	only := flag.String("only", "", "regular expression for \"server: topology\", such as 'redis 7.*: Cluster'")
	rules := flag.String("rules", filepath.Join("dq", "README.md"), "the text with the rules for a user with few rights")
	lanes := flag.Int("lanes", 4, "how many run at a time")
	lab.Main("topologies", 10*time.Minute, func(ctx context.Context) (string, error) {
		return report(ctx, *servers, *only, *rules, max(*lanes, 1))
	})
}

// report runs all there is. Its error says what failed.
func report(ctx context.Context, servers, only, rulesFile string, lanes int) (string, error) {
	keep, err := regexp.Compile(only)
	if err != nil {
		return "", fmt.Errorf("-only: %w", err)
	}
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		return "", err
	}
	rules, err := topology.Rules(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", rulesFile, err)
	}
	programs, err := find(ctx, servers)
	if err != nil {
		return "", err
	}
	w, err := newWork()
	if err != nil {
		return "", err
	}
	var jobs []*job
	for i, p := range programs {
		for _, k := range topology.Kinds(rules) {
			if j := (&job{program: p, kind: k}); (i == 0 || k.Everywhere) && keep.MatchString(j.String()) {
				jobs = append(jobs, j)
			}
		}
	}
	w.all(ctx, jobs, lanes)
	return section(jobs)
}

// server is a program.
type server struct {
	path string
	// name is redis or valkey, version as the program says it.
	name, version string
}

func (p server) String() string { return p.name + " " + p.version }

// versionLine is what a server program prints of itself.
var versionLine = regexp.MustCompile(`(?i)^(\w+) server v=([0-9.]+)`)

// find returns the programs to run, each version once: the one on PATH first.
func find(ctx context.Context, more string) ([]server, error) {
	var found []server
	for i, path := range append([]string{""}, strings.Split(more, ":")...) {
		if i > 0 && path == "" {
			continue
		}
		p, err := identify(ctx, path)
		switch {
		case err != nil && i > 0:
			return nil, fmt.Errorf("-servers: %w", err)
		case err != nil:
			continue // the others may be all there is
		}
		known := false
		for _, other := range found {
			known = known || other.String() == p.String()
		}
		if !known {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("expected redis-server or valkey-server on PATH, found neither: install one, or name it in DQ_REDIS_SERVERS")
	}
	return found, nil
}

// identify asks a program what it is; an empty path is for the first on PATH.
func identify(ctx context.Context, path string) (server, error) {
	if path == "" {
		for _, name := range []string{"redis-server", "valkey-server"} {
			if at, err := exec.LookPath(name); err == nil {
				path = at
				break
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return server{}, fmt.Errorf("%s --version: %w", cmp.Or(path, "redis-server"), err)
	}
	m := versionLine.FindStringSubmatch(string(said))
	if m == nil {
		return server{}, fmt.Errorf("%s --version: expected a Redis or Valkey server, got %.80q", path, said)
	}
	return server{path, strings.ToLower(m[1]), m[2]}, nil
}

// job is one topology on one program.
type job struct {
	program server
	kind    topology.Kind

	verdict  *topology.Verdict
	outcomes []outcome
	err      error
	// unfit is why the program cannot run it.
	unfit string
}

type outcome struct {
	fault topology.Fault
	*topology.Outcome
}

func (j *job) String() string { return j.program.String() + ": " + j.kind.Name }

// faults says what went wrong.
func (j *job) faults() (all []string) {
	if j.err != nil {
		all = append(all, j.err.Error())
	}
	if j.verdict != nil {
		for _, r := range j.verdict.Failed {
			all = append(all, r.Text())
		}
	}
	for _, o := range j.outcomes {
		for _, f := range o.Faults() {
			all = append(all, o.fault.Name+": "+f)
		}
	}
	return all
}

// work is what all jobs share.
type work struct {
	cases  []*conformance.Case
	oracle *conformance.Oracle
}

func newWork() (*work, error) {
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	if err != nil {
		return nil, err
	}
	oracle, err := conformance.LoadOracle(recordings.Files, "redisson")
	return &work{conformance.Select(sections, nil), oracle}, err
}

// all does the jobs, several at a time.
func (w *work) all(ctx context.Context, jobs []*job, lanes int) {
	next := make(chan *job)
	var workers sync.WaitGroup
	for range lanes {
		workers.Go(func() {
			for j := range next {
				j.err = w.do(ctx, j)
				fmt.Fprintf(os.Stderr, "%s: done, %d faults\n", j, len(j.faults()))
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	workers.Wait()
}

// do starts the servers, runs the cases, and then a load for each fault.
func (w *work) do(ctx context.Context, j *job) (err error) {
	if j.unfit = j.kind.Unfit(j.program.version); j.unfit != "" {
		return nil
	}
	t, err := j.kind.Start(ctx, j.program.path)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if j.verdict, err = t.Verify(ctx, w.cases, w.oracle); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%s: %d cases passed, %d failed\n", j, j.verdict.Passed, len(j.verdict.Failed))
	for _, f := range t.Faults {
		o, err := t.Load(ctx, f, calm)
		if err != nil {
			return err
		}
		j.outcomes = append(j.outcomes, outcome{f, o})
		fmt.Fprintf(os.Stderr, "%s: %s: %d acknowledged, %d lost beyond what Redis may lose\n", j, f.Name, o.Acknowledged, o.LostBeyond)
	}
	return nil
}

// section has a row for each topology. Its error says what failed.
func section(jobs []*job) (string, error) {
	var kinds, servers []string
	for _, j := range jobs {
		if !slices.Contains(kinds, j.kind.Name) {
			kinds = append(kinds, j.kind.Name)
		}
		if !slices.Contains(servers, j.program.String()) {
			servers = append(servers, j.program.String())
		}
	}
	var failed []error
	var rows [][]string
	for _, kind := range kinds {
		passed := make([]string, len(servers))
		var sum topology.Outcome
		faults := 0
		for _, j := range jobs {
			if j.kind.Name != kind {
				continue
			}
			passed[slices.Index(servers, j.program.String())] = j.passed()
			for _, f := range j.faults() {
				failed = append(failed, fmt.Errorf("%s: %s", j, f))
			}
			for _, o := range j.outcomes {
				faults++
				sum.Acknowledged += o.Acknowledged
				sum.LostPopped += o.LostPopped + o.LostUnreplicated
				sum.LostBeyond += o.LostBeyond
				sum.Gap = max(sum.Gap, o.Gap)
			}
		}
		rows = append(rows, append(append([]string{kind}, passed...), fmt.Sprint(faults), lab.Grouped(int64(sum.Acknowledged)),
			lab.Grouped(int64(sum.LostPopped)), fmt.Sprint(sum.LostBeyond), run.FormatNs(int64(sum.Gap))))
	}
	head := append(append([]string{"topology"}, servers...), "faults", "acknowledged", "may be lost", "beyond", "longest gap")
	return lab.Table(head, rows), errors.Join(failed...)
}

// passed says how many cases a topology passed.
func (j *job) passed() string {
	if j.verdict == nil || j.verdict.Unjudged != "" {
		return "–"
	}
	text := fmt.Sprint(j.verdict.Passed)
	if j.verdict.Level != conformance.Wire {
		text += " by " + string(j.verdict.Level)
	}
	if n := len(j.verdict.Failed); n > 0 {
		text += fmt.Sprintf(" (%d failed)", n)
	}
	return text
}
