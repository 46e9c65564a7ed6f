package conn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// socket is one connection. go-redis reads and writes it, through a client that has this one alone; what goes over
// it is seen here.
type socket struct {
	net.Conn
	client *redis.Client
	pubsub *redis.PubSub // of a subscription
	id     int64         // the CLIENT ID; 0 where the server does not tell
	remote string        // the address that it leads to, whatever name was dialled
	ended  chan struct{} // closed with the end
	onEnd  func()
	most   int64 // bytes of what comes for what was sent at once

	end    sync.Once
	reason error // why it ended

	// readFor and writeFor are go-redis's time-outs. Each bounds one read, or the write of one part: a long reply
	// over a slow network is no dead connection.
	readFor, writeFor time.Duration

	received atomic.Int64 // bytes that have come
	written  atomic.Bool  // something was written since the last call of run
	begun    atomic.Int64 // bytes that had come when the reply was begun
	since    atomic.Int64 // since when a reply is awaited and nothing comes, Unix ns; 0 where none is

	watcher chan struct{} // closed when the read ends that watches an idle socket
	use     use
}

// maxPart is how much is given to the network at once.
const maxPart = 256 << 10

var (
	errUnasked = errors.New("the server sent something unasked")
	errBroken  = errors.New("the connection is lost")
)

// Read is part of net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if s.readFor > 0 {
		_ = s.Conn.SetReadDeadline(time.Now().Add(s.readFor))
	}
	n, err := s.Conn.Read(p)
	if n > 0 && s.since.Load() != 0 {
		s.since.Store(time.Now().UnixNano())
	}
	if s.received.Add(int64(n))-s.begun.Load() > s.most {
		err = fmt.Errorf("a reply of more than %d bytes: the server sends without end", s.most)
		n = 0
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.fail(err)
	}
	return n, err
}

// Write is part of net.Conn.
func (s *socket) Write(p []byte) (n int, err error) {
	s.written.Store(true)
	if s.use == listening {
		p = upperCase(p)
	}
	for len(p) > 0 {
		if s.writeFor > 0 {
			_ = s.Conn.SetWriteDeadline(time.Now().Add(s.writeFor))
		}
		m, err := s.Conn.Write(p[:min(len(p), maxPart)])
		n += m
		if err != nil {
			s.fail(err)
			return n, err
		}
		p = p[m:]
	}
	return n, nil
}

// SetReadDeadline is part of net.Conn.
func (s *socket) SetReadDeadline(t time.Time) error {
	s.readFor = time.Until(t)
	return s.Conn.SetReadDeadline(t)
}

// SetWriteDeadline is part of net.Conn.
func (s *socket) SetWriteDeadline(t time.Time) error {
	s.writeFor = time.Until(t)
	return s.Conn.SetWriteDeadline(t)
}

// SetDeadline is part of net.Conn.
func (s *socket) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// Close is part of net.Conn.
func (s *socket) Close() error {
	s.fail(net.ErrClosed)
	return nil
}

// fail ends the socket; the first reason counts.
func (s *socket) fail(reason error) {
	s.end.Do(func() {
		s.reason = reason
		close(s.ended)
		_ = s.Conn.Close()
		go func() {
			_ = s.client.Close()
			if s.onEnd != nil {
				s.onEnd()
			}
		}()
	})
}

func (s *socket) alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// watch reads while nothing is under way, so that the end of the socket is noticed when it comes, and ends it after the time
// given, 0 for never.
func (s *socket) watch(idle time.Duration) {
	s.watcher = make(chan struct{})
	until := time.Time{}
	if idle > 0 {
		until = time.Now().Add(idle)
	}
	_ = s.Conn.SetReadDeadline(until)
	go func() {
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
	}()
}

// unwatch ends watch before the next command, and reports whether the socket can be used.
func (s *socket) unwatch() bool {
	_ = s.Conn.SetReadDeadline(time.Unix(1, 0))
	<-s.watcher
	_ = s.Conn.SetReadDeadline(time.Time{})
	return s.alive()
}

// run sends commands together and reads their replies. The error says why the last ones have none.
func (s *socket) run(commands []redis.Cmder) error {
	s.written.Store(false)
	s.begun.Store(s.received.Load())
	s.since.Store(time.Now().UnixNano())
	defer s.since.Store(0)
	ctx := context.Background()
	if len(commands) == 1 {
		_ = s.client.Process(ctx, commands[0])
	} else {
		pipe := s.client.Pipeline()
		for _, c := range commands {
			_ = pipe.Process(ctx, c)
		}
		_, _ = pipe.Exec(ctx)
	}
	last := commands[len(commands)-1].Err()
	if last == nil || isReply(last) {
		return nil
	}
	s.fail(last)
	reason := s.reason
	if errors.Is(reason, net.ErrClosed) { // by go-redis, for this
		reason = last
	}
	if s.written.Load() {
		return fmt.Errorf("%w: %w", ErrLost, reason)
	}
	return fmt.Errorf("%w: %w: %w", ErrUnsent, errBroken, reason)
}

func isReply(err error) bool { return errors.As(err, new(redis.Error)) }

// commandsOf returns commands in go-redis's form.
func commandsOf(commands [][]any) []redis.Cmder {
	all := make([]redis.Cmder, len(commands))
	for i, args := range commands {
		all[i] = redis.NewCmd(context.Background(), args...)
	}
	return all
}

// replyOf returns the reply to a command that has ended: a value, nil, a resp.Error, or why there is none.
func replyOf(command redis.Cmder, missing error) any {
	value, err := command.(*redis.Cmd).Result()
	switch {
	case err == nil:
		return plain(value)
	case errors.Is(err, redis.Nil):
		return nil
	case isReply(err):
		return resp.Error(err.Error())
	}
	return missing
}

// plain returns a value of go-redis's in the form of package resp.
func plain(value any) any {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			v[i] = plain(element)
		}
	case map[any]any:
		flat := make([]any, 0, 2*len(v))
		for key, element := range v {
			flat = append(flat, plain(key), plain(element))
		}
		return flat
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case error:
		return resp.Error(v.Error())
	}
	return value
}
