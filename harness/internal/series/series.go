// Package series answers: which runs, in which order, on which server?
//
// A series runs each case on a server of its own, so that no run finds what another left behind, and interleaves the drivers it
// compares: whatever drifts on the machine meanwhile is shared by all of them.
package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Options are what all runs of a series share.
type Options struct {
	// Load has what each run is given as it is: Force, Serve, Live, Progress and Notice, and in About the Tool, the Labels, and
	// the Turn, which says which of several cases this is. The series fills in the rest.
	Load load.Options
	// Redis is a --redis value. An external server is used by all runs; every other form is started afresh for each.
	Redis string
	// Out is the folder of the run files.
	Out string
	// Beside runs all sides of a case at the same time, each on its own server, instead of by turns.
	Beside bool
	// Agents, which may be nil, returns links to agents on other hosts for the next run.
	Agents func(ctx context.Context, driver string) ([]*program.Link, error)
	// Unwritten is called for a run file that could not be written: the series goes on without it.
	Unwritten func(error)
}

// run makes a run of a side: it starts the server, runs the plan, judges and writes the run files. A plan without a Queue gets one
// of its own, which is removed at the end. A run that has the machine to itself has no beside.
func (o Options) run(ctx context.Context, c Case, side Side, folder string, beside *run.Beside) (*run.Document, error) {
	options := o.Load
	options.Plan, options.Driver, options.RunID = c.Plan, side.Driver, rand.Uint32()
	if options.Stored() {
		on := cmp.Or(side.Redis, o.Redis)
		srv, err := load.StartServer(ctx, on, c.Plan.Faults, o.Load.Notice)
		if err != nil {
			return nil, err
		}
		defer srv.Close()
		conn := srv.Conn()
		defer conn.Close()
		options.RedisURL = srv.URL()
		options.Redis = &load.Redis{Conn: conn, Several: srv.Several()}
		if len(c.Plan.Faults) > 0 {
			if options.Injector, err = load.NewInjector(srv, options.Plan); err != nil {
				return nil, err
			}
			defer options.Injector.Close()
			options.RedisURL = options.Injector.URL()
		}
		options.About.Server = &run.Server{Product: srv.Product, Version: srv.Version, How: srv.How, Embedded: srv.Embedded()}
		if redis.IsExternal(on) {
			options.About.Server.Address = srv.Addr
		}
	}
	if o.Agents != nil {
		var err error
		if options.Agents, err = o.Agents(ctx, side.Driver.Identity().String()); err != nil {
			return nil, err
		}
	}
	out, err := load.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	out.Beside = beside
	slos := c.SLO
	if !c.Plan.Breaks() { // what breaks makes messages late
		slos = run.WithDefault(slos, c.Expected)
	}
	out.Judge(slos, c.Expected...)
	missing, err := run.WriteFolder(folder, out)
	if err != nil { // a run counts even without its files
		o.Unwritten(err)
	} else if missing = cmp.Or(missing, report.OfRun(out).Save(filepath.Join(folder, report.File))); missing != nil {
		o.Load.Notice("warning: " + missing.Error())
	}
	return out, nil
}

// gatherLead is the time between the instant at which all sides of a round are warm and the one at which they begin.
const gatherLead = time.Second

// gather has several sides begin at one instant, so that other load on the machine affects all of them in the same second and is no
// difference between them. Each side calls the function once: it waits until all are warm, and returns the instant, the zero
// time if ctx ends first.
func gather(sides int) func(ctx context.Context) time.Time {
	var warm atomic.Int64
	var at time.Time // read once all is closed
	all := make(chan struct{})
	return func(ctx context.Context) time.Time {
		if warm.Add(1) == int64(sides) {
			at = time.Now().Add(gatherLead)
			close(all)
		}
		select {
		case <-all:
			return at
		case <-ctx.Done():
			return time.Time{}
		}
	}
}

// Turn is one run of a series: the Nth, from 1, of a side.
type Turn struct{ Side, N int }

