package dq

import (
	"fmt"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Option changes how a Client behaves.
type Option func(*config) error

type config struct {
	release  wire.Release
	faithful bool
	strict   bool
	clock    clock.Clock
	ids      IDSource
	observer Observer
	limit    int
}

// WithRelease selects the Redisson release to be compatible with, such as
// "3.16.6": the layout of the members, the texts of the scripts and how they are
// sent. The default is the newest release. Members of
// both sides of 3.21.1 are read, but for WithStrictWire. An unknown release is a *wire.ReleaseError, which names
// the nearest one.
func WithRelease(release string) Option {
	return func(c *config) error {
		r, err := wire.LookupRelease(release)
		c.release = r
		return err
	}
}

// WithFaithful follows Redisson where dq does better: a head due within 10 ms is
// transferred at once, again and again until it is due; timers fire on the ticks
// of a coarse wheel; a later announcement replaces an earlier timer; a failed
// transfer is tried again after 5 s; to 3.41.0 a timer outlives Close; and all that
// WithStrictWire says. It is meant for comparisons.
func WithFaithful() Option {
	return func(c *config) error { c.faithful, c.strict = true, true; return nil }
}

// WithStrictWire sends what a Redisson of the release sends and nothing besides: a
// member of the other layout stops the queue as it stops Redisson, a value is looked
// for by its encoded bytes alone, and a connection on which a command blocks is not
// probed. It is for judging dq by recordings of Redisson.
func WithStrictWire() Option {
	return func(c *config) error { c.strict = true; return nil }
}

// WithClock replaces the clock that due times and timers come from.
func WithClock(k clock.Clock) Option {
	return func(c *config) error {
		if k == nil {
			return fmt.Errorf("dq: WithClock needs a clock")
		}
		c.clock = k
		return nil
	}
}

// WithIDSource replaces the source of the random ids.
func WithIDSource(s IDSource) Option {
	return func(c *config) error {
		if s == nil {
			return fmt.Errorf("dq: WithIDSource needs a source")
		}
		c.ids = s
		return nil
	}
}

// WithObserver sets hooks that are told what happens in the background.
func WithObserver(o Observer) Option {
	return func(c *config) error { c.observer = o; return nil }
}

// maxTransferLimit is how many members one transfer can move: Redisson's script passes
// all of them to one ZREM, and Lua takes no more than about 8,000 arguments.
const maxTransferLimit = 5000

// WithTransferLimit sets how many members one transfer moves at most, 1 to 5,000.
// The default is 100, which every Redisson release uses. The server is busy for
// the length of a transfer, and that grows with the pending list.
func WithTransferLimit(n int) Option {
	return func(c *config) error {
		if n < 1 || n > maxTransferLimit {
			return fmt.Errorf("dq: WithTransferLimit: expected 1 to %d, got %d", maxTransferLimit, n)
		}
		c.limit = n
		return nil
	}
}
