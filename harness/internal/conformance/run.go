package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Plan is a whole run.
type Plan struct {
	Spec   spec.Program
	Start  func(context.Context) (program.Program, error) // starts the program in the place of Spec; nil for Spec
	Beside *spec.Program                                  // a second implementation for cases of two; nil for none
	// Release overrides the release that the program names, or that Spec does; zero for no override.
	Release  wire.Release
	Redis    string // the value of --redis
	Cases    []*Case
	All      []*Case // also those that --run leaves out
	Oracle   *Oracle // nil for no comparison of the traces
	Level    Level   // empty for Wire; State on a server that has no MONITOR
	Baseline Baseline
	// Server says that the server is judged, by a program that is known to be right.
	Server bool
	// MaxFailures ends the run once so many cases in a row have failed alike, or the program has ended or not answered in
	// so many alike; 0 for never. A server is judged by all cases.
	MaxFailures int
	Notice      func(string) // gets a line at a time about the progress
	Finished    func(Result)
	Log         io.Writer // gets stderr of an external program; nil for nowhere

	first time.Duration // bounds a call that has to warm the program up; 0 for firstTimeout
	wait  time.Duration // bounds a wait that names no time; 0 for waitTimeout
}

// Matching are the cases whose ids match a regular expression.
func Matching(cases []*Case, pattern string) ([]*Case, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--run %q: expected a regular expression for case ids: %w", pattern, err)
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c *Case) bool { return !expression.MatchString(c.ID) }), nil
}

// Run starts server and program, runs the cases and stops both. When ctx ends, or another client uses the server, it returns
// the report so far beside the error.
func (p *Plan) Run(ctx context.Context) (report *Report, err error) {
	r, err := p.begin(ctx)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err != nil {
		return nil, err
	}
	report = NewReport(r.hello.Identity, r.release.String(), fmt.Sprintf("%s %s", r.server.Product, r.server.Version))
	if r.hello.Name == "dq" {
		report.As = map[bool]string{true: "as shipped", false: "WithRedissonCommands"}[p.Level == State]
	}
	report.Total, report.Level, report.StandsIn, report.Unseen = len(p.Cases), p.Level, p.Spec.Notice(), r.unseen
	if p.Server {
		report.Subject, p.MaxFailures = "server", 0
	}
	if report.StandsIn != "" {
		p.Notice(report.StandsIn)
	}
	return report, r.judge(ctx, report)
}

// Random runs drawn histories with the program, and beside it with dq as Redisson does it on a server of its own.
func (p *Plan) Random(ctx context.Context, seeds uint64) (failure string, histories uint64, err error) {
	p.Level = State
	port, err := p.begin(ctx)
	defer func() { err = errors.Join(err, port.Close()) }()
	if err != nil {
		return "", 0, err
	}
	reference, err := spec.ParseProgram("dq:" + port.release.String() + ",faithful")
	if err != nil {
		return "", 0, err
	}
	second, err := (&Plan{Spec: reference, Redis: "process", Level: State, Notice: p.Notice}).begin(ctx)
	defer func() { err = errors.Join(err, second.Close()) }()
	if err != nil {
		return "", 0, err
	}
	return (&Random{Port: port, Reference: second, Seeds: seeds}).Run(ctx)
}

// begin starts server and program and has the program do a case. Close ends what has begun, also beside an error.
func (p *Plan) begin(ctx context.Context) (r *Runner, err error) {
	p.Level = cmp.Or(p.Level, Wire)
	r = &Runner{Plan: p}
	if r.server, err = redis.Start(ctx, p.Redis, p.Notice); err != nil {
		return r, err
	}
	r.ends = append(r.ends, r.server.Close)
	if r.unseen, err = p.unseen(ctx, r.server); err != nil {
		return r, err
	}
	if r.program, err = p.start(ctx); err != nil {
		return r, err
	}
	r.ends = append(r.ends, r.endProgram)
	r.hello = r.program.Introduction()
	r.release = p.releaseOf(r.hello)
	if err = canBeJudged(r.hello, p.Cases); err != nil {
		return r, err
	}
	if err = r.connect(ctx); err != nil {
		return r, err
	}
	if p.Beside != nil {
		if r.beside, err = p.Beside.Start(ctx, p.Notice, p.Log); err != nil {
			return r, err
		}
		r.ends = append(r.ends, r.beside.Close)
	}
	return r, r.warmUp(ctx)
}

func (p *Plan) start(ctx context.Context) (program.Program, error) {
	if p.Start != nil {
		return p.Start(ctx)
	}
	tested := p.Spec
	tested.Shipped = p.Level == State // the other levels compare commands: dq has an option for those
	return tested.Start(ctx, p.Notice, p.Log)
}

