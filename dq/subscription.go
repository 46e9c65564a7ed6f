package dq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// subscription keeps the channels of all queues of a Client subscribed over one
// connection, and makes a new one when that is lost.
//
// It speaks RESP on the socket itself: go-redis does not show the
// acknowledgements, each of which must start a transfer, and would write the
// command in lower case.
type subscription struct {
	client *Client
	// acknowledged, received and denied are called in the order of the server's frames.
	acknowledged func(channel string)
	received     func(channel, payload string)
	denied       func(channel string, err error)
	lost         func(error)

	mu       sync.Mutex
	channels []string
	socket   net.Conn // nil while there is no connection
	awaiting []string // channels whose SUBSCRIBE is not answered yet, and pings, in order
	refused  map[string]*refusal
	changed  chan struct{}
}

// refusal is what is known of a channel that the user may not subscribe to.
type refusal struct {
	pause time.Duration
	again time.Time
}

// Timing of the subscription connection.
const (
	connectTimeout = 5 * time.Second
	// quietTime without a frame is followed by a PING; as much again without an
	// answer means that the peer is gone. What others announce meanwhile is late by
	// no more than twice that and a connection.
	quietTime = 2 * time.Second
	// strictQuietTime is that of a Client that sends nothing unlike Redisson.
	strictQuietTime = 10 * time.Second
	// A refused SUBSCRIBE is sent again with growing pauses, for rights can change.
	minRefusalPause = time.Second
	maxRefusalPause = 30 * time.Second
)

// ping stands for a PING among the channels that wait for an answer. No queue has a
// channel of that name.
const ping = ""

func newSubscription(c *Client) *subscription {
	return &subscription{client: c, changed: make(chan struct{}, 1), refused: make(map[string]*refusal)}
}

// add subscribes to a channel, at once or with the next connection.
func (s *subscription) add(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels = append(s.channels, channel)
	s.subscribe(channel)
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
	delete(s.refused, channel)
	s.write("UNSUBSCRIBE", channel)
}

// subscribe sends one SUBSCRIBE for each channel, so that a refusal is that of one.
// Call with mu held.
func (s *subscription) subscribe(channel string) {
	if s.socket != nil {
		s.awaiting = append(s.awaiting, channel)
		s.write("SUBSCRIBE", channel)
	}
}

// write sends a command if there is a connection. A failure needs no answer here:
// the reader meets it too, and connects again. Call with mu held.
func (s *subscription) write(args ...any) {
	if s.socket == nil {
		return
	}
	_ = s.socket.SetWriteDeadline(time.Now().Add(connectTimeout))
	if _, err := s.socket.Write(resp.AppendCommand(nil, args...)); err != nil {
		_ = s.socket.Close()
	}
}

