package dq

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Option changes how a Client behaves.
type Option func(*config) error

type config struct {
	release   wire.Release
	faithful  bool
	strict    bool
	clock     clock.Clock
	guarded   *bool         // nil unless said
	ids       IDSource      // nil for random
	random    func() uint64 // from any goroutine
	observers []func(Event)
	limit     int // 0 for the usual one
	transfers Transfers
	patience  time.Duration // of offers
	times     conn.Times    // for tests
	mostReply int64
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

// Transfers says how what comes due is transferred.
type Transfers int

const (
	// Auto is Redisson's script, and where that would take longer, unlisting: where the pending
	// list is long, and many members come due that are not at its head, those due soon are
	// taken out of the list in one pass, in calls of a few milliseconds, before they are due.
	// Redisson's script walks the list for each, 8 ms at 500,000 entries.
	//
	// What was taken out so comes when it is due, as it would have, but cannot be found,
	// polled or removed any more, by any client, and Size does not count it. That is so for
	// ten times as long as a pass takes: 1 s before it is due in a list of up to 30,000, at most about
	// 40 s in one of a million. A pass copies the list, and so takes as much memory for a moment.
	Auto Transfers = iota
	// Exact is Redisson's script alone, until a member of the other layout is met.
	Exact
)

// WithTransfer sets how what comes due is transferred; the default is Auto. WithFaithful and
// WithStrictWire are always Exact. On one queue choose the same for all clients: one that is
// Exact walks all of the list for a member that another has taken out of it.
func WithTransfer(how Transfers) Option {
	return func(c *config) error {
		if how != Auto && how != Exact {
			return fmt.Errorf("dq: WithTransfer: expected Auto or Exact, got %d", how)
		}
		c.transfers = how
		return nil
	}
}

// WithClock replaces the clock that due times and timers come from. It is not guarded, unless
// WithClockGuard says so.
func WithClock(k clock.Clock) Option {
	return func(c *config) error {
		if k == nil {
			return fmt.Errorf("dq: WithClock needs a clock")
		}
		c.clock = k
		return nil
	}
}

// WithClockGuard sets whether the clock is guarded: when the wall clock of the machine is set by
// more than half a second within ten, the server is asked for its TIME, and where the clock was nearer to that
// before it was set, dq goes on by it as before. So a machine whose clock goes wrong lets nothing out before it
// is due and offers nothing for another time. By default the machine's clock is guarded, but for
// WithFaithful and WithStrictWire, which are never. A user who may not send TIME has the wall clock followed.
func WithClockGuard(on bool) Option {
	return func(c *config) error { c.guarded = &on; return nil }
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

// WithRandom replaces the source of what a Client draws: ids, where WithIDSource does not
// say them, tokens, and the pauses that keep clients from acting at the same instant. A
// simulation gives one with a seed. Two clients of a queue must not draw the same. It is
// called by one goroutine at a time; the default is the runtime's generator.
func WithRandom(source rand.Source) Option {
	return func(c *config) error {
		if source == nil {
			return fmt.Errorf("dq: WithRandom needs a source")
		}
		c.random = lockedSource(source)
		return nil
	}
}

// WithObserver has observe called with each Event, from many goroutines at once; several observers are called one after
// the other. It must return soon, because the caller or the scheduler waits for it, and must not call the Client.
// Packages dqprom and dqotel have observers.
func WithObserver(observe func(Event)) Option {
	return func(c *config) error {
		if observe == nil {
			return fmt.Errorf("dq: WithObserver needs a function")
		}
		c.observers = append(c.observers, observe)
		return nil
	}
}

// maxTransferLimit is how many members one transfer can move: Redisson's script passes
// all of them to one ZREM, and Lua takes no more than about 8,000 arguments.
const maxTransferLimit = 5000

// defaultPatience is about as long as the tries of Redisson's default settings take.
const defaultPatience = 5 * time.Second

// WithOfferPatience sets for how long an offer is tried again that the server does not take for the
// moment, and that is certain not to be queued: where nobody listens, as while a server is restarted, or where
// it answers that it is loading, busy with a script, a replica or out of connections. The default is 5 s, about
// as long as Redisson tries; 0 has such offers fail at once. The offer's context ends it too. What may
// have been queued (ErrUncertain) is never sent again.
func WithOfferPatience(patience time.Duration) Option {
	return func(c *config) error {
		if patience < 0 {
			return fmt.Errorf("dq: WithOfferPatience: expected 0 or more, got %s", patience)
		}
		c.patience = patience
		return nil
	}
}

// WithTransferLimit sets how many members one transfer moves at most, 1 to 5,000.
// The default is 100, which every Redisson release uses, and 300 of unlisted ones (see Auto),
// which is less work. The server is busy for
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
