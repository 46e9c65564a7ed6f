package dq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Delivery is one hand-out of a message to a handler.
type Delivery struct {
	Queue string
	// ID identifies the message while a Worker holds it, and as a dead letter: 20 hex digits. It is not a Ticket.
	ID string
	// Attempt counts the deliveries of the message, this one included. It begins anew after a message was given back.
	Attempt int
}

// Message is a message in a handler.
type Message[T any] struct {
	Delivery
	Value T
}

// Handler handles one delivery, whatever the type of its value. WorkerOptions.Wrap wraps it.
type Handler func(ctx context.Context, d Delivery) error

// RetryIn returns an error for a handler to return: the message is delivered again after wait, in place of Backoff. After
// MaxAttempts it becomes a dead letter.
func RetryIn(wait time.Duration, err error) error {
	return &verdict{retry, max(wait, 0), orUnknown(err)}
}

// Bury returns an error for a handler to return: the message becomes a dead letter at once.
func Bury(err error) error { return &verdict{bury, 0, orUnknown(err)} }

// Drop returns an error for a handler to return: the message is settled as after success. The event Handled has the error.
func Drop(err error) error { return &verdict{ack, 0, orUnknown(err)} }

// verdict is the outcome of a message. It wraps the handler's error.
type verdict struct {
	how  settlement
	wait time.Duration
	error
}

func (v *verdict) Unwrap() error { return v.error }

func orUnknown(err error) error {
	if err == nil {
		return errors.New("the handler gave no reason")
	}
	return err
}

// PanicError is the panic of a handler.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("dq: the handler panicked: %v", e.Value) }

// errGoexit is the error of a handler that ended its goroutine, as testing.T.FailNow does.
var errGoexit = errors.New("dq: the handler called runtime.Goexit")

// DefaultBackoff doubles from 1 s after the first attempt to 5 minutes, and takes up to a quarter off at
// random, so that messages that failed together are not retried together.
func DefaultBackoff(attempt int) time.Duration {
	const most = 5 * time.Minute
	wait := most
	if attempt < 10 {
		wait = min(most, time.Second<<max(attempt-1, 0))
	}
	return wait - rand.N(wait/4)
}
