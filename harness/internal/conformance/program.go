package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// ProgramError says that the program under test has ended, does not answer, or breaks the protocol. That is a verdict: the
// case fails, and the next case has a new program.
type ProgramError struct{ Err error }

func (e *ProgramError) Error() string { return e.Err.Error() }
func (e *ProgramError) Unwrap() error { return e.Err }

// shortPatience bounds a call to a program that was started anew, and its waits; also a wait after one in vain.
const shortPatience = 3 * time.Second

// noAnswer ends the reason of a program that did not answer.
const noAnswer = "the program hangs, or reads no more"

// fail notes that the program can be used no more.
func (r *Runner) fail(err error) error {
	r.broken.CompareAndSwap(nil, &ProgramError{err})
	return r.failed()
}

// failed is the reason why the program can be used no more; nil if it can.
func (r *Runner) failed() error {
	if broken := r.broken.Load(); broken != nil {
		return broken
	}
	return nil
}

// patience bounds a call.
func (r *Runner) patience() time.Duration {
	switch {
	case r.impatient:
		return shortPatience
	case !r.warm:
		return cmp.Or(r.first, firstTimeout)
	}
	return callTimeout
}

// waits bounds a wait that names no time.
func (r *Runner) waits() time.Duration {
	if r.inVain || r.impatient {
		return cmp.Or(r.wait, shortPatience)
	}
	return cmp.Or(r.wait, waitTimeout)
}

// renew replaces a program that can be used no more, and warms the new one up: a JVM does everything slowly once. Only
// the first new program gets all the time for that.
func (r *Runner) renew(ctx context.Context) error {
	broken := r.failed()
	if broken == nil {
		return nil
	}
	r.discard()
	fresh, err := r.start(ctx)
	if err != nil {
		return &ProgramError{Err: fmt.Errorf("it could not be started again: %w", err)}
	}
	r.program, r.hello = fresh, fresh.Introduction()
	r.broken.Store(nil)
	if err := r.warmUp(ctx); err != nil {
		return err
	}
	r.impatient = true
	return nil
}

// endProgram ends the program after a verdict.
func (r *Runner) endProgram() error {
	if r.failed() != nil {
		r.discard()
	} else if err := r.program.Close(); err != nil {
		r.Notice(err.Error())
	}
	return nil
}

// discard ends a program that can be used no more, without waiting for it.
func (r *Runner) discard() {
	if p, ok := r.program.(interface{ Kill() }); ok {
		p.Kill()
	}
	_ = r.program.Close() // the reason of its end is known
}

// isProgram reports whether an error is the program's fault.
func isProgram(err error) bool { return errors.As(err, new(*ProgramError)) }

// canBeJudged is a *ProgramError where a program lists none of the operations that the cases call: those that call
// nothing would pass, and say next to nothing about it.
func canBeJudged(hello program.Hello, cases []*Case) error {
	var needed []string
	for _, c := range cases {
		for _, s := range c.Steps {
			needed = append(needed, s.capability())
		}
	}
	needed = slices.DeleteFunc(needed, func(op string) bool { return op == "" })
	if len(needed) == 0 || slices.ContainsFunc(needed, hello.Can) {
		return nil
	}
	return &ProgramError{Err: fmt.Errorf("the driver cannot be judged: expected the \"capabilities\" in its answer to hello to list "+
		"operations that the cases call, such as %q, got %q", needed[0], hello.Capabilities)}
}
