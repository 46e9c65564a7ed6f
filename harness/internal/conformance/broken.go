package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// ProgramError says that the program under test has ended, does not answer, or does not keep to the protocol. That is a
// verdict on it: the case fails, and the next one has a program that was started anew.
type ProgramError struct {
	Err error
	// Silent is true where it did not answer.
	Silent bool
}

func (e *ProgramError) Error() string { return e.Err.Error() }
func (e *ProgramError) Unwrap() error { return e.Err }

// shortPatience is how long a call, or a wait, may take once one was in vain.
const shortPatience = 3 * time.Second

// waitPatience is how long a wait may take of a program that has once not answered: what is waited for may be due in
// some seconds.
const waitPatience = 5 * time.Second

// patientWaits is after how many waits in vain a program gets no more time for one.
const patientWaits = 2

// fail notes that the program can be used no more.
func (r *Runner) fail(err error, silent bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = &ProgramError{Err: err, Silent: silent}
	}
	return r.broken
}

// failed is what has broken the program, nil where nothing has.
func (r *Runner) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		return nil
	}
	return r.broken
}

// patience is how long a call may take: a program that has once not answered may be expected to do so again.
func (r *Runner) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.impatient:
		return shortPatience
	case !r.warm:
		return cmp.Or(r.first, firstTimeout)
	}
	return callTimeout
}

// waits is how long a wait may take that names no time.
func (r *Runner) waits() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.inVain || r.vain >= patientWaits:
		return cmp.Or(r.wait, shortPatience)
	case r.impatient:
		return cmp.Or(r.wait, waitPatience)
	}
	return cmp.Or(r.wait, waitTimeout)
}

// renew replaces a program that can be used no more, and warms the new one up as the first one was: a JVM does
// everything slowly once. It gets all the time that it may need for that only once.
func (r *Runner) renew(ctx context.Context) error {
	broken := r.failed()
	if broken == nil {
		return nil
	}
	if r.Restart == nil {
		return broken
	}
	r.discard()
	fresh, err := r.Restart(ctx)
	if err != nil {
		return &ProgramError{Err: fmt.Errorf("it could not be started again: %w", err)}
	}
	r.program, r.hello = fresh, fresh.Introduction()
	r.setBroken(nil, r.renewed)
	r.renewed = true
	if err := r.warmUp(ctx); err != nil {
		return err
	}
	r.setBroken(nil, true)
	return nil
}

// discard ends a program that can be used no more: it is not waited for.
func (r *Runner) discard() {
	if p, ok := r.program.(interface{ Kill() }); ok {
		p.Kill()
	}
	_ = r.program.Close() // why it ended has been said
}

func (r *Runner) setBroken(broken *ProgramError, impatient bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken, r.impatient = broken, impatient
}

// isProgram reports whether an error is the program's doing.
func isProgram(err error) bool {
	var broken *ProgramError
	return errors.As(err, &broken)
}

// isSilent reports whether the program did not answer.
func isSilent(err error) bool {
	var broken *ProgramError
	return errors.As(err, &broken) && broken.Silent
}

var _ interface{ Kill() } = (*program.Link)(nil)