// unseen says why the commands of the program are not seen on a server: it has no MONITOR, or one that cannot be read. The
// level is State then; a recording cannot be made. It returns "" for a server with MONITOR.
func (p *Plan) unseen(ctx context.Context, srv *redis.Server) (string, error) {
	why := trace.Unreadable(srv.Product, srv.Version)
	if why == "" {
		conn, err := trace.Dial(ctx, srv.URL())
		switch {
		case err == nil:
			return "", conn.Close()
		case !errors.Is(err, trace.ErrRefused) || !p.Server && errors.Is(asForbidden(err), ErrForbidden):
			return "", asForbidden(err)
		}
		why = err.Error()
	}
	if p.Level != State && p.Oracle == nil {
		return "", fmt.Errorf("a recording needs the commands that the server saw: %s", why)
	}
	p.Level = State
	p.Notice("replies and keys are judged, commands are not: " + why)
	return "no MONITOR", nil
}

// judge runs cases into the report, which has them in their order, though the slow ones end last.
func (r *Runner) judge(ctx context.Context, report *Report) error {
	limit := alike{most: r.MaxFailures}
	slow, judged := r.ahead(ctx)
	others := slices.DeleteFunc(slices.Clone(r.Cases), func(c *Case) bool { return slices.Contains(slow, c) })
	defer func() {
		at := func(result Result) int {
			return slices.IndexFunc(r.Cases, func(c *Case) bool { return c.ID == result.ID })
		}
		slices.SortFunc(report.Cases, func(a, b Result) int { return at(a) - at(b) })
		report.Causes = causesOf(report.Cases)
	}()
	for i, c := range slices.Concat(others, slow) {
		var result Result
		if i < len(others) {
			result = r.Judge(ctx, c, r.Oracle)
		} else {
			result = <-judged
		}
		if r.stopped != nil {
			return fmt.Errorf("%s and what follows it were not judged: %w", c.ID, r.stopped)
		}
		if ctx.Err() != nil {
			return ctx.Err() // what a case shows while it is stopped is no verdict
		}
		if result.Status == Fail || result.Status == Error {
			result.Command = r.command(c)
		}
		report.Add(result)
		r.Finished(result)
		if report.Stopped = limit.after(result); report.Stopped != "" {
			return nil
		}
	}
	return nil
}

// ahead has the slow cases judged while r judges the others, on a second server and by a second program, since cases kill
// connections, count clients and read MONITOR. Where it cannot have these, or commands are compared, it leaves all to r.
func (r *Runner) ahead(ctx context.Context) (slow []*Case, judged chan Result) {
	plan := *r.Plan
	plan.Notice = func(string) {} // r has said it all
	plan.Cases = slices.DeleteFunc(slices.Clone(r.Cases), func(c *Case) bool { return !c.Slow || !c.HoldsFor(r.release) })
	if n := len(plan.Cases); n == 0 || n == len(r.Cases) || r.Level != State || r.server.How == "external" {
		return nil, nil
	}
	second, err := plan.begin(ctx)
	if err != nil {
		_ = second.Close() // r judges all
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	judged = make(chan Result, len(plan.Cases))
	go func() {
		defer close(judged)
		for _, c := range plan.Cases {
			judged <- second.Judge(ctx, c, second.Oracle)
		}
	}()
	r.ends = append(r.ends, func() error {
		cancel()
		for range judged { // until no case runs
		}
		return second.Close()
	})
	return plan.Cases, judged
}

// command runs one case alone.
func (p *Plan) command(c *Case) string {
	words := []string{"dq-bench", "verify", "--driver", p.Spec.String()}
	if p.Beside != nil {
		words = append(words, "--driver", p.Beside.String())
	}
	if p.Release != (wire.Release{}) {
		words = append(words, "--release", p.Release.String())
	}
	if p.Level != "" && p.Level != Wire {
		words = append(words, "--level", string(p.Level))
	}
	switch {
	case p.Redis == "auto":
	case redis.IsExternal(p.Redis):
		words = append(words, "--redis", "URL") // which may hold a password
	default:
		words = append(words, "--redis", p.Redis)
	}
	words = append(words, "--run", "^"+regexp.QuoteMeta(c.ID)+"$")
	for i, word := range words {
		words[i] = text.Shell(word)
	}
	return strings.Join(words, " ")
}

// warmUp runs a case that is neither judged nor recorded: a JVM does everything slowly once. An error says that the
// program cannot be used at all.
func (r *Runner) warmUp(ctx context.Context) error {
	steps := []*Step{{Call: "dq.offer", With: map[string]any{"value": "a", "delay": "1h"}}, {Call: "dq.poll"}}
	steps = slices.DeleteFunc(steps, func(s *Step) bool { return !r.hello.Can(s.capability()) })
	_, err := r.Observe(ctx, &Case{ID: "warm-up/offer", Steps: steps})
	switch {
	case r.stopped != nil:
		return err
	case r.failed() != nil:
		return &ProgramError{Err: fmt.Errorf("the driver cannot be used: %w", r.failed())}
	case err != nil:
		return fmt.Errorf("the driver cannot be used: %w", err)
	}
	r.warm = true
	return nil
}

// releaseOf is the given one, or the driver's, or the version that a program names, or the newest.
func (p *Plan) releaseOf(hello program.Hello) wire.Release {
	if named := cmp.Or(p.Release, p.Spec.Release); named != (wire.Release{}) {
		return named
	}
	if r, err := wire.LookupRelease(hello.Version); err == nil {
		return r
	}
	return wire.Newest()
}
