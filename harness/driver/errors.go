package driver

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by queues once they are closed.
var ErrClosed = errors.New("queue is closed")

// ErrRefused is wrapped by the error of an Offer whose value was not queued, so that it may be offered again. After any other
// error it may have been queued.
var ErrRefused = errors.New("the value was not queued")

// SpecError says that a --driver value can never be right.
type SpecError struct {
	Spec   string
	Reason error
}

func (e *SpecError) Error() string { return fmt.Sprintf("--driver %q: %v", e.Spec, e.Reason) }

// Unwrap returns the reason, such as a *wire.ReleaseError.
func (e *SpecError) Unwrap() error { return e.Reason }

// CapabilityError says that an implementation lacks what a plan needs.
type CapabilityError struct {
	Driver Identity
	// Need is the capability in words, after "cannot".
	Need string
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("driver %s cannot %s, which the scenario needs; choose another with --driver", e.Driver, e.Need)
}