// rounds are the turns of a series, as many at the same time as said. The sides take turns, backwards every other time (A B B A
// A B …), so that a drift of the machine falls on all sides alike.
func rounds(sides, repeat, atOnce int) (all [][]Turn) {
	for n := range repeat {
		turns := make([]Turn, sides)
		for side := range turns {
			turns[side] = Turn{side, n + 1}
		}
		if n%2 == 1 {
			slices.Reverse(turns)
		}
		all = slices.AppendSeq(all, slices.Chunk(turns, atOnce))
	}
	return all
}

// Result is the outcome of a series on one case.
type Result struct {
	// Sides are the sides with their names, folders and runs.
	Sides []Side
	// Comparisons set each later side against the first.
	Comparisons []*compare.Comparison
	// Interrupted says how many of the runs that were to be made were; empty if all were.
	Interrupted string

	// series is set if several runs were asked for, however many there are.
	series bool
}

// Single is the only run of a case that was to be run once with one side, and nil for others.
func (r *Result) Single() *run.Document {
	if r.series {
		return nil
	}
	return r.Sides[0].Runs[0]
}

// Do runs the case repeat times with each side, by turns, into its folder below the folder of the options: a single
// run into that itself, several into <side>/<n> and with a page of them all. told, which may be nil, gets each of several when
// it is done.
//
// When ctx ends, the run under way drains and is the last one: the result is of the runs that there are, and of the sides that
// have one. It is an error if there is no such file.
func Do(ctx context.Context, o Options, c Case, repeat int, told func(Turn, *run.Document)) (*Result, error) {
	o.Out = filepath.Join(o.Out, c.Folder)
	if o.Load.Notice == nil {
		o.Load.Notice = func(string) {}
	}
	r := &Result{Sides: slices.Clone(c.Sides), series: len(c.Sides) > 1 || repeat > 1}
	if !r.series {
		r.Sides[0].Folder = o.Out
		err := r.round(ctx, o, c, []Turn{{0, 1}})
		if err == nil {
			r.Sides[0].Name = r.Single().Driver.String()
		}
		return r, err
	}
	names := Names(c.Sides)
	for i, folder := range Folders(names) {
		r.Sides[i].Name, r.Sides[i].Folder = names[i], filepath.Join(o.Out, folder)
	}
	if err := r.all(ctx, o, c, repeat, told); err != nil {
		return nil, err
	}
	r.Sides = slices.DeleteFunc(r.Sides, func(s Side) bool { return len(s.Runs) == 0 })
	for _, side := range r.Sides[1:] { // servers that are there to be compared may differ
		options := compare.Options{Servers: side.Redis != r.Sides[0].Redis, Force: true}
		compared, err := compare.Sets(context.Background(), []compare.Set{r.Sides[0].Set, side.Set}, options)
		if err != nil {
			return nil, fmt.Errorf("compare %s with %s: %w", r.Sides[0].Name, side.Name, err)
		}
		r.Comparisons = append(r.Comparisons, compared)
	}
	if err := report.OfSets(r.Report()).Save(filepath.Join(o.Out, report.File)); err != nil {
		o.Load.Notice("warning: " + err.Error())
	}
	return r, nil
}

// maxReplaced bounds how many invalid runs of a series are made again.
const maxReplaced = 3

