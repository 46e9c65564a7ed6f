package main

import (
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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// calm is how long a load lasts before a fault, and after it.
const calm = 2 * time.Second

// lanes is how many topologies run at a time.
const lanes = 4

var only = flag.String("only", "", "regular expression for \"server: topology\", such as 'redis 7.*: Cluster'")

// BenchmarkTopologies writes the section of docs/results.md: see make topologies.
func BenchmarkTopologies(b *testing.B) {
	b.Chdir("../../..")
	for range b.N {
		section, err := runTopologies(b.Context(), os.Getenv("DQ_REDIS_SERVERS"), *only)
		require.NoError(b, err)
		require.NoError(b, writeSection(filepath.Join("docs", "results.md"), "topologies", section))
	}
}

// runTopologies runs all there is. Its error says what failed.
func runTopologies(ctx context.Context, servers, only string) (string, error) {
	keep, err := regexp.Compile(only)
	if err != nil {
		return "", fmt.Errorf("-only: %w", err)
	}
	text, err := os.ReadFile(filepath.Join("dq", "README.md"))
	if err != nil {
		return "", err
	}
	rules, err := Rules(string(text))
	if err != nil {
		return "", fmt.Errorf("dq/README.md: %w", err)
	}
	programs, err := find(ctx, servers)
	if err != nil {
		return "", err
	}
	var jobs []*job
	for i, p := range programs {
		for _, k := range Kinds(rules) {
			if j := (&job{program: p, kind: k}); (i == 0 || k.Everywhere) && keep.MatchString(j.String()) {
				jobs = append(jobs, j)
			}
		}
	}
	var doing sync.WaitGroup
	lane := make(chan struct{}, lanes)
	for _, j := range jobs {
		lane <- struct{}{}
		doing.Go(func() {
			j.err = j.do(ctx)
			fmt.Fprintf(os.Stderr, "%s: done, %d faults\n", j, len(j.faults()))
			<-lane
		})
	}
	doing.Wait()
	return section(jobs)
}

// server is a program, with what it says of itself, as "redis" and "7.0.15".
type server struct{ path, name, version string }

func (p server) String() string { return p.name + " " + p.version }

// versionLine is what a server program prints of itself.
var versionLine = regexp.MustCompile(`(?i)^(\w+) server v=([0-9.]+)`)

// find returns the programs to run, each version once: the first one on PATH, and those named, between colons.
func find(ctx context.Context, more string) (found []server, err error) {
	paths := strings.FieldsFunc(more, func(r rune) bool { return r == ':' })
	for _, name := range []string{"redis-server", "valkey-server"} {
		if at, err := exec.LookPath(name); err == nil {
			paths = append([]string{at}, paths...)
			break
		}
	}
	for _, path := range paths {
		said, err := exec.CommandContext(ctx, path, "--version").Output()
		m := versionLine.FindStringSubmatch(string(said))
		if m == nil {
			return nil, errors.Join(fmt.Errorf("%s --version: expected a Redis or Valkey server, got %.80q", path, said), err)
		}
		p := server{path, strings.ToLower(m[1]), m[2]}
		if !slices.ContainsFunc(found, func(other server) bool { return other.String() == p.String() }) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("expected redis-server or valkey-server on PATH, found neither: install one, or name it in DQ_REDIS_SERVERS")
	}
	return found, nil
}

// job is one topology on one program.
type job struct {
	program server
	kind    Kind

	outcomes []outcome
	err      error
}

type outcome struct {
	fault Fault
	*Outcome
}

func (j *job) String() string { return j.program.String() + ": " + j.kind.Name }

// faults says what went wrong.
func (j *job) faults() (all []string) {
	if j.err != nil {
		all = append(all, j.err.Error())
	}
	for _, o := range j.outcomes {
		for _, f := range o.Faults() {
			all = append(all, o.fault.Name+": "+f)
		}
	}
	return all
}

// do starts the servers and runs a load for each fault.
func (j *job) do(ctx context.Context) (err error) {
	if j.kind.Unfit(j.program.version) != "" {
		return nil
	}
	t, err := j.kind.start(ctx, j.program.path)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
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

// section has a row for each  Its error says what failed.
func section(jobs []*job) (string, error) {
	var kinds, programs []string
	for _, j := range jobs {
		if !slices.Contains(kinds, j.kind.Name) {
			kinds = append(kinds, j.kind.Name)
		}
		if !slices.Contains(programs, j.program.String()) {
			programs = append(programs, j.program.String())
		}
	}
	var failed []error
	var rows [][]string
	for _, kind := range kinds {
		servers := 0
		var sum Outcome
		faults := 0
		for _, j := range jobs {
			if j.kind.Name != kind || j.kind.Unfit(j.program.version) != "" {
				continue
			}
			servers++
			for _, f := range j.faults() {
				failed = append(failed, fmt.Errorf("%s: %s", j, f))
			}
			for _, o := range j.outcomes {
				faults++
				sum.Acknowledged += o.Acknowledged
				sum.MayBeLost += o.MayBeLost
				sum.LostBeyond += o.LostBeyond
				sum.Gap = max(sum.Gap, o.Gap)
			}
		}
		rows = append(rows, []string{kind, fmt.Sprint(servers), fmt.Sprint(faults), text.Count(int64(sum.Acknowledged)),
			text.Count(int64(sum.MayBeLost)), fmt.Sprint(sum.LostBeyond), run.FormatNs(int64(sum.Gap))})
	}
	head := []string{"topology", "servers", "faults", "acknowledged", "may be lost", "beyond", "longest gap"}
	return "On " + strings.Join(programs, ", ") + ".\n\n" + asTable(head, rows), errors.Join(failed...)
}
