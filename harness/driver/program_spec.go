package driver

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver/redisson"
)

// ProgramForms lists what ParseProgram understands, for help texts and errors.
const ProgramForms = "dq[:release][,faithful] | redisson:<version> | exec:<command line>"

// ProgramSpec is a --driver value that names a program of the op protocol.
type ProgramSpec struct {
	text    string
	dq      *DQ
	version *wire.Release
	command []string
}

// ParseProgram reads a --driver value. Nothing is started; the error is a
// *SpecError.
func ParseProgram(spec string) (ProgramSpec, error) {
	s := ProgramSpec{text: spec}
	name, rest, _ := strings.Cut(spec, ":")
	var err error
	switch {
	case name == "dq" || strings.HasPrefix(name, "dq,"):
		var d DQ
		d, err = parseDQ(spec)
		s.dq = &d
	case name == "redisson":
		var release wire.Release
		release, err = wire.LookupRelease(rest)
		s.version = &release
	case name == "exec":
		s.command, err = SplitCommandLine(rest)
	default:
		err = fmt.Errorf("expected %s", ProgramForms)
	}
	if err != nil {
		return ProgramSpec{}, &SpecError{spec, err}
	}
	return s, nil
}

// String returns the value as it was given.
func (s ProgramSpec) String() string { return s.text }

// Release returns the Redisson release that the value names; false for exec,
// whose program tells by itself.
func (s ProgramSpec) Release() (wire.Release, bool) {
	switch {
	case s.dq != nil:
		return s.dq.Release, true
	case s.version != nil:
		return *s.version, true
	}
	return wire.Release{}, false
}

// WithRelease returns the spec for another release: of dq and of Redisson. An
// exec program is what it is.
func (s ProgramSpec) WithRelease(release wire.Release) ProgramSpec {
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

// Prepare builds the Redisson driver if it has not been; nothing else needs it.
func (s ProgramSpec) Prepare(ctx context.Context, progress func(string)) error {
	if s.version == nil {
		return nil
	}
	_, err := redisson.Build(ctx, s.version.String(), progress)
	return err
}

// Start starts the program. Building the Redisson driver on first use is told to
// progress a line at a time; log, which may be nil, gets what an external program
// writes to stderr.
func (s ProgramSpec) Start(ctx context.Context, progress func(string), log io.Writer) (Program, error) {
	command := s.command
	switch {
	case s.dq != nil:
		return NewDQProgram(*s.dq), nil
	case s.version != nil:
		built, err := redisson.Build(ctx, s.version.String(), progress)
		if err != nil {
			return nil, err
		}
		command = built.Command
	}
	p, err := StartExternal(ctx, command, log)
	if err != nil {
		return nil, err
	}
	return p, nil
}
