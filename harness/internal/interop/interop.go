// Package interop answers: do two implementations share a queue?
//
// Two sides, such as the real Redisson of a release and dq at that release, are
// put on one queue. Each case lets one of them write and the other one read, in
// both directions, and looks at the server in between: every member byte for
// byte. Sides whose members have the same layout must share the queue in every
// way. Across 3.21.1 dq, which reads both layouts, must deliver everything, and a side
// that reads one must fail in the ways that Redisson was seen to fail.
package interop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// caseTimeout bounds one case. It is for machines under load: all waits in a case
// are for events, and the longest is Redisson's retry after 5 s.
const caseTimeout = 2 * time.Minute

// Side is one of the implementations at a queue.
type Side struct {
	Program program.Program
	// Release is the Redisson release that the program behaves as.
	Release wire.Release
	// Faithful opens dq's queues with Redisson's timing and retries, and its failure at
	// members of the other layout.
	Faithful bool
}

// String names the side: "redisson:3.16.6", "dq:3.16.6,faithful".
func (s Side) String() string {
	text := s.Program.Introduction().Name + ":" + s.Release.String()
	if s.Faithful {
		text += ",faithful"
	}
	return text
}

// readsBoth reports whether the side reads members of both layouts: dq does, unless it
// is told to be faithful or strict.
func (s Side) readsBoth() bool {
	return s.Program.Introduction().Can(program.BothLayouts) && !s.Faithful
}

// Case is one thing that two sides must be able to do at one queue, or must fail
// at.
type Case struct {
	// ID is interop/<name> for sides that share a layout, mixed/<name> for others.
	ID string
	// Requirement is a sentence that says what must happen.
	Requirement string

	// symmetric says that both sides do the same, so that one direction is all.
	symmetric bool
	run       func(context.Context, *session, Side, Side) error
}

// Result is the outcome of a case in one direction.
type Result struct {
	Case   Case
	Writer Side
	Reader Side
	// Err says what was expected and what came; nil for a case that passed.
	Err error
	// Took is how long the case ran.
	Took time.Duration
	// Note says what the case counted; empty for most.
	Note string
}

// Cases returns the cases for two sides: those of a shared queue where both pack
// members alike, else those of a mixed fleet.
func Cases(a, b Side) []Case {
	if a.Release.Layout() != b.Release.Layout() {
		return mixedCases(a, b)
	}
	return append(sharingCases(), codecCases(a, b)...)
}

// Run runs a case with writer and reader at a queue of their own on srv, and
// removes the queue afterwards. Nothing else on the server is touched.
func Run(ctx context.Context, srv *redis.Server, c Case, writer, reader Side) Result {
	began := time.Now()
	result := Result{Case: c, Writer: writer, Reader: reader}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	s, err := newSession(ctx, srv)
	if err != nil {
		result.Err = err
		return result
	}
	err = c.run(ctx, s, writer, reader)
	result.Err = errors.Join(err, s.end(ctx))
	result.Took, result.Note = time.Since(began), s.note
	return result
}

// RunAll runs every case for two sides in each direction, one after the other,
// and hands each result to finished. It ends early with ctx, and says so.
func RunAll(ctx context.Context, srv *redis.Server, a, b Side, finished func(Result)) error {
	for _, c := range Cases(a, b) {
		directions := [][2]Side{{a, b}, {b, a}}
		if c.symmetric {
			directions = directions[:1]
		}
		for _, d := range directions {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("before %s: %w", c.ID, err)
			}
			finished(Run(ctx, srv, c, d[0], d[1]))
		}
	}
	return nil
}

// Text is the result in a line, and the failure below it.
func (r Result) Text() string {
	if r.Err == nil {
		text := fmt.Sprintf("pass   %s: %s to %s", r.Case.ID, r.Writer, r.Reader)
		if r.Note != "" {
			text += ": " + r.Note
		}
		return text
	}
	return fmt.Sprintf("FAIL   %s: %s to %s\n  required: %s\n  %v", r.Case.ID, r.Writer, r.Reader, r.Case.Requirement, r.Err)
}
