package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// ProgramError says that the program under test has ended, does not answer, or breaks the protocol. That is a verdict: the
// case fails, and the next case has a new program.
type ProgramError struct {
	Err error
	// Silent is true if the program did not answer.
	Silent bool
}

func (e *ProgramError) Error() string { return e.Err.Error() }
func (e *ProgramError) Unwrap() error { return e.Err }

const (
	// shortPatience bounds a call, or a wait, after one in vain.
	shortPatience = 3 * time.Second
	// waitPatience bounds a wait of a program that was started anew: a message may be due in some seconds.
	waitPatience = 5 * time.Second
	// patientWaits is after how many waits in vain a program gets no more time for one.
	patientWaits = 2
)

// fail notes that the program can be used no more.
func (r *Runner) fail(err error, silent bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = &ProgramError{Err: err, Silent: silent}
	}
	return r.broken
}

// failed is the reason why the program can be used no more; nil if it can.
func (r *Runner) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
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
	limit := waitTimeout
	switch {
	case r.inVain || r.vain >= patientWaits:
		limit = shortPatience
	case r.impatient:
		limit = waitPatience
	}
	return cmp.Or(r.wait, limit)
}

// renew replaces a program that can be used no more, and warms the new one up: a JVM does everything slowly once. Only
// the first new program gets all the time for that.
func (r *Runner) renew(ctx context.Context) error {
	broken := r.failed()
	if broken == nil || r.Restart == nil {
		return broken
	}
	r.discard()
	fresh, err := r.Restart(ctx)
	if err != nil {
		return &ProgramError{Err: fmt.Errorf("it could not be started again: %w", err)}
	}
	r.program, r.hello = fresh, fresh.Introduction()
	r.mu.Lock()
	r.broken = nil
	r.mu.Unlock()
	r.impatient, r.renewed = r.renewed, true
	if err := r.warmUp(ctx); err != nil {
		return err
	}
	r.impatient = true
	return nil
}

// discard ends a program that can be used no more, without waiting for it.
func (r *Runner) discard() {
	if p, ok := r.program.(interface{ Kill() }); ok {
		p.Kill()
	}
	_ = r.program.Close() // the reason of its end is known
}

// isProgram reports whether an error is the program's fault; silent, whether the program did not answer.
func isProgram(err error) (is, silent bool) {
	var broken *ProgramError
	is = errors.As(err, &broken)
	return is, is && broken.Silent
}

// canBeJudged is a *ProgramError where a program lists none of the operations that the cases call: those that call
// nothing would pass, and say next to nothing about it.
func canBeJudged(hello program.Hello, cases []*Case) error {
	first := ""
	for _, c := range cases {
		for _, s := range c.Steps {
			needed := s.capability()
			if needed != "" && hello.Can(needed) {
				return nil
			}
			first = cmp.Or(first, needed)
		}
	}
	if first == "" {
		return nil
	}
	return &ProgramError{Err: fmt.Errorf("the driver cannot be judged: expected the \"capabilities\" in its answer to hello to list "+
		"operations that the cases call, such as %q, got %q", first, hello.Capabilities)}
}
