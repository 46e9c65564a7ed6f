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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Options are what all runs of a series share.
type Options struct {
	// Load has what each run is given as it is: Force, Serve, Live, Progress and Notice, and in About the Tool, the Labels, and
	// the Turn, which says which of several cases this is. The series fills in the rest.
	Load      load.Options
	Out       string      // the folder of the run files
	Beside    bool        // runs all sides of a case at the same time, each on its own server, instead of by turns
	Unwritten func(error) // is called for a run file that could not be written: the series goes on without it
}

// run makes a run of a side, judges it and writes the run files. A plan without a Queue gets one
// of its own, which is removed at the end. A run that has the machine to itself has no beside.
func (s *series) run(ctx context.Context, options load.Options, side Side, folder string, beside *run.Beside) (*run.Document, error) {
	options.Plan, options.Driver, options.RunID = s.Plan, side.Driver, rand.Uint32()
	if options.Stored() {
		options.Redis = side.Redis
	}
	out, err := load.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	out.Beside = beside
	slos := s.SLO
	if !s.Plan.Breaks() { // what breaks makes messages late
		slos = run.WithDefault(slos, s.Expected)
	}
	out.Judge(slos, s.Expected...)
	missing, err := run.WriteFolder(folder, out)
	if err != nil { // a run counts even without its files
		s.Unwritten(err)
	} else if missing = cmp.Or(missing, report.OfRun(out).Save(filepath.Join(folder, report.File))); missing != nil {
		s.Load.Notice("warning: " + missing.Error())
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

// series is one under way.
type series struct {
	Options
	Case
	report.Result
	told             func(Turn, *run.Document)
	folders          []string // of the sides
	several          bool     // more than one run was asked for, however many there are
	repeat, replaced int      // the latter of invalid runs
}

// Do runs the case repeat times with each side, by turns, into its folder below the folder of the options: a single run into that itself,
// several into <side>/<n> and with a page of them all, which judges each side against the first. told gets each run when it is done.
//
// When ctx ends, the run under way drains and is the last one: the result is of the runs that there are, and of the sides that
// have one. It is an error if there is no such file.
func Do(ctx context.Context, o Options, c Case, repeat int, told func(Turn, *run.Document)) (*report.Result, error) {
	o.Out = filepath.Join(o.Out, c.Folder)
	if o.Load.Notice == nil {
		o.Load.Notice = func(string) {}
	}
	s := &series{Options: o, Case: c, Result: report.Result{Verdicts: true}, told: told, several: len(c.Sides)*repeat > 1, repeat: repeat}
	names := Names(c.Sides)
	for i, folder := range Folders(names) {
		s.Sets, s.folders = append(s.Sets, compare.Set{Name: names[i]}), append(s.folders, filepath.Join(o.Out, folder))
	}
	if !s.several {
		s.folders[0] = o.Out
		made, err := s.round(ctx, []Turn{{0, 1}})
		if err == nil {
			s.Sets[0].Name = made[0].Driver.String()
		}
		return &s.Result, err
	}
	if err := s.all(ctx); err != nil {
		return nil, err
	}
	// Of a series that was interrupted in its first round the last sides have no run.
	s.Sets = slices.DeleteFunc(s.Sets, func(set compare.Set) bool { return len(set.Runs) == 0 })
	for i, set := range s.Sets[1:] { // servers that are there to be compared may differ
		options := compare.Options{Servers: c.Sides[i+1].Redis != c.Sides[0].Redis, Force: true}
		compared, err := compare.Sets(context.Background(), []compare.Set{s.Sets[0], set}, options)
		if err != nil {
			return nil, fmt.Errorf("compare %s with %s: %w", names[0], set.Name, err)
		}
		s.Comparisons = append(s.Comparisons, compared)
	}
	if err := report.OfSets(s.Result).Save(filepath.Join(o.Out, report.File)); err != nil {
		o.Load.Notice("warning: " + err.Error())
	}
	return &s.Result, nil
}

// maxReplaced bounds how many invalid runs of a series are made again.
const maxReplaced = 3

// all does the rounds, of all sides at once or of one. The sides take turns (A B B A A B …), so that a drift of the machine falls on all.
func (s *series) all(ctx context.Context) error {
	atOnce, need := 1, compare.MinRuns
	if s.Beside {
		atOnce, need = len(s.Sides), compare.MinPairs
	}
	var all [][]Turn
	for n := range s.repeat {
		var turns []Turn
		for side := range s.Sides {
			turns = append(turns, Turn{side, n + 1})
		}
		if n%2 == 1 {
			slices.Reverse(turns)
		}
		all = slices.AppendSeq(all, slices.Chunk(turns, atOnce))
	}
	note := fmt.Sprintf("%d runs, %d at a time: about %s", s.repeat*len(s.Sides), atOnce, (time.Duration(len(all)) * (map[bool]time.Duration{true: 12 * time.Second, false: s.Plan.Warmup}[s.Plan.WarmupEnds] + s.Plan.Length())).Round(time.Second))
	if len(s.Sides) > 1 && s.repeat < need {
		note += fmt.Sprintf("; a verdict needs --repeat %d", need)
	}
	s.Load.Notice(note)
	which := s.Load.About.Turn
	for i, turns := range all {
		s.Load.About.Turn = strings.TrimPrefix(fmt.Sprintf("%s, run %d of %d", which, i+1, len(all)), ", ")
		made, err := s.round(ctx, turns)
		if err != nil && (i == 0 || ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
			return err
		}
		full, part, gone := i, false, ""
		for k, d := range made { // no document of a round that was interrupted before its load
			part = part || d.Interrupted
			if redis.IsExternal(s.Sides[turns[k].Side].Redis) { // no other run can be made on it
				gone = cmp.Or(gone, d.ServerGone)
			}
		}
		if err == nil && !part {
			full++
		}
		switch {
		case full == len(all):
		case ctx.Err() != nil:
			s.Interrupted = fmt.Sprintf("%d of %d runs were made in full", full, len(all))
			if part {
				s.Interrupted += ", 1 in part"
			}
			if full*atOnce >= len(s.Sides) && len(s.Sides) > 1 {
				s.Interrupted += "; complete rounds are compared"
			}
			s.Load.Notice("interrupted: " + s.Interrupted)
			return nil
		case gone != "":
			s.Load.Notice(fmt.Sprintf("%d of %d runs are done, and no more can be made: %s", full, len(all), gone))
			return nil
		}
	}
	return nil
}

// round does turns at the same time, and keeps and tells their runs; if one of several is invalid, all are made again. When one of them
// fails the others are interrupted. Progress is called for the first; Live shows each side.
func (s *series) round(interrupted context.Context, turns []Turn) ([]*run.Document, error) {
	ctx, cancel := context.WithCancel(interrupted)
	defer cancel()
	var beside *run.Beside
	if len(turns) > 1 {
		beside = &run.Beside{Block: fmt.Sprintf("%08x", rand.Uint32()), Sides: len(turns)}
		s.Load.Gather = gather(len(turns))
	}
	var running sync.WaitGroup
	documents, errs := make([]*run.Document, len(turns)), make([]error, len(turns))
	for i, turn := range turns {
		own, to, name, folder := s.Load, s.Sides[turn.Side], s.Sets[turn.Side].Name, s.folders[turn.Side]
		if s.several {
			folder, own.About.Name = filepath.Join(folder, strconv.Itoa(turn.N)), name
		}
		if beside != nil {
			own.About.Side = turn.Side
		}
		if i > 0 {
			own.Progress = nil
		}
		running.Go(func() {
			if documents[i], errs[i] = s.run(ctx, own, to, folder, beside); errs[i] != nil {
				cancel()
				if s.several {
					errs[i] = fmt.Errorf("run %d of %s: %w", turn.N, name, errs[i])
				}
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	invalid := func(d *run.Document) bool { return !d.Valid() && d.ServerGone == "" && !d.Interrupted }
	if s.several && interrupted.Err() == nil && s.replaced < maxReplaced && slices.ContainsFunc(documents, invalid) {
		s.replaced++
		s.Load.Notice(fmt.Sprintf("%s was invalid and is made again, %d of at most %d times in a series", s.Load.About.Turn, s.replaced, maxReplaced))
		for i := range turns { // whose runs keep their folders
			turns[i].N = s.repeat + s.replaced
		}
		return s.round(interrupted, turns)
	}
	for i, turn := range turns {
		s.Sets[turn.Side].Runs = append(s.Sets[turn.Side].Runs, documents[i])
		s.told(turn, documents[i])
	}
	return documents, nil
}
