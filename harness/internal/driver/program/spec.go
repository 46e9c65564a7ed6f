package program

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
)

// Forms lists what Parse understands, for help texts and errors.
const Forms = "dq[:release][,faithful] | redisson:<version> | exec:<command line>"

// Spec is a --driver value that names a program of the op protocol. As a driver it
// says what the program is; nothing is opened in this process.
type Spec struct {
	text    string
	dq      *library.DQ
	version *wire.Release
	command []string
}

// Parse reads a --driver value. Nothing is started, so that nobody asks Maven whether it has a
// Redisson that the catalogue does not know; the error is a *driver.SpecError.
func Parse(spec string) (Spec, error) {
	s := Spec{text: spec}
	if library.Names(spec) {
		d, err := library.Parse(spec)
		if err != nil {
			return Spec{}, err
		}
		s.dq = &d
		return s, nil
	}
	name, rest, _ := strings.Cut(spec, ":")
	var err error
	switch name {
	case "redisson":
		var release wire.Release
		release, err = wire.ParseRelease(rest)
		s.version = &release
	case "exec":
		s.command, err = SplitCommandLine(rest)
	default:
		err = fmt.Errorf("expected %s", Forms)
	}
	if err != nil {
		return Spec{}, &driver.SpecError{Spec: spec, Reason: err}
	}
	return s, nil
}

// Identity returns what the --driver value tells. The program says more once it
// has started.
func (s Spec) Identity() driver.Identity {
	switch {
	case s.dq != nil:
		return s.dq.Identity()
	case s.version != nil:
		return driver.Identity{Name: "redisson", Version: s.version.String()}
	}
	return driver.Identity{Name: s.text}
}

// String returns the value as it was given.
func (s Spec) String() string { return s.text }

// Notice says, of a Redisson that the catalogue does not know, which release stands for it;
// it is empty for every other driver.
func (s Spec) Notice() string {
	if s.version == nil || wire.ClosestKnown(*s.version) == *s.version {
		return ""
	}
	return fmt.Sprintf("Redisson %s is not in the catalogue: %s, the nearest that is, stands for it", s.version, wire.ClosestKnown(*s.version))
}

// Release returns the Redisson release that the value names, one that the catalogue knows or not; false for exec,
// whose program tells by itself.
func (s Spec) Release() (wire.Release, bool) {
	switch {
	case s.dq != nil:
		return s.dq.Release, true
	case s.version != nil:
		return *s.version, true
	}
	return wire.Release{}, false
}

// NamedRelease returns the Redisson release that the value names itself; false for a dq without one, which stands
// for the newest, and for exec.
func (s Spec) NamedRelease() (wire.Release, bool) {
	if s.dq != nil && !strings.Contains(s.text, ":") {
		return wire.Release{}, false
	}
	return s.Release()
}

// WithRelease returns the spec for another release: of dq and of Redisson. An
// exec program is what it is.
func (s Spec) WithRelease(release wire.Release) Spec {
	switch {
	case s.dq != nil:
		d := *s.dq
		d.Release = release
		s.dq = &d
	case s.version != nil:
		s.version = &release
	}
	return s
}

// Start starts the program; the library is one without a process. Building the
// Redisson driver on first use is told to progress a line at a time; log, which may
// be nil, gets what a process writes to stderr.
func (s Spec) Start(ctx context.Context, progress func(string), log io.Writer) (Program, error) {
	if s.dq != nil {
		return NewLibrary(*s.dq), nil
	}
	p, err := s.StartProcess(ctx, progress, log)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// StartProcess is Start for redisson and exec, with variables besides those of this process;
// it refuses dq.
func (s Spec) StartProcess(ctx context.Context, progress func(string), log io.Writer, environment ...string) (*Process, error) {
	command, name := s.command, s.text
	switch {
	case s.dq != nil:
		return nil, fmt.Errorf("driver %s: expected a program of its own, such as redisson:<version>", s)
	case s.version == nil:
		name = command[0]
	default:
		var err error
		if command, err = s.Command(ctx, progress); err != nil {
			return nil, err
		}
	}
	return startAs(ctx, name, command, log, helloTimeout, environment...)
}

// Command is the command line of a Redisson, which is built on first use; every other driver is refused.
func (s Spec) Command(ctx context.Context, progress func(string)) ([]string, error) {
	if s.version == nil {
		return nil, fmt.Errorf("driver %s: expected redisson:<version>", s)
	}
	built, err := redisson.Build(ctx, *s.version, progress)
	if err != nil {
		return nil, err
	}
	return built.Command, nil
}

// Open refuses: the queues of a program are opened in it, by the ops.
func (s Spec) Open(context.Context, driver.Target, ...string) ([]driver.Queue, error) {
	return nil, fmt.Errorf("driver %s: its queues are opened in its own process", s)
}

// Store looks at the keys of Redisson's format, which a program of another kind may
// not use.
func (Spec) Store(conn redis.Conn, name string) store.Store {
	return store.Redisson(conn, name)
}
