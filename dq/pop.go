package dq

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// slowest is the rate, in bytes a second, at which a request must arrive to be no
// silent one: the kernel does not tell how far it is.
const slowest = 100 << 10

// pop is attempt for a command that takes values away.
//
// On a connection that others share, a server that stands still would cost what it had
// taken: the connection is given up after the read time-out, and the server runs the
// command all the same. Here it is left to itself.
func (s *sending) pop(ctx context.Context) (next target, again bool) {
	n := s.to.node
	l, err := n.get(ctx)
	if err != nil {
		s.settleAll(err)
		return target{}, errors.Is(err, errRetired) && s.client.ctx.Err() == nil
	}
	b := l.send(s.wrap()...)
	if err := s.await(ctx, l, b); err != nil {
		s.settleAll(err)
		late := *s
		s.client.unwinding.Add(1) // the caller still counts
		go late.linger(l, b)
		return target{}, false
	}
	n.put(l)
	return s.sort(ctx, s.unwrap(b.replies), b.err)
}

// await returns when the reply is there, or why it is waited for no longer: ctx ended, the
// Client was closed, or nothing has come for the read time-out.
func (s *sending) await(ctx context.Context, l *link, b *batch) error {
	limit := s.to.node.opt.ReadTimeout
	if limit > 0 {
		limit += time.Duration(s.size()) * time.Second / slowest
	}
	silent := time.NewTimer(limit)
	defer silent.Stop()
	if limit <= 0 { // no read time-out
		silent.Stop()
	}
	ended, closing := ctx.Done(), s.client.ctx.Done()
	why := func() error { return context.Cause(ctx) }
	var bound <-chan time.Time
	for came := l.received.Load(); ; {
		select {
		case <-b.done:
			return nil
		case <-ended:
			ended = nil
			timer := time.NewTimer(cancelGrace)
			defer timer.Stop()
			bound = timer.C
		case <-closing:
			closing = nil
			timer := time.NewTimer(closeGrace)
			defer timer.Stop()
			bound, why = timer.C, func() error { return ErrClosed }
		case <-bound:
			return fmt.Errorf("%w: %w", errLost, why())
		case <-silent.C:
			if now := l.received.Load(); now > came {
				came = now
				silent.Reset(s.to.node.opt.ReadTimeout)
				continue
			}
			return fmt.Errorf("%w: the server stands still: what still comes is put back", errLost)
		}
	}
}

// size is about how many bytes the request has.
func (s *sending) size() int {
	n := 0
	for _, command := range s.request.commands {
		for _, arg := range command {
			switch a := arg.(type) {
			case string:
				n += len(a)
			case []byte:
				n += len(a)
			}
		}
	}
	return n
}

// linger waits for a reply that nobody waits for any more, and gives back what it holds.
// After Close it ends as a Take does.
func (s *sending) linger(l *link, b *batch) {
	defer s.client.unwinding.Done()
	closing := s.client.ctx.Done()
	var hangUp <-chan time.Time
	if s.client.ctx.Err() != nil {
		closing, hangUp = nil, time.After(0)
	}
	for waiting := true; waiting; {
		select {
		case <-b.done:
			waiting = false
		case <-closing:
			closing, hangUp = nil, time.After(closeGrace)
		case <-hangUp:
			l.hangUp(b)
		}
	}
	s.to.node.put(l)
	if replies := s.unwrap(b.replies); b.err == nil && len(replies) == 1 {
		s.request.pops(replies[0])
	}
}
