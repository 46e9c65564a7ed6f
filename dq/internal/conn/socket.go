package conn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// socket is one connection, behind its handshake.
type socket struct {
	net.Conn
	frames *resp.Reader
	use    use
	id     int64  // the CLIENT ID; 0 if the server does not report it
	remote string // the address that it leads to, whatever name was dialled
	most   int64  // most bytes of the replies to one write
	out    []byte

	ctx context.Context // ends with it, and has the reason as its cause
	end context.CancelCauseFunc

	// readFor and writeFor bound one read, and the write of one part; 0 does not. A long reply over a slow network is no dead connection.
	readFor, writeFor time.Duration

	received atomic.Int64 // bytes received
	begun    atomic.Int64 // bytes received when the reply was begun
	since    atomic.Int64 // since when a reply is awaited in silence, Unix ns; 0 if no reply is awaited

	under   atomic.Pointer[batch] // the commands under way; nil while it is idle
	writing chan struct{}         // has an element while they are written
}

// batch is commands that were sent together.
type batch struct {
	most     int
	unsent   bool         // no byte was sent
	answered func(*batch) // then called by the goroutine that reads; or nil
	done     chan struct{}

	// Once done is closed: for each command a value, a resp.Error, or, without a reply, err, which wraps ErrLost or ErrUnsent.
	replies []any
	err     error
}

const (
	// maxPart is how much is given to the network at once.
	maxPart = 256 << 10
	// maxKept is how large a buffer is kept for the next commands.
	maxKept = 64 << 10
)

var (
	errUnasked = errors.New("the server sent something unasked")
	errBroken  = errors.New("the connection is lost")
)

func newSocket(c net.Conn, as use, most int64) *socket {
	s := &socket{Conn: c, use: as, remote: c.RemoteAddr().String(), most: most, writing: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	size := 4 << 10
	if as == shared {
		size = 32 << 10
	}
	s.frames = resp.NewReader(s, size)
	return s
}

// Read is part of net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if s.use == listening && s.readFor > 0 {
		_ = s.SetReadDeadline(time.Now().Add(s.readFor))
	}
	n, err := s.Conn.Read(p)
	if n > 0 {
		s.await(s.since.Load())
	}
	if s.received.Add(int64(n))-s.begun.Load() > s.most {
		n, err = 0, fmt.Errorf("a reply of more than %d bytes: the server sends without end", s.most)
		s.fail(err)
	}
	return n, err
}

// Write is part of net.Conn.
func (s *socket) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		if s.writeFor > 0 {
			_ = s.SetWriteDeadline(time.Now().Add(s.writeFor))
		}
		var m int
		m, err = s.Conn.Write(p[n:min(len(p), n+maxPart)])
		n += m
	}
	if err != nil {
		s.fail(err)
	}
	return n, err
}

// fail ends the socket; the first reason counts.
func (s *socket) fail(reason error) {
	s.end(reason)
	_ = s.Close()
}

func (s *socket) alive() bool { return s.ctx.Err() == nil }

// send sends commands together.
func (s *socket) send(commands [][]any, answered func(*batch)) *batch {
	b := &batch{most: len(commands), answered: answered, done: make(chan struct{}), replies: make([]any, 0, len(commands))}
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	if b.unsent = !s.alive(); b.unsent {
		b.end(s)
		return b
	}
	_ = s.SetReadDeadline(time.Time{})
	s.under.Store(b)
	s.begun.Store(s.received.Load())
	began := time.Now().UnixNano()
	s.since.Store(began)
	s.out = s.out[:0]
	for _, c := range commands {
		s.out = resp.AppendCommand(s.out, c...)
	}
	sent, _ := s.Write(s.out)
	b.unsent = sent == 0
	if cap(s.out) > maxKept {
		s.out = nil
	}
	s.await(began)
	return b
}

// await gives the next part of a reply its time, if no other part has come since.
func (s *socket) await(since int64) {
	now := time.Now()
	if since != 0 && s.since.CompareAndSwap(since, now.UnixNano()) && s.readFor > 0 {
		_ = s.SetReadDeadline(now.Add(s.readFor))
	}
}

// end completes a batch: all replies are there, or no more will come.
func (b *batch) end(s *socket) {
	if left := b.most - len(b.replies); left > 0 {
		b.err = fmt.Errorf("%w: %w", ErrLost, context.Cause(s.ctx))
		if b.unsent {
			b.err = fmt.Errorf("%w: %w: %w", ErrUnsent, errBroken, context.Cause(s.ctx))
		}
		b.replies = append(b.replies, slices.Repeat([]any{b.err}, left)...)
	}
	close(b.done)
	if b.answered != nil {
		b.answered(b)
	}
}

// within reports whether a batch is done before that time has passed.
func (b *batch) within(wait time.Duration) bool {
	select {
	case <-b.done:
		return true
	case <-time.After(wait):
		return false
	}
}

// serve reads for the life of the socket: the replies to a batch, and the end of an idle connection.
func (s *socket) serve() {
	for s.alive() {
		err := s.frames.Wait()
		var reply any
		if err == nil {
			reply, err = s.frames.Read()
		}
		b := s.under.Load()
		_, unasked := reply.(resp.Push)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.late(err)
		case err != nil:
			s.fail(err)
		case unasked:
		case b == nil:
			s.fail(errUnasked)
		default:
			if b.replies = append(b.replies, reply); len(b.replies) == b.most {
				s.under.Store(nil)
				s.since.Store(0)
				b.end(s)
			}
		}
	}
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	if b := s.under.Load(); b != nil {
		b.end(s)
	}
}

// late ends the socket, unless the deadline was of an earlier reply, or of the idle time before a command.
func (s *socket) late(err error) {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	switch b := s.under.Load(); {
	case b == nil && s.use == dedicated:
		s.fail(errSurplus)
	case b == nil, s.readFor == 0, time.Since(time.Unix(0, s.since.Load())) < s.readFor:
		_ = s.SetReadDeadline(time.Time{})
	default:
		s.fail(err)
	}
}
