package dq

import (
	"context"
	"errors"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

const (
	// probeInterval is how long a connection may be silent before the server is asked,
	// from beside, to end the command that blocks on it; probeGrace is how long its
	// answer may then take. Together they bound how long a dead connection goes
	// unnoticed.
	probeInterval = 4 * time.Second
	probeGrace    = 2 * time.Second
)

// errSilent is why a connection ends whose server says that nothing blocks on it, or
// that has ended what did, while nothing arrives.
var errSilent = errors.New("the server ended the command, and its reply did not come: the connection is dead")

// answer is what the server said of one command.
type answer struct {
	batch *batch
	err   error
}

// probe asks the server about a command that has blocked for long.
type probe struct {
	waiter *waiter
	due    <-chan time.Time
	answer chan answer
	grace  <-chan time.Time
	asked  *batch // the one that the server was asked to end
	came   int64  // the bytes that had come when the grace began
	seen   int64  // the bytes that had come when it was last overdue
	// overdue is when a command that ends by itself should have.
	overdue <-chan time.Time
	timers  [3]*time.Timer
}

func newProbe(w *waiter, seconds int64) *probe {
	p := &probe{waiter: w, answer: make(chan answer, 1), seen: w.link.received.Load()}
	if seconds != forever {
		// The command ends by itself, or its connection is dead.
		if seconds > 0 && seconds < maxPollSeconds {
			p.timers[2] = time.NewTimer(time.Duration(seconds)*time.Second + pollGrace)
			p.overdue = p.timers[2].C
		}
	}
	if !w.client.strict {
		p.timers[0] = time.NewTimer(probeInterval)
		p.due = p.timers[0].C
	}
	return p
}

func (p *probe) stop() {
	for _, t := range p.timers {
		if t != nil {
			t.Stop()
		}
	}
}

// reset begins anew with a command that was sent again.
func (p *probe) reset() {
	p.grace = nil
	if p.timers[0] != nil {
		p.timers[0].Reset(probeInterval)
	}
}

func (p *probe) ask(ctx context.Context) {
	if p.waiter.cannotUnblock() {
		return
	}
	b, unblock := p.waiter.batch, p.waiter.unblocking()
	p.asked = b
	go func() { p.answer <- answer{b, unblock(ctx)} }()
}

// answered gives the reply some time to arrive. A server that cannot be asked may be
// unreachable as a whole: it is asked again.
func (p *probe) answered(a answer) {
	if a.batch != p.waiter.batch {
		return // it has ended already
	}
	var refused resp.Error
	switch {
	case errors.As(a.err, &refused):
		p.timers[0].Reset(probeInterval)
		return
	case a.err != nil:
		p.timers[0].Reset(maxBackoff) // on another connection
		return
	}
	p.came = p.waiter.link.received.Load()
	p.timers[1] = time.NewTimer(probeGrace)
	p.grace = p.timers[1].C
}

// arriving reports whether the reply of a command that is overdue is coming in, and
// gives it more time.
func (p *probe) arriving() bool {
	before := p.seen
	p.seen = p.waiter.link.received.Load()
	p.timers[2].Reset(pollGrace)
	return p.seen > before
}

// progress reports whether a reply is coming in, and gives it more time.
func (p *probe) progress() bool {
	before := p.came
	p.came = p.waiter.link.received.Load()
	p.timers[1].Reset(probeGrace)
	return p.came > before
}
