// Topologies runs dq on every kind of topology, as real processes on 127.0.0.1, and writes recordings/TOPOLOGIES.md:
// the conformance cases on each, and what became of the messages of a load during which a master was killed, a slot
// moved or all servers were restarted.
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
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/topology"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// calm is how long a load lasts before a fault, and after it.
const calm = 2 * time.Second

// options are the flags.
type options struct {
	servers, only, rules, out string
	lanes                     int
	bound                     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.servers, "servers", os.Getenv("DQ_REDIS_SERVERS"), "more server programs, separated by colons")
	flag.StringVar(&o.only, "only", "", "regular expression for \"server: topology\", such as 'redis 7.*: Cluster'")
	flag.StringVar(&o.rules, "rules", filepath.Join("dq", "README.md"), "the text with the rules for a user with few rights")
	flag.StringVar(&o.out, "out", filepath.Join("recordings", "TOPOLOGIES.md"), "the table")
	flag.IntVar(&o.lanes, "lanes", 4, "how many run at a time")
	flag.DurationVar(&o.bound, "bound", 10*time.Minute, "how long all may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.bound)
	defer cancel()
	if err := report(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to be done
	}
}

// report runs all there is and writes the table. Its error says what failed.
func report(ctx context.Context, o options) error {
	keep, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	text, err := os.ReadFile(o.rules)
	if err != nil {
		return err
	}
	rules, err := topology.Rules(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", o.rules, err)
	}
	programs, err := find(ctx, o.servers)
	if err != nil {
		return err
	}
	w, err := newWork()
	if err != nil {
		return err
	}
	var jobs []*job
	for i, p := range programs {
		for _, k := range topology.Kinds(rules) {
			if j := (&job{program: p, kind: k}); (i == 0 || k.Everywhere) && keep.MatchString(j.String()) {
				jobs = append(jobs, j)
			}
		}
	}
	began := time.Now()
	w.all(ctx, jobs, max(o.lanes, 1))
	if err := run.WriteWhole(o.out, []byte(page(jobs, absent(programs), began))); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s after %s\n", o.out, time.Since(began).Round(time.Second))
	var failed []error
	for _, j := range jobs {
		for _, f := range j.faults() {
			failed = append(failed, fmt.Errorf("%s: %s", j, f))
		}
	}
	return errors.Join(failed...)
}

// server is a program.
type server struct {
	path string
	// name is redis or valkey, version as the program says it.
	name, version string
}

func (p server) String() string { return p.name + " " + p.version }

// is reports whether it is of a product and a version, of which only the first numbers need be named.
func (p server) is(name, version string) bool {
	return p.name == name && strings.HasPrefix(p.version+".", version+".")
}

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

// wanted are the versions that the table is to have.
var wanted = [][2]string{{"redis", "6.0"}, {"redis", "7.0"}, {"redis", "8.0"}, {"valkey", "8"}, {"valkey", "9"}}

// absent names those of them that none of the programs is.
func absent(programs []server) (names []string) {
	for _, w := range wanted {
		here := false
		for _, p := range programs {
			here = here || p.is(w[0], w[1])
		}
		if !here {
			names = append(names, w[0]+" "+w[1])
		}
	}
	return names
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
