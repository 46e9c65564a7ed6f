package dq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// link is a connection over which many goroutines send commands at once: they are
// written in the order of send, together where they come together, and the replies
// come in that order. No caller ever waits for the socket.
//
// A link that fails once has failed for good. Whether a command was given to the
// socket before that is known for each: batch.err tells.
type link struct {
	conn    *connection
	replies *resp.Reader
	// Each bounds one write, and one wait for a reply; 0 for no bound.
	readTimeout, writeTimeout time.Duration
	failed                    chan struct{} // closed with the failure

	// received counts the bytes that have come.
	received atomic.Int64

	mu      sync.Mutex
	out     []byte // not yet given to the socket
	spare   []byte
	writing bool
	unsent  []*batch // whose bytes are in out
	sent    []*batch // whose replies are awaited, oldest first
	err     error

	// The rest is that of a dedicated link, guarded by its node's mu.
	idle time.Time // since when it is in its pool
	// holds counts the CLIENT UNBLOCK under way for it, and resting says that it
	// returns to the pool after them: one that came late would end a stranger's command.
	holds   int
	resting bool
	// tainted says that a CLIENT UNBLOCK may still be on its way.
	tainted bool
}

// batch is commands that were sent together, and their replies.
type batch struct {
	want    int
	replies []any // error replies are resp.Error
	sentAt  time.Time
	done    chan struct{} // closed when all replies are there, or err is set
	err     error
	single  [1]any // holds the reply to a single command
}

// errLost is wrapped by the error of commands that were given to the socket and
// whose replies did not come: nobody knows whether the server ran them.
var errLost = errors.New("the reply is lost")

// errUnsent is wrapped by the error of commands that were never given to the socket.
var errUnsent = errors.New("not sent")

func newLink(conn *connection, readTimeout, writeTimeout time.Duration) *link {
	l := &link{
		conn: conn, failed: make(chan struct{}), readTimeout: readTimeout, writeTimeout: writeTimeout,
	}
	l.replies = resp.NewReader(&arriving{link: l}, 0)
	go l.read()
	return l
}

// arriving reads the connection and notes that something came: a long reply over a slow
// network is no dead connection.
type arriving struct {
	*link
	extended time.Time
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.conn.Read(p)
	if n > 0 {
		a.received.Add(int64(n))
		if now := time.Now(); a.readTimeout > 0 && now.Sub(a.extended) > a.readTimeout/4 {
			a.extended = now
			a.mu.Lock()
			a.expectReply()
			a.mu.Unlock()
		}
	}
	return n, err
}

// send queues commands and returns at once.
func (l *link) send(commands ...[]any) *batch {
	b := &batch{want: len(commands), done: make(chan struct{})}
	if b.replies = b.single[:0]; len(commands) > len(b.single) {
		b.replies = make([]any, 0, len(commands))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		b.err = fmt.Errorf("%w: %w", errUnsent, l.err)
		close(b.done)
		return b
	}
	for _, args := range commands {
		l.out = resp.AppendCommand(l.out, args...)
	}
	l.unsent = append(l.unsent, b)
	if !l.writing {
		l.writing = true
		go l.write()
	}
	return b
}

// wait returns the replies. When ctx ends first, the error wraps errLost, for what is
// queued goes to the socket all the same.
func (b *batch) wait(ctx context.Context) ([]any, error) {
	select {
	case <-b.done:
		return b.replies, b.err
	case <-ctx.Done():
	}
	if b.ended() {
		return b.replies, b.err
	}
	return nil, fmt.Errorf("%w: %w", errLost, context.Cause(ctx))
}

func (b *batch) ended() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// wait1 is wait for a batch of one command; an error reply is an error.
func (b *batch) wait1(ctx context.Context) (any, error) {
	if _, err := b.wait(ctx); err != nil {
		return nil, err
	}
	return b.last()
}

