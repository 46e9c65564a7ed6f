// Package spec answers: which driver does a --driver value name?
package spec

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/baseline"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Forms lists what Parse understands, for help texts and errors; programForms what ParseProgram does.
const (
	Forms        = "dq[:release][,faithful] | redisson:<version> | memory | redis-list | redis-zset | exec:<command line>"
	programForms = "dq[:release][,faithful] | redisson:<version> | exec:<command line>"
)

// baselines are the drivers that are no programs.
var baselines = []driver.Driver{baseline.NewMemory(), baseline.List, baseline.ZSet}

// Parse reads a --driver value. Nothing is started; the error is a *driver.SpecError.
func Parse(spec string) (driver.Driver, error) {
	for _, d := range baselines {
		if spec == d.Identity().Name {
			return d, nil
		}
	}
	if library.Names(spec) {
		return library.Parse(spec)
	}
	p, err := parse(spec, Forms)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Program is a --driver value that names a program of the op protocol. As a driver it says what the program is; its
// queues are opened in the program.
type Program struct {
	text    string
	dq      *library.DQ
	version *wire.Release
	command []string
	shipped bool
}

// ParseProgram reads a --driver value that verify can judge. Nothing is started: Maven is not asked whether it has a
// Redisson that the catalogue does not know. The error is a *driver.SpecError.
func ParseProgram(spec string) (Program, error) {
	if library.Names(spec) {
		d, err := library.Parse(spec)
		return Program{text: spec, dq: &d}, err
	}
	return parse(spec, programForms)
}

func parse(spec, forms string) (Program, error) {
	p := Program{text: spec}
	name, rest, _ := strings.Cut(spec, ":")
	var err error
	switch name {
	case "redisson":
		p.version = new(wire.Release)
		*p.version, err = wire.ParseRelease(rest)
	case "exec":
		p.command, err = program.SplitCommandLine(rest)
	default:
		names := strings.FieldsFunc(forms, func(r rune) bool { return strings.ContainsRune(" |:[]<>,", r) })
		err = fmt.Errorf("expected %s%s", forms, text.DidYouMean(name, names))
	}
	if err != nil {
		return Program{}, &driver.SpecError{Spec: spec, Reason: err}
	}
	return p, nil
}

// Identity returns what the --driver value tells. The program says more once it has started.
func (p Program) Identity() driver.Identity {
	switch {
	case p.dq != nil:
		return p.dq.Identity()
	case p.version != nil:
		return driver.Identity{Name: "redisson", Version: p.version.String()}
	}
	return driver.Identity{Name: p.text}
}

// String returns the value as it was given.
func (p Program) String() string { return p.text }

// Notice says, of a Redisson that the catalogue does not know, which release stands for it; it is empty for every other driver.
func (p Program) Notice() string {
	if p.version == nil || wire.ClosestKnown(*p.version) == *p.version {
		return ""
	}
	return fmt.Sprintf("Redisson %s is not in the catalogue: %s, the nearest that is, stands for it", p.version, wire.ClosestKnown(*p.version))
}

// Release returns the Redisson release that the value means, one that the catalogue knows or not; false for exec, whose program
// tells by itself.
func (p Program) Release() (wire.Release, bool) {
	switch {
	case p.dq != nil:
		return p.dq.Release, true
	case p.version != nil:
		return *p.version, true
	}
	return wire.Release{}, false
}

// NamedRelease is Release for a value that names one; false for a dq without one, which means the newest.
func (p Program) NamedRelease() (wire.Release, bool) {
	if p.dq != nil && !strings.Contains(p.text, ":") {
		return wire.Release{}, false
	}
	return p.Release()
}

// WithRelease returns the spec for another release: of dq and of Redisson. An exec program is what it is.
func (p Program) WithRelease(release wire.Release) Program {
	switch {
	case p.dq != nil:
		d := *p.dq
		d.Release = release
		p.dq = &d
	case p.version != nil:
		p.version = &release
	}
	return p
}

// AsShipped has Start give dq as people deploy it, in the place of dq with Redisson's commands only.
func (p Program) AsShipped() Program {
	p.shipped = true
	return p
}

// Start starts the program; dq is one in this process. Building the Redisson driver on first use is told to progress a line at a
// time; log, which may be nil, gets what a process writes to stderr.
func (p Program) Start(ctx context.Context, progress func(string), log io.Writer) (program.Program, error) {
	switch {
	case p.dq != nil && p.shipped:
		return library.Deployed(*p.dq), nil
	case p.dq != nil:
		return library.Judged(*p.dq), nil
	}
	link, err := p.StartProcess(ctx, progress, log)
	if err != nil {
		return nil, err
	}
	return link, nil
}

// StartProcess is Start for redisson and exec, with more environment variables.
func (p Program) StartProcess(ctx context.Context, progress func(string), log io.Writer, environment ...string) (*program.Link, error) {
	if p.command != nil {
		return program.Start(ctx, slices.Clone(p.command), log, environment...)
	}
	command, err := p.Command(ctx, progress)
	if err != nil {
		return nil, err
	}
	return program.StartAs(ctx, p.text, command, log, environment...)
}

// Command is the command line of a Redisson, which is built on first use; every other driver is refused.
func (p Program) Command(ctx context.Context, progress func(string)) ([]string, error) {
	if p.version == nil {
		return nil, fmt.Errorf("driver %s: expected redisson:<version>", p)
	}
	built, err := redisson.Build(ctx, *p.version, progress)
	if err != nil {
		return nil, err
	}
	return built.Command, nil
}

// Open refuses: the queues of a program are opened in it, by the ops.
func (p Program) Open(context.Context, driver.Target, ...string) ([]driver.Queue, error) {
	return nil, fmt.Errorf("driver %s: its queues are opened in its own process", p)
}

// Store looks at the keys of Redisson's format, which a program of another kind may not use.
func (Program) Store(conn redis.Conn, name string) store.Store { return store.Redisson(conn, name) }
