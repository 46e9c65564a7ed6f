package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Plan is one release to be looked at.
type Plan struct {
	Release wire.Release
	// Redis is the value of --redis, no address.
	Redis  string
	Cases  []*conformance.Case
	Oracle *conformance.Oracle
	// Notice gets a line at a time about the progress; Finished each result.
	Notice   func(string)
	Finished func(conformance.Result)
	// Log, which may be nil, gets what the program writes to stderr.
	Log io.Writer
}

// Recorded reports whether the release was recorded, so that there is nothing to adopt.
func (p *Plan) Recorded() bool { return slices.Contains(p.Oracle.Releases(), p.Release) }

// Run builds the release, runs every case, those that do not come out as at the nearest one once
// more, and compares. It takes minutes. An error says that there is nothing to compare: Maven
// does not have the release, no server can be had, or a case could not be run.
func (p *Plan) Run(ctx context.Context) (*Adoption, error) {
	shown, err := p.profile(ctx)
	if err != nil {
		return nil, err
	}
	report, err := p.record(ctx, p.Cases)
	if err != nil {
		return nil, err
	}
	a, err := Compare(p.Release, report, p.Cases, p.Oracle, shown)
	if err != nil {
		return nil, err
	}
	again := p.again(a)
	if len(again) == 0 {
		return a, undecided(report)
	}
	p.Notice(fmt.Sprintf("%d cases run again, for a busy machine may show in them", len(again)))
	second, err := p.record(ctx, again)
	if err != nil {
		return nil, err
	}
	report = merged(report, second)
	if err := undecided(report); err != nil {
		return nil, err
	}
	return Compare(p.Release, report, p.Cases, p.Oracle, shown)
}

// again returns the cases that are worth a second run: errors, failures, differences that few
// cases share, and those in which Redisson was held up. What many share is no accident.
func (p *Plan) again(a *Adoption) []*conformance.Case {
	const few = 5
	shared := map[string]int{}
	for _, c := range a.Cases {
		shared[c.Cause]++
	}
	var cases []*conformance.Case
	for i, c := range a.Cases {
		failed := a.Report.Cases[i].Status == conformance.Error
		if failed || heldUp(a.Report.Cases[i].Lines) || c.Outcome == Behaviour || (c.Outcome == Commands || c.Outcome == Spelling) && shared[c.Cause] <= few {
			cases = append(cases, p.Cases[slices.IndexFunc(p.Cases, func(one *conformance.Case) bool { return one.ID == c.ID })])
		}
	}
	return cases
}

// heldUp reports whether each transfer of a case came long after its client had read the clock:
// no due time of the case can be told well then.
func heldUp(lines []monitor.Line) bool {
	const long = 100 // ms
	transfers, soonest := 0, int64(math.MaxInt64)
	for _, c := range trace.Group(lines) {
		if c.Transfer != nil {
			transfers++
			soonest = min(soonest, c.Time/1000-c.Transfer.Now)
		}
	}
	return transfers > 0 && soonest > long
}

// record runs cases; the replies and keys that they expect are judged, the commands are not.
func (p *Plan) record(ctx context.Context, cases []*conformance.Case) (*conformance.Report, error) {
	plan := conformance.Plan{
		Spec: program.Redisson(p.Release), Redis: p.Redis, Cases: cases,
		Notice: p.Notice, Finished: p.Finished, Log: p.Log,
	}
	return plan.Run(ctx)
}

// merged is the first run with the results of the second in their places.
func merged(first, second *conformance.Report) *conformance.Report {
	all := conformance.NewReport(first.Driver, first.Release, first.Server)
	all.Total, all.StandsIn = first.Total, first.StandsIn
	for _, r := range first.Cases {
		if i := slices.IndexFunc(second.Cases, func(s conformance.Result) bool { return s.ID == r.ID }); i >= 0 {
			r = second.Cases[i]
		}
		all.Add(r)
	}
	return all
}

// undecided is an error where a case could not be run: what is not known is not the same.
func undecided(report *conformance.Report) error {
	for _, r := range report.Cases {
		if r.Status == conformance.Error {
			return fmt.Errorf("%d of %d cases could not be run, the first %s: %s", report.Counts.Error, len(report.Cases), r.ID, r.Detail)
		}
	}
	return nil
}

// Profile is what a release tells without a server.
type Profile struct {
	// DefaultCodec is the name of the one that writes what "default" writes; "unknown" where
	// none of them does.
	DefaultCodec string
}

// profileTimeout bounds the calls of profile, in a JVM that has just started.
const profileTimeout = 30 * time.Second

// profile starts the program for what needs no server.
func (p *Plan) profile(ctx context.Context) (shown Profile, err error) {
	started, err := program.Redisson(p.Release).Start(ctx, p.Notice, p.Log)
	if err != nil {
		return shown, err
	}
	defer func() { err = errors.Join(err, started.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, profileTimeout)
	defer cancel()
	return profileOf(ctx, started)
}

// profileOf asks a program which of its codecs is the default.
func profileOf(ctx context.Context, asked program.Program) (Profile, error) {
	shown := Profile{DefaultCodec: "unknown"}
	byDefault, err := encode(ctx, asked, "default")
	if err != nil {
		return shown, fmt.Errorf("asking for the default codec: %w", err)
	}
	for _, name := range asked.Introduction().Codecs {
		// A codec that refuses one of the values is not the default.
		if bytes, err := encode(ctx, asked, name); err == nil && name != "default" && slices.Equal(bytes, byDefault) {
			shown.DefaultCodec = name
			break
		}
	}
	return shown, nil
}

// encode returns the bytes of some values that tell codecs apart.
func encode(ctx context.Context, asked program.Program, codec string) ([]string, error) {
	var all []string
	for _, value := range []map[string]any{
		{"t": "string", "v": "hello"}, {"t": "long", "v": "42"}, {"t": "pojo", "id": 7, "name": "bob", "total": "99"},
	} {
		result, err := asked.Call(ctx, "codec.encode", map[string]any{"codec": codec, "value": value})
		if err != nil {
			return nil, err
		}
		var encoded struct{ Bytes string }
		if err := json.Unmarshal(result, &encoded); err != nil {
			return nil, fmt.Errorf("driver %s: codec.encode: %w", driver.Identity{Name: asked.Introduction().Name}, err)
		}
		all = append(all, encoded.Bytes)
	}
	return all, nil
}
