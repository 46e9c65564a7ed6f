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

	// readFor and writeFor bound one read, and the write of one part; 0 does not. A long reply over a slow network is no dead
	// connection.
	readFor, writeFor time.Duration

	received atomic.Int64  // bytes received
	begun    int64         // bytes received when the reply was begun
	since    atomic.Int64  // since when a reply is awaited in silence, Unix ns; 0 if no reply is awaited
	watches  *time.Timer   // begins the read that watches an idle socket
	watcher  chan struct{} // closed when it ends
}

const (
	// maxPart is how much is given to the network at once.
	maxPart = 256 << 10
	// maxKept is how large a buffer is kept for the next commands.
	maxKept = 64 << 10
	// watchAfter is how long a socket is idle before it is watched: the next command of a busy client comes sooner, and has no read to end.
	watchAfter = 5 * time.Millisecond
)

var (
	errUnasked = errors.New("the server sent something unasked")
	errBroken  = errors.New("the connection is lost")
)

func newSocket(c net.Conn, as use, most int64) *socket {
	s := &socket{Conn: c, use: as, remote: c.RemoteAddr().String(), most: most}
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
	if s.readFor > 0 {
		_ = s.SetReadDeadline(time.Now().Add(s.readFor))
	}
	n, err := s.Conn.Read(p)
	if n > 0 && s.since.Load() != 0 {
		s.since.Store(time.Now().UnixNano())
	}
	if s.received.Add(int64(n))-s.begun > s.most {
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

// watch soon reads while nothing is under way, so that the end of the socket is noticed, and ends it after the time
// given, 0 for never.
func (s *socket) watch(idle time.Duration) {
	s.watcher = make(chan struct{})
	until := time.Time{}
	if idle > 0 {
		until = time.Now().Add(idle)
	}
	_ = s.SetReadDeadline(until)
	s.watches = time.AfterFunc(watchAfter, func() {
		defer close(s.watcher)
		n, err := s.Conn.Read(make([]byte, 1))
		switch {
		case n > 0:
			s.fail(errUnasked)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			s.fail(err)
		case idle > 0 && !time.Now().Before(until):
			s.fail(errSurplus)
		}
	})
}

// unwatch ends watch before the next command, and reports whether the socket can be used.
func (s *socket) unwatch() bool {
	if !s.watches.Stop() {
		_ = s.SetReadDeadline(time.Unix(1, 0))
		<-s.watcher
	}
	_ = s.SetReadDeadline(time.Time{})
	return s.alive()
}

// run sends commands together and returns their replies: each a value, a resp.Error, or, without a reply, the error that wraps
// ErrLost or ErrUnsent, which it returns too.
func (s *socket) run(commands [][]any) (replies []any, err error) {
	s.begun = s.received.Load()
	s.since.Store(time.Now().UnixNano())
	defer s.since.Store(0)
	s.out = s.out[:0]
	for _, c := range commands {
		s.out = resp.AppendCommand(s.out, c...)
	}
	sent, err := s.Write(s.out)
	if cap(s.out) > maxKept {
		s.out = nil
	}
	replies = make([]any, 0, len(commands))
	for err == nil && len(replies) < len(commands) {
		var reply any
		reply, err = s.frames.Read()
		if _, unasked := reply.(resp.Push); err == nil && !unasked {
			replies = append(replies, reply)
		}
	}
	if err == nil {
		return replies, nil
	}
	s.fail(err)
	if err = fmt.Errorf("%w: %w", ErrLost, context.Cause(s.ctx)); sent == 0 {
		err = fmt.Errorf("%w: %w: %w", ErrUnsent, errBroken, context.Cause(s.ctx))
	}
	return append(replies, slices.Repeat([]any{err}, len(commands)-len(replies))...), err
}
