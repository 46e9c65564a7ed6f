package dq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// get returns a link for one command that blocks: an idle one, the next that
// becomes idle, or a new one. When ctx ends before, the dial goes on, for the next
// caller; so callers that come and go do not pile up dials.
func (n *node) get(ctx context.Context) (*link, error) {
	n.mu.Lock()
	for len(n.idle) > 0 {
		l := n.idle[len(n.idle)-1]
		n.idle = n.idle[:len(n.idle)-1]
		if l.alive() {
			n.mu.Unlock()
			return l, nil
		}
	}
	seeker := make(chan dialed, 1)
	n.seekers = append(n.seekers, seeker)
	if n.freshDials() < len(n.seekers) {
		n.dial()
	}
	n.mu.Unlock()
	select {
	case d := <-seeker:
		return d.link, d.err
	case <-ctx.Done():
		n.withdraw(seeker)
		return nil, fmt.Errorf("%w: %w", errUnsent, context.Cause(ctx))
	}
}

// freshDials counts the dials from which something can be expected soon. Call with
// mu held.
func (n *node) freshDials() (fresh int) {
	for _, d := range n.dials {
		if time.Since(d.began) < dialPatience {
			fresh++
		}
	}
	return fresh
}

// dial makes a dedicated link in the background. Call with mu held.
func (n *node) dial() {
	d := &dialing{began: time.Now()}
	n.dials = append(n.dials, d)
	go func() {
		d.link, d.err = n.newLink(0)
		n.mu.Lock()
		n.dials = slices.DeleteFunc(n.dials, func(o *dialing) bool { return o == d })
		switch {
		case d.err == nil:
			n.putLocked(d.link)
		case len(n.seekers) > len(n.dials):
			// Nothing else is under way for the one that waits longest.
			n.seekers[0] <- d.dialed
			n.seekers = n.seekers[1:]
		}
		n.mu.Unlock()
	}()
}

// withdraw ends the wait of a caller.
func (n *node) withdraw(seeker chan dialed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seekers = slices.DeleteFunc(n.seekers, func(s chan dialed) bool { return s == seeker })
	select {
	case d := <-seeker: // it came at the same moment
		if d.link != nil {
			n.putLocked(d.link)
		}
	default:
	}
}

// put puts a dedicated link away for the next command that blocks, as soon as nothing
// is under way that could end that one.
func (n *node) put(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.holds > 0 {
		l.resting = true
		return
	}
	n.putLocked(l)
}

// hold keeps a link from its next command until release.
func (n *node) hold(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.holds++
}

// release ends a hold. tainted says that a CLIENT UNBLOCK was sent and not answered.
func (n *node) release(l *link, tainted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.tainted = l.tainted || tainted
	if l.holds--; l.holds == 0 && l.resting {
		l.resting = false
		n.putLocked(l)
	}
}

// putLocked gives a link to who waits for one, or to the pool. Call with mu held.
func (n *node) putLocked(l *link) {
	switch {
	case !l.alive():
	case l.tainted:
		go l.fail(errSurplus)
	case len(n.seekers) > 0:
		n.seekers[0] <- dialed{link: l}
		n.seekers = n.seekers[1:]
	case len(n.idle) >= maxIdle || n.retired != nil:
		go l.fail(errSurplus)
	default:
		l.idle = time.Now()
		n.idle = append(n.idle, l)
		if n.reaper == nil {
			n.reaper = time.AfterFunc(idleTimeout, n.reap)
		}
	}
}

// errSurplus is why a link ends that nobody needs.
var errSurplus = errors.New("not needed any more")

// reap closes the links that have been idle for long, which are the first ones.
func (n *node) reap() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.idle) > 0 && time.Since(n.idle[0].idle) >= idleTimeout {
		go n.idle[0].fail(errSurplus)
		n.idle = n.idle[1:]
	}
	n.reaper = nil
	if len(n.idle) > 0 {
		n.reaper = time.AfterFunc(time.Until(n.idle[0].idle.Add(idleTimeout)), n.reap)
	}
}
