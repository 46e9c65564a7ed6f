package dq

import "github.com/dq-bench/dq-bench/dq/internal/conn"

// WithTimes has a Client wait less long than it would.
func WithTimes(t conn.Times) Option {
	return func(c *config) error { c.times = t; return nil }
}

// WithMostReply bounds a reply.
func WithMostReply(n int64) Option {
	return func(c *config) error { c.mostReply = n; return nil }
}
