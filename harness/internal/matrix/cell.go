package matrix

import (
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Row is one case at one release, run by both.
type Row struct {
	Redisson, DQ conformance.Result
	// TraceDiffers says in what the commands of the two differ; empty where they do
	// not, or were not compared.
	TraceDiffers string
	// NotCompared is the reason why the commands were not compared.
	NotCompared string
	// FirstRun says what went wrong before this, its second run; empty for a row
	// that has run once.
	FirstRun string
}

// Cell is a row in one word of the table.
type Cell string

// The cells, best first.
const (
	// Identical: both meet the case, and the server saw the same commands.
	Identical Cell = "T"
	// SameState: both meet the case, and their commands are not to be compared.
	SameState Cell = "S"
	// Known: one of them fails the case for a reason that the case gives.
	Known Cell = "k"
	// Unavailable: the release, or dq, has no such call or codec.
	Unavailable Cell = "–"
	// Elsewhere: the case is about other releases.
	Elsewhere Cell = "·"
	// Differs: both meet the case by different commands.
	Differs Cell = "d"
	// Failure: one of them does not meet the case.
	Failure Cell = "X"
	// Broken: harness, server or program failed.
	Broken Cell = "E"
)

// Cell says what a row comes to.
func (r *Row) Cell() Cell {
	either := func(status conformance.Status) bool { return r.Redisson.Status == status || r.DQ.Status == status }
	switch {
	case either(conformance.Error):
		return Broken
	case either(conformance.Fail):
		return Failure
	case either(conformance.FailedAsExpected):
		return Known
	case either(conformance.Skip) && (r.Redisson.Absent != "" || r.DQ.Absent != ""):
		return Unavailable
	case either(conformance.Skip):
		return Elsewhere
	case r.TraceDiffers != "":
		return Differs
	case r.NotCompared != "":
		return SameState
	}
	return Identical
}

// bad reports whether the cell shows a failure, a difference or an error.
func (r *Row) bad() bool { return slices.Contains([]Cell{Failure, Differs, Broken}, r.Cell()) }

// Detail says what lies behind a cell that is not as it should be.
func (r *Row) Detail() string {
	switch r.Cell() {
	case Differs:
		return r.TraceDiffers
	case Failure, Broken, Known, Unavailable:
		text := ""
		for _, side := range []struct {
			name   string
			result conformance.Result
		}{{"Redisson", r.Redisson}, {"dq", r.DQ}} {
			if side.result.Status != conformance.Pass {
				text += fmt.Sprintf("%s: %s: %s\n", side.name, side.result.Status, side.result.Detail)
			}
		}
		return text
	}
	return ""
}

// compare fills in what the commands of both runs show.
func (r *Row) compare(c *conformance.Case) {
	if r.Redisson.Status != conformance.Pass || r.DQ.Status != conformance.Pass {
		return
	}
	if c.Trace != "" {
		r.NotCompared = c.Trace
		return
	}
	want, err := normal("Redisson", r.Redisson.Lines)
	if err == nil {
		var got *trace.Trace
		if got, err = normal("dq", r.DQ.Lines); err == nil {
			if f := trace.Compare(want, got, trace.DefaultTolerance); f != nil {
				r.TraceDiffers = f.Meaning + "\n" + f.Window
			}
			return
		}
	}
	r.TraceDiffers = err.Error()
}

// normal brings the lines of one case into normal form.
func normal(name string, lines []monitor.Line) (*trace.Trace, error) {
	recording := &monitor.Recording{Path: name, Lines: lines}
	cases := recording.Cases()
	if len(cases) != 1 {
		return nil, fmt.Errorf("%s: expected one case mark at the beginning, got %d cases", name, len(cases))
	}
	return trace.Normalise(recording, name, cases[0].Lines)
}