// last returns the reply to the last command, once done is closed; an error reply as
// an error.
func (b *batch) last() (any, error) {
	if b.err != nil {
		return nil, b.err
	}
	reply := b.replies[len(b.replies)-1]
	if err, failed := reply.(resp.Error); failed {
		return nil, err
	}
	return reply, nil
}

// write gives what was queued to the socket until nothing is left.
func (l *link) write() {
	l.mu.Lock()
	for len(l.out) > 0 && l.err == nil {
		data := l.out
		l.out, l.spare = l.spare[:0], nil
		now := time.Now()
		if len(l.sent) == 0 && l.readTimeout > 0 {
			_ = l.conn.SetReadDeadline(now.Add(l.readTimeout))
		}
		for _, b := range l.unsent {
			b.sentAt = now
		}
		l.sent, l.unsent = append(l.sent, l.unsent...), l.unsent[:0]
		l.mu.Unlock()

		if err := l.give(data); err != nil {
			l.fail(err)
		}
		l.mu.Lock()
		if cap(data) <= maxSpare {
			l.spare = data[:0]
		}
	}
	l.writing = false
	l.mu.Unlock()
}

// give writes data in parts, for a time-out is meant for what goes at once.
func (l *link) give(data []byte) error {
	for {
		part := data[:min(len(data), maxPart)]
		if l.writeTimeout > 0 {
			_ = l.conn.SetWriteDeadline(time.Now().Add(l.writeTimeout))
		}
		if _, err := l.conn.Write(part); err != nil {
			return err
		}
		if data = data[len(part):]; len(data) == 0 {
			return nil
		}
		l.mu.Lock()
		l.expectReply()
		l.mu.Unlock()
	}
}

// expectReply gives the next reply the time that it may take, if any is awaited. Call
// with mu held.
func (l *link) expectReply() {
	if l.readTimeout <= 0 {
		return
	}
	var until time.Time
	if len(l.sent) > 0 {
		until = time.Now().Add(l.readTimeout)
	}
	_ = l.conn.SetReadDeadline(until)
}

// maxPart is how much is given to the socket at once.
const maxPart = 256 << 10

// maxSpare is how large a buffer is kept for the next write.
const maxSpare = 1 << 20

// read hands replies to those who wait for them.
func (l *link) read() {
	for {
		reply, err := l.replies.Read()
		if err != nil {
			l.fail(err)
			return
		}
		if _, push := reply.(resp.Push); push {
			continue
		}
		if !l.deliver(reply) {
			l.fail(fmt.Errorf("%w: a reply to no command: %.100v", resp.ErrProtocol, reply))
			return
		}
	}
}

// deliver reports whether anybody waits for the reply.
func (l *link) deliver(reply any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sent) == 0 {
		return false
	}
	b := l.sent[0]
	b.replies = append(b.replies, reply)
	ended := len(b.replies) == b.want
	if ended {
		l.sent[0] = nil
		l.sent = l.sent[1:]
	}
	l.expectReply() // of a batch too: its replies come one by one
	if ended {
		close(b.done)
	}
	return true
}

// fail ends the link; the first reason counts.
func (l *link) fail(reason error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = reason
	for _, b := range l.sent {
		b.err = fmt.Errorf("%w: %w", errLost, reason)
		close(b.done)
	}
	for _, b := range l.unsent {
		b.err = fmt.Errorf("%w: %w", errUnsent, reason)
		close(b.done)
	}
	l.sent, l.unsent, l.out = nil, nil, nil
	close(l.failed)
	l.mu.Unlock()
	_ = l.conn.Close()
}

// alive reports whether the link can still be used.
func (l *link) alive() bool {
	select {
	case <-l.failed:
		return false
	default:
		return true
	}
}

// oldest returns for how long the first of the awaited replies has been awaited.
func (l *link) oldest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sent) == 0 {
		return 0
	}
	return time.Since(l.sent[0].sentAt)
}
