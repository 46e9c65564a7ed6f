package dq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Bounds of giving back what arrived for a taker that is gone.
const (
	// unblockPause is the first pause between two attempts to end a command.
	unblockPause = 2 * time.Millisecond
	// closeGrace is how long Close waits for commands that it cannot end.
	closeGrace = time.Second
	// silentGrace is for how long the server may answer CLIENT UNBLOCK while the command
	// does not end, until its connection counts as dead. Nobody waits for that any more,
	// and a value may be on its way.
	silentGrace = 5 * time.Second
	// returnTimeout bounds putting values back.
	returnTimeout = 10 * time.Second
)

// unwind ends the command in the background, however long that takes. It must be asked
// for more than once: the command may not have reached the server yet.
func (w *waiter) unwind() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unwound == w.batch {
		return
	}
	b := w.batch
	w.unwound = b
	w.client.unwinding.Add(1)
	w.node.hold(w.link)
	go func() {
		defer w.client.unwinding.Done()
		w.untilDone(b)
		w.mu.Lock()
		gone := w.abandoned && w.batch == b
		w.mu.Unlock()
		w.node.release(w.link, false)
		if gone {
			w.node.forget(w)
			w.giveBack(b)
		}
	}()
}

// untilDone returns when the command has ended: by itself, by CLIENT UNBLOCK, or with
// its connection: where that is dead, and after the Client was closed, at once if the
// server may not be asked, else after some time.
func (w *waiter) untilDone(b *batch) {
	ctx := context.WithoutCancel(w.client.ctx)
	pause := unblockPause
	next := time.After(0)
	var asked chan error
	var answers time.Time // since when the server has answered
	var came int64        // the bytes that had come then
	closing := w.client.ctx.Done()
	var hangUp <-chan time.Time
	for {
		select {
		case <-b.done:
			return
		case <-next:
			next = nil
			if !w.cannotUnblock() {
				unblock, answer := w.unblocking(), make(chan error, 1)
				asked = answer
				go func() { answer <- unblock(ctx) }()
			}
		case err := <-asked:
			asked, next = nil, time.After(pause)
			pause = min(2*pause, maxBackoff)
			switch {
			case err != nil:
				answers = time.Time{}
			case answers.IsZero(), w.link.received.Load() > came:
				answers, came = time.Now(), w.link.received.Load()
			case time.Since(answers) > silentGrace:
				w.link.fail(errSilent)
				return
			}
		case <-closing:
			closing, hangUp = nil, time.After(closeGrace)
		case <-hangUp:
			w.link.hangUp(b)
			return
		}
		if closing == nil && w.cannotUnblock() {
			hangUp = time.After(0)
		}
	}
}

// hangUp ends our half of the connection and reads what the server still sends: a value
// that it popped before it saw that arrives. Only one that it pops in the very round
// of its event loop in which it sees the end is lost.
func (l *link) hangUp(b *batch) {
	if half, ok := l.conn.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-b.done:
		case <-timer.C:
		}
	}
	l.fail(ErrClosed)
	<-b.done
}

// abandon leaves the command to unwind; false if it has ended meanwhile.
func (w *waiter) abandon() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch.ended() {
		return false
	}
	w.abandoned = true
	w.node.mu.Lock()
	w.node.parked = append(w.node.parked, w)
	w.node.mu.Unlock()
	return true
}

// reuse returns a waiter that was abandoned while its command, the same one,
// goes on blocking. One that ends by itself has run for some of its time.
func (n *node) reuse(command []any, seconds int64) *waiter {
	if seconds != forever {
		return nil
	}
	n.mu.Lock()
	i := slices.IndexFunc(n.parked, func(w *waiter) bool { return slices.Equal(w.command, command) })
	if i < 0 || !n.cannotUnblock.Load() {
		n.mu.Unlock()
		return nil
	}
	w := n.parked[i]
	n.parked = slices.Delete(n.parked, i, i+1)
	n.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch.ended() {
		return nil // what came goes back
	}
	w.abandoned = false
	return w
}

func (n *node) forget(w *waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.parked = slices.DeleteFunc(n.parked, func(p *waiter) bool { return p == w })
}

// giveBack puts a value that came too late where it was taken from, and tells so.
func (w *waiter) giveBack(b *batch) {
	reply, err := b.last()
	w.node.put(w.link)
	if err != nil || reply == nil {
		return
	}
	push, key, value := undo(w.command, reply)
	w.client.putBack(push, key, value)
}

// behalf does something for a caller who waits for it no longer than ctx, and Close does. The
// caller holds the Client.
func (c *Client) behalf(ctx context.Context, do func()) {
	c.unwinding.Add(1)
	done := make(chan struct{})
	go func() {
		defer c.unwinding.Done()
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// putBack pushes values to where they were taken from, and tells so. Without a push they
// are where they belong already.
func (c *Client) putBack(push, key string, values ...string) {
	var err error
	if push != "" {
		err = c.pushBack(push, key, values, returnTimeout)
	}
	c.tellReturned(key, values, err)
}

func (c *Client) tellReturned(key string, values []string, err error) {
	for _, v := range values {
		c.tell(Returned{Queue: key, Value: []byte(v), Err: err})
	}
}

// undo returns the command that puts back what a blocking command popped; none where
// it moved the value to another list, in which it is safe.
func undo(command []any, reply any) (push, key, value string) {
	name, _ := command[0].(string)
	if pair, ok := reply.([]any); ok && len(pair) == 2 {
		key, _ = pair[0].(string)
		value, _ = pair[1].(string)
		if name == "BRPOP" {
			return "RPUSH", key, value
		}
		return "LPUSH", key, value
	}
	key, _ = command[1].(string)
	value, _ = reply.(string)
	return "", key, value
}

// back returns what puts the values of a reply back to the end they were taken from:
// the one that was taken first ends up outermost.
func (c *Client) back(push, key string) func(reply any) {
	return func(reply any) {
		if values := backwards(reply); len(values) > 0 {
			c.putBack(push, key, values...)
		}
	}
}

// backwards returns the values of a reply, the last one first.
func backwards(reply any) (values []string) {
	for _, v := range slices.Backward(bytesOf(reply)) {
		values = append(values, string(v))
	}
	return values
}

// bytesOf returns the values of a reply, of one or of several.
func bytesOf(reply any) (values [][]byte) {
	switch r := reply.(type) {
	case string:
		values = append(values, []byte(r))
	case []any:
		for _, v := range r {
			if text, ok := v.(string); ok {
				values = append(values, []byte(text))
			}
		}
	}
	return values
}

// pushBack tries, for so long, until the server has taken the values. A lost reply ends it: they
// may be back, and another attempt could double them.
func (c *Client) pushBack(push, key string, values []string, within time.Duration) error {
	command := []any{push, key}
	for _, v := range values {
		command = append(command, v)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), within)
	defer cancel()
	var retry backoff
	for {
		reply := c.send(ctx, request{lane: returnLane, key: key, commands: [][]any{command}})[0]
		err, failed := reply.(error)
		if !failed {
			return nil
		}
		var refused resp.Error
		definite := errors.Is(err, errUnsent) || errors.As(err, &refused)
		if !definite {
			return fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		if c.ctx.Err() != nil || pause(ctx, retry.next()) != nil {
			return fmt.Errorf("dq: a value taken from %q could not be put back and is lost: %w", key, err)
		}
	}
}
