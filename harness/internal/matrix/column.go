package matrix

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/interop"
	"github.com/dq-bench/dq-bench/internal/server"
)

// column runs everything at one release, on a server of its own.
func (p *Plan) column(ctx context.Context, release wire.Release) *Column {
	began := time.Now()
	c := &Column{Release: release, Rows: map[string]*Row{}}
	ctx, cancel := context.WithTimeout(ctx, p.ColumnTimeout)
	defer cancel()
	notice := func(text string) { p.Notice(fmt.Sprintf("%-7s %s", release, text)) }
	c.Err = p.fill(ctx, c, notice)
	c.Took = time.Since(began)
	if c.Err != nil {
		notice("not complete: " + c.Err.Error())
	}
	return c
}

func (p *Plan) fill(ctx context.Context, c *Column, notice func(string)) (err error) {
	srv, err := server.Start(ctx, p.Redis, notice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	how, _, _ := strings.Cut(srv.How, " ")
	c.Server = fmt.Sprintf("%s %s (%s)", srv.Product, srv.Version, how)
	real, err := program.Redisson(c.Release).Start(ctx, notice, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, real.Close()) }()
	ours := program.NewLibrary(library.DQ{Release: c.Release})

	if err := p.conform(ctx, c, srv, real, ours, notice); err != nil {
		return err
	}
	if err := share(ctx, c, srv, real, notice); err != nil {
		return err
	}
	notice(c.Summary())
	return nil
}

// conform runs every case by both, and those that did not come out well once more:
// a machine under load stretches what a case waits for. The table tells which.
func (p *Plan) conform(
	ctx context.Context, c *Column, srv *server.Server, real, ours program.Program, notice func(string),
) error {
	warmUp(ctx, real)
	rows, err := judgeBoth(ctx, srv, real, ours, c.Release, p.Cases)
	if err != nil {
		return err
	}
	c.Rows = rows
	var again []*conformance.Case
	for _, one := range p.Cases {
		if rows[one.ID].bad() {
			again = append(again, one)
		}
	}
	notice(fmt.Sprintf("%d cases have run, %d of them run again", len(p.Cases), len(again)))
	if len(again) == 0 {
		return nil
	}
	second, err := judgeBoth(ctx, srv, real, ours, c.Release, again)
	for id, row := range second {
		row.FirstRun = c.Rows[id].Detail()
		c.Rows[id] = row
	}
	return err
}

// warmUp makes Redisson load its codecs. The first value of a codec takes up to
// half a second in between the reading of the clock and the command, which looks
// like a shorter delay.
func warmUp(ctx context.Context, program program.Program) {
	for _, codec := range program.Introduction().Codecs {
		for _, value := range []map[string]any{
			{"t": "string", "v": "warm"}, {"t": "long", "v": "1"}, {"t": "pojo", "id": 1, "name": "warm", "total": "1"},
		} {
			// A codec that refuses a value has been loaded too.
			_, _ = program.Call(ctx, "codec.encode", map[string]any{"codec": codec, "value": value})
		}
	}
}

// judgeBoth runs cases by Redisson, then by dq, and compares them.
func judgeBoth(
	ctx context.Context, srv *server.Server, real, ours program.Program, release wire.Release, cases []*conformance.Case,
) (map[string]*Row, error) {
	theirs, err := judgeAll(ctx, srv, real, release, cases)
	if err != nil {
		return nil, err
	}
	own, err := judgeAll(ctx, srv, ours, release, cases)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]*Row, len(cases))
	for i, one := range cases {
		row := &Row{Redisson: theirs[i], DQ: own[i]}
		row.compare(one)
		rows[one.ID] = row
	}
	return rows, nil
}

func judgeAll(
	ctx context.Context, srv *server.Server, program program.Program, release wire.Release, cases []*conformance.Case,
) ([]conformance.Result, error) {
	runner, err := conformance.NewRunner(ctx, srv, program, release)
	if err != nil {
		return nil, err
	}
	var results []conformance.Result
	for _, one := range cases {
		if ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("before %s: %w", one.ID, ctx.Err()), runner.Close())
		}
		result := runner.Judge(ctx, one, nil)
		if err := runner.Stopped(); err != nil {
			return nil, errors.Join(err, runner.Close())
		}
		results = append(results, result)
	}
	return results, runner.Close()
}

// share puts Redisson and dq, as people deploy it, on one queue: at the same release,
// and dq at a release on the other side of 3.21.1. A case that failed runs once more.
func share(ctx context.Context, c *Column, srv *server.Server, real program.Program, notice func(string)) (err error) {
	across := wire.Release{Major: 3, Minor: 21, Patch: 1}
	if c.Release.Layout() == across.Layout() {
		across = wire.Release{Major: 3, Minor: 21, Patch: 0}
	}
	redisson := interop.Side{Program: real, Release: c.Release}
	for _, release := range []wire.Release{c.Release, across} {
		ours := program.NewDeployedLibrary(library.DQ{Release: release})
		defer func() { err = errors.Join(err, ours.Close()) }()
		side := interop.Side{Program: ours, Release: release}
		err = interop.RunAll(ctx, srv, redisson, side, func(r interop.Result) {
			shared := Shared{Result: r}
			if r.Err != nil {
				notice(r.Text())
				shared = Shared{Result: interop.Run(ctx, srv, r.Case, r.Writer, r.Reader), FirstRun: r.Err}
			}
			c.Interop = append(c.Interop, shared)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