// all does the rounds. An invalid run is made again.
func (r *Result) all(ctx context.Context, o Options, c Case, repeat int, told func(Turn, *run.Document)) error {
	atOnce := 1
	if o.Beside {
		atOnce = len(c.Sides)
	}
	all, turn := rounds(len(c.Sides), repeat, atOnce), &o.Load.About.Turn
	which, replaced := *turn, 0
	for i, turns := range all {
		*turn = strings.TrimPrefix(fmt.Sprintf("%s, run %d of %d", which, i+1, len(all)), ", ")
		err := r.round(ctx, o, c, turns)
		for err == nil && ctx.Err() == nil && replaced < maxReplaced && slices.ContainsFunc(turns, r.replaceable) {
			replaced++
			if err = r.setAside(o, turns, replaced); err == nil {
				o.Load.Notice(fmt.Sprintf("%s was invalid and is made again, %d of at most %d times in a series", *turn, replaced, maxReplaced))
				err = r.round(ctx, o, c, turns)
			}
		}
		full, part := i+1, false
		switch {
		case err == nil:
			for _, turn := range turns {
				only := r.run(turn)
				part = part || only.Interrupted
				if told != nil {
					told(turn, only)
				}
			}
		case i == 0 || ctx.Err() == nil || !errors.Is(err, context.Canceled):
			return err
		}
		if err != nil || part {
			full--
		}
		gone := r.gone(o)
		switch {
		case full == len(all):
		case ctx.Err() != nil:
			r.Interrupted = fmt.Sprintf("%d of %d runs were made in full", full, len(all))
			if part {
				r.Interrupted += ", 1 in part"
			}
			if full*atOnce >= len(c.Sides) && len(c.Sides) > 1 {
				r.Interrupted += "; complete rounds are compared"
			}
			o.Load.Notice("interrupted: " + r.Interrupted)
			return nil
		case gone != "":
			o.Load.Notice(fmt.Sprintf("%d of %d runs are done, and no more can be made: %s", full, len(all), gone))
			return nil
		}
	}
	return nil
}

func (r *Result) run(t Turn) *run.Document { return r.Sides[t.Side].Runs[t.N-1] }

// round does turns at the same time, and keeps their runs. When one of them fails the others are interrupted. Progress is
// called for the first; Live shows each side.
func (r *Result) round(ctx context.Context, o Options, c Case, turns []Turn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beside *run.Beside
	if len(turns) > 1 {
		beside = &run.Beside{Block: fmt.Sprintf("%08x", rand.Uint32()), Sides: len(turns)}
		o.Load.Gather = gather(len(turns))
	}
	var running sync.WaitGroup
	documents, errs := make([]*run.Document, len(turns)), make([]error, len(turns))
	for i, turn := range turns {
		own, to := o, r.Sides[turn.Side]
		about, folder := &own.Load.About, to.Folder
		if r.series {
			folder, about.Name = filepath.Join(to.Folder, strconv.Itoa(turn.N)), to.Name
		}
		for k, other := range c.Sides {
			about.Alike = about.Alike || k != turn.Side && other.Driver.Identity() == to.Driver.Identity()
		}
		if beside != nil {
			about.Side = turn.Side
		}
		if i > 0 {
			own.Load.Progress = nil
		}
		running.Go(func() {
			if documents[i], errs[i] = own.run(ctx, c, to, folder, beside); errs[i] != nil {
				cancel()
				if r.series {
					errs[i] = fmt.Errorf("run %d of %s: %w", turn.N, to.Name, errs[i])
				}
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, turn := range turns {
		r.Sides[turn.Side].Runs = append(r.Sides[turn.Side].Runs, documents[i])
	}
	return nil
}

// replaceable reports whether a run is invalid, and may be valid when it is made again.
func (r *Result) replaceable(t Turn) bool {
	only := r.run(t)
	return !only.Valid() && only.ServerGone == "" && !only.Interrupted
}

// setAside moves the latest runs to the folder invalid, and forgets them.
func (r *Result) setAside(o Options, turns []Turn, nth int) error {
	for _, t := range turns {
		side := &r.Sides[t.Side]
		to := filepath.Join(o.Out, "invalid", fmt.Sprintf("%d-%s-%d", nth, filepath.Base(side.Folder), t.N))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(side.Folder, strconv.Itoa(t.N)), to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		side.Runs = side.Runs[:t.N-1]
	}
	return nil
}

// gone says why no other run can be made on a server that runs elsewhere; it is empty if one can.
func (r *Result) gone(o Options) string {
	for _, side := range r.Sides {
		if n := len(side.Runs); n > 0 && redis.IsExternal(cmp.Or(side.Redis, o.Redis)) && side.Runs[n-1].ServerGone != "" {
			return side.Runs[n-1].ServerGone
		}
	}
	return ""
}

// Report is the content of the page of a series: each side, judged against the first.
func (r *Result) Report() report.Result {
	all := report.Result{Comparisons: r.Comparisons, Verdicts: true, Interrupted: r.Interrupted}
	for _, side := range r.Sides {
		all.Sets = append(all.Sets, side.Set)
	}
	return all
}