// run serves until ctx ends.
func (s *subscription) run(ctx context.Context) {
	var retry backoff
	for attempt := 0; ; attempt++ {
		if !s.waitForChannels(ctx) {
			return
		}
		established, err := s.serve(ctx, attempt)
		if ctx.Err() != nil {
			return
		}
		s.lost(err)
		if established {
			retry.reset()
			attempt = 0
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
// reports whether the server acknowledged anything.
func (s *subscription) serve(ctx context.Context, attempt int) (established bool, err error) {
	conn, release, err := s.connect(ctx, attempt)
	if err != nil {
		return false, fmt.Errorf("dq: cannot connect for the subscription: %w", err)
	}
	defer release()
	defer context.AfterFunc(ctx, func() { _ = conn.Conn.Close() })()
	defer func() {
		s.mu.Lock()
		s.socket, s.awaiting = nil, nil
		s.mu.Unlock()
	}()
	quiet := quietTime
	if s.client.strict {
		quiet = strictQuietTime
	}
	frames := resp.NewReader(conn, 0)
	pinged := false
	for {
		s.retryRefused()
		_ = conn.SetReadDeadline(time.Now().Add(quiet))
		if err := frames.Wait(); err != nil {
			if pinged || !errors.Is(err, os.ErrDeadlineExceeded) {
				return established, fmt.Errorf("dq: the subscription connection is lost: %w", err)
			}
			pinged = true
			s.mu.Lock()
			s.awaiting = append(s.awaiting, ping)
			s.write("PING")
			s.mu.Unlock()
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(quiet))
		frame, err := frames.Read()
		if err != nil {
			return established, fmt.Errorf("dq: the subscription connection is lost: %w", err)
		}
		pinged = false
		acknowledged, err := s.dispatch(frame)
		if err != nil {
			return established, err
		}
		established = established || acknowledged
	}
}

// connect makes a connection to a server that owns one of the channels' slots, and
// subscribes to all of them. In a Cluster any server would do; each attempt takes
// another one, for a slot may be down.
func (s *subscription) connect(ctx context.Context, attempt int) (*connection, func(), error) {
	s.mu.Lock()
	all := slices.Clone(s.channels)
	s.mu.Unlock()
	if len(all) == 0 {
		return nil, nil, errors.New("nothing to subscribe to")
	}
	n, err := s.client.topology.owner(ctx, all[attempt%len(all)])
	if err != nil {
		return nil, nil, err
	}
	conn, err := n.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	release := n.adopt(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket, s.awaiting = conn, nil
	for _, channel := range s.channels {
		if r := s.refused[channel]; r == nil || time.Now().After(r.again) {
			s.subscribe(channel)
		}
	}
	return conn, release, nil
}

// dispatch handles one frame, and reports whether it is an acknowledgement. An error
// says that the connection cannot be used.
func (s *subscription) dispatch(frame any) (acknowledged bool, err error) {
	var elements []any
	switch frame := frame.(type) {
	case []any:
		elements = frame
	case resp.Push:
		elements = frame
	case resp.Error:
		return false, s.refuse(frame)
	case string: // the answer to a PING while nothing is subscribed
		s.answered(ping)
		return false, nil
	}
	if len(elements) < 2 {
		return false, nil
	}
	kind, _ := elements[0].(string)
	if kind == "pong" {
		s.answered(ping)
	}
	if len(elements) != 3 {
		return false, nil
	}
	channel, _ := elements[1].(string)
	switch kind {
	case "subscribe":
		s.answered(channel)
		s.acknowledged(channel)
		return true, nil
	case "message":
		payload, _ := elements[2].(string)
		s.received(channel, payload)
	}
	return false, nil
}

// answered strikes a channel from those that wait for an answer.
func (s *subscription) answered(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.awaiting) > 0 && s.awaiting[0] == channel {
		s.awaiting = s.awaiting[1:]
	}
	delete(s.refused, channel)
}

// refuse handles an error reply, which is that to the oldest SUBSCRIBE or PING. One to
// PING, from a server that is BUSY or to a user who may not send it, is a sign of life
// as good as any. That the user may not subscribe to one channel does not concern the
// others; any other refusal of a SUBSCRIBE, such as BUSY, ends the connection, for it
// may be over as soon as there is another one.
func (s *subscription) refuse(reply resp.Error) error {
	s.mu.Lock()
	if len(s.awaiting) > 0 && s.awaiting[0] == ping {
		s.awaiting = s.awaiting[1:]
		s.mu.Unlock()
		return nil
	}
	if len(s.awaiting) == 0 || !redis.HasErrorPrefix(reply, "NOPERM") {
		s.mu.Unlock()
		return fmt.Errorf("dq: the subscription connection is lost: the server answered %w", reply)
	}
	channel := s.awaiting[0]
	s.awaiting = s.awaiting[1:]
	r := s.refused[channel]
	if r == nil {
		r = &refusal{}
		s.refused[channel] = r
	}
	r.pause = min(max(2*r.pause, minRefusalPause), maxRefusalPause)
	r.again = time.Now().Add(r.pause)
	s.mu.Unlock()
	s.denied(channel, fmt.Errorf("dq: the server refuses the subscription to %q: %w", channel, reply))
	return nil
}

// retryRefused sends SUBSCRIBE again where that was refused some time ago. It is
// called at least once per quietTime.
func (s *subscription) retryRefused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel, r := range s.refused {
		if time.Now().After(r.again) && !slices.Contains(s.awaiting, channel) {
			s.subscribe(channel)
		}
	}
}
