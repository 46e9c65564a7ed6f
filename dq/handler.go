package dq

import (
	"context"
	"slices"
)

// Handler handles one message that is held for it: see Consume of a ReliableQueue.
type Handler[T any] func(ctx context.Context, d *Delivery[T]) error

// Middleware goes around a handler: it returns one that does something before next, after it, or in place of it. What it
// returns or panics with counts as the handler's.
type Middleware[T any] func(next Handler[T]) Handler[T]

// With puts middleware around h, the first of it outermost.
func (h Handler[T]) With(around ...Middleware[T]) Handler[T] {
	for _, m := range slices.Backward(around) {
		h = m(h)
	}
	return h
}
