package dq

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// subscription keeps the channels of all queues of a Client subscribed over one
// connection, and makes a new one when that is lost.
//
// It speaks RESP on the socket itself: go-redis does not show the
// acknowledgements, each of which must start a transfer, and would write the
// command in lower case.
type subscription struct {
	client *Client
	// acknowledged and received are called in the order of the server's frames.
	acknowledged func(channel string)
	received     func(channel, payload string)
	lost         func(error)

	mu       sync.Mutex
	channels []string
	socket   net.Conn // nil while there is no connection
	changed  chan struct{}
}

// Timing of the subscription connection.
const (
	connectTimeout = 5 * time.Second
	// quietTime without a frame is followed by a PING; as much again without an
	// answer means that the peer is gone.
	quietTime = 10 * time.Second
)

func newSubscription(c *Client) *subscription {
	return &subscription{client: c, changed: make(chan struct{}, 1)}
}

// add subscribes to a channel, at once or with the next connection.
func (s *subscription) add(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels = append(s.channels, channel)
	s.write("SUBSCRIBE", channel)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// remove ends the subscription to a channel.
func (s *subscription) remove(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels = slices.DeleteFunc(s.channels, func(c string) bool { return c == channel })
	s.write("UNSUBSCRIBE", channel)
}

// write sends a command if there is a connection. A failure needs no answer here:
// the reader meets it too, and connects again. Call with mu held.
func (s *subscription) write(args ...string) {
	if s.socket == nil {
		return
	}
	_ = s.socket.SetWriteDeadline(time.Now().Add(connectTimeout))
	if _, err := s.socket.Write(appendCommand(nil, args...)); err != nil {
		_ = s.socket.Close()
	}
}

// run serves until ctx ends.
func (s *subscription) run(ctx context.Context) {
	var retry backoff
	for {
		if !s.waitForChannels(ctx) {
			return
		}
		established, err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		s.lost(err)
		if established {
			retry.reset()
		}
		if pause(ctx, retry.next()) != nil {
			return
		}
	}
}

// waitForChannels waits until there is something to subscribe to; false when ctx
// ends before.
func (s *subscription) waitForChannels(ctx context.Context) bool {
	for {
		s.mu.Lock()
		n := len(s.channels)
		s.mu.Unlock()
		if n > 0 {
			return true
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return false
		}
	}
}

// serve makes one connection and reads from it until it breaks. established
// tells whether the server acknowledged anything.
func (s *subscription) serve(ctx context.Context) (established bool, err error) {
	solo, err := s.connect(ctx)
	if err != nil {
		return false, fmt.Errorf("dq: cannot connect for the subscription: %w", err)
	}
	defer solo.close()
	defer context.AfterFunc(ctx, solo.cut)()
	defer func() {
		s.mu.Lock()
		s.socket = nil
		s.mu.Unlock()
	}()

	socket := solo.take()
	frames := bufio.NewReader(socket)
	pinged := false
	for {
		_ = socket.SetReadDeadline(time.Now().Add(quietTime))
		// Waiting for the first byte only keeps a deadline from tearing a frame.
		if _, err := frames.Peek(1); err != nil {
			if pinged || !errors.Is(err, os.ErrDeadlineExceeded) {
				return established, fmt.Errorf("dq: the subscription connection is lost: %w", err)
			}
			pinged = true
			s.mu.Lock()
			s.write("PING")
			s.mu.Unlock()
			continue
		}
		frame, err := readFrame(frames)
		if err != nil {
			return established, fmt.Errorf("dq: the subscription connection is lost: %w", err)
		}
		pinged = false
		established = true
		s.dispatch(frame)
	}
}

// connect lets go-redis make and authenticate a connection, takes its socket
// over and subscribes to all channels.
func (s *subscription) connect(ctx context.Context) (*soloConn, error) {
	s.mu.Lock()
	first := s.channels
	s.mu.Unlock()
	if len(first) == 0 {
		return nil, errors.New("nothing to subscribe to")
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	opt, err := s.client.router.options(ctx, first[0])
	if err != nil {
		return nil, err
	}
	solo := newSoloConn(opt)
	if err := solo.client.Ping(ctx).Err(); err != nil {
		solo.close()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket = solo.take()
	_ = s.socket.SetDeadline(time.Time{})
	for _, channel := range s.channels {
		s.write("SUBSCRIBE", channel)
	}
	return solo, nil
}

func (s *subscription) dispatch(frame []string) {
	if len(frame) != 3 {
		return
	}
	switch frame[0] {
	case "subscribe":
		s.acknowledged(frame[1])
	case "message":
		s.received(frame[1], frame[2])
	}
}

// backoff yields growing pauses between attempts.
type backoff struct{ last time.Duration }

// Bounds of a backoff.
const (
	minBackoff = 20 * time.Millisecond
	maxBackoff = 5 * time.Second
)

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	return b.last
}

func (b *backoff) reset() { b.last = 0 }
