package dq

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Option changes how a Client behaves.
type Option func(*config) error

type config struct {
	release   wire.Release
	clock     clock.Clock
	guarded   *bool         // nil unless said
	random    func() uint64 // from any goroutine
	observers []func(Event)
	durable   *durability // nil: offers wait for nothing
	conn      conn.Options
}

// WithRelease selects the Redisson release to be compatible with, such as "3.16.6": the layout of the members, the texts of the scripts and
// how they are sent. The default is the newest release. Members of both layouts are read, unless WithRedissonCommands is given. An unknown
// release is a *wire.ReleaseError, which names the nearest one.
func WithRelease(release string) Option {
	return func(c *config) error {
		r, err := wire.LookupRelease(release)
		c.release = r
		return err
	}
}

// WithRedissonCommands sends only commands that a Redisson of the release sends: a member of the other layout stops the queue
// as it stops Redisson, Remove is one call of Redisson's script, and a blocking command is sent once, so that a lost
// connection may go unnoticed. Use it to compare dq with recordings of Redisson. Without it, offers are Redisson's byte for
// byte; transfers, polls and removals are scripts of our own with the same effect.
func WithRedissonCommands() Option {
	return func(c *config) error { c.conn.Strict, c.conn.Quiet = true, 10*time.Second; return nil }
}

// WithClock replaces the clock for due times and timers. It is not guarded, unless WithClockStepDetection says so.
func WithClock(k clock.Clock) Option {
	return func(c *config) error {
		if k == nil {
			return fmt.Errorf("dq: WithClock needs a clock")
		}
		c.clock = k
		return nil
	}
}

// WithClockStepDetection sets whether the clock is guarded: if the machine's wall clock is set by more than half a second within ten, dq
// asks the server for its TIME, and keeps to the clock as it was before if that is nearer to TIME. Thus a wrong clock neither delivers
// messages early nor makes offers for another time. By default the machine's clock is guarded, but never WithRedissonCommands. If the user
// may not send TIME, dq follows the wall clock.
func WithClockStepDetection(on bool) Option {
	return func(c *config) error { c.guarded = &on; return nil }
}

// WithRandom replaces the random source of a Client: ids, tokens, and the pauses that keep clients from acting at the same instant. A
// simulation passes a seeded source. Two clients of a queue must not draw the same. One goroutine at a time calls it; the default is
// the runtime's generator.
func WithRandom(source rand.Source) Option {
	return func(c *config) error {
		if source == nil {
			return fmt.Errorf("dq: WithRandom needs a source")
		}
		var mu sync.Mutex
		c.random = func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			return source.Uint64()
		}
		return nil
	}
}

// WithObserver calls observe with each Event, from many goroutines at once; several observers are called one after the other. observe must
// return soon, because the caller or the scheduler waits for it, and must not call the Client. Packages dqprom and dqotel have observers.
func WithObserver(observe func(Event)) Option {
	return func(c *config) error {
		if observe == nil {
			return fmt.Errorf("dq: WithObserver needs a function")
		}
		c.observers = append(c.observers, observe)
		return nil
	}
}

// WithOfferRetryTimeout sets how long dq retries an offer that is certainly not queued: no server listens, such as during a restart, or the
// server answers that it is loading, busy with a script, a replica or out of connections. The default is 5 s, about as long as Redisson
// tries; with 0 such an offer fails at once. A dial that hangs takes up to 5 s more; the offer's context ends it, and the retries. An offer
// that may be queued (ErrUncertain) is never sent again. Calls wait this long, plus 1 s, for a migrating slot.
func WithOfferRetryTimeout(patience time.Duration) Option {
	return func(c *config) error {
		if patience < 0 {
			return fmt.Errorf("dq: WithOfferRetryTimeout: expected 0 or more, got %s", patience)
		}
		c.conn.Patience = patience
		return nil
	}
}
