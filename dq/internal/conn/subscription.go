package conn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Subscription keeps channels subscribed over one connection, and makes a new one when that is lost.
type Subscription struct {
	acknowledged func(channel string)
	received     func(channel, payload string)
	denied       func(channel string, err error)
	lost         func(error)

	conns *Conns

	mu       sync.Mutex
	channels []string
	socket   *socket  // nil if there is no socket
	awaiting []string // channels whose SUBSCRIBE is not answered yet, and pings, in order
	changed  chan struct{}
}

// ping represents a PING among the channels that wait for an answer. No queue has a channel of that name.
const ping = ""

// NewSubscription returns one without channels. acknowledged, received and denied are called in the order of the server's frames.
func (c *Conns) NewSubscription(acknowledged func(string), received func(channel, payload string), denied func(string, error), lost func(error)) *Subscription {
	return &Subscription{acknowledged: acknowledged, received: received, denied: denied, lost: lost, conns: c, changed: make(chan struct{}, 1)}
}

// Add subscribes to a channel, at once or with the next connection.
func (s *Subscription) Add(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels = append(s.channels, channel)
	s.subscribe(channel)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Remove ends the subscription to a channel.
func (s *Subscription) Remove(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels = slices.DeleteFunc(s.channels, func(c string) bool { return c == channel })
	if s.socket != nil {
		s.send("UNSUBSCRIBE", channel)
	}
}

// subscribe sends one SUBSCRIBE for each channel, so that a refusal concerns one channel. A failure needs no answer here: the
// reader meets it too, and connects again. Call with mu held.
func (s *Subscription) subscribe(channel string) {
	if s.socket != nil {
		s.awaiting = append(s.awaiting, channel)
		s.send("SUBSCRIBE", channel)
	}
}

func (s *Subscription) send(command ...string) {
	_, _ = s.socket.Write(resp.AppendCommand(nil, command...))
}

// Run serves until ctx ends.
func (s *Subscription) Run(ctx context.Context) {
	var retry Backoff
	for attempt := 0; ctx.Err() == nil; attempt++ {
		established, err := s.serve(ctx, attempt)
		if ctx.Err() != nil {
			return
		}
		s.lost(err)
		if established {
			retry = Backoff{}
			attempt = 0
		}
		_ = Pause(ctx, retry.Next())
	}
}

// serve makes one connection and reads from it until it breaks. established reports whether the server acknowledged anything.
func (s *Subscription) serve(ctx context.Context, attempt int) (established bool, err error) {
	one, err := s.connect(ctx, attempt)
	if err != nil {
		return false, fmt.Errorf("dq: cannot connect for the subscription: %w", err)
	}
	defer context.AfterFunc(ctx, func() { one.fail(ErrClosed) })()
	defer func() {
		one.fail(errSurplus)
		s.mu.Lock()
		s.socket, s.awaiting = nil, nil
		s.mu.Unlock()
	}()
	for pinged := false; ; {
		one.begun.Store(one.received.Load())
		one.readFor = s.conns.Quiet
		err := one.frames.Wait()
		if errors.Is(err, os.ErrDeadlineExceeded) && !pinged {
			pinged = true
			s.mu.Lock()
			s.awaiting = append(s.awaiting, ping)
			s.send("PING")
			s.mu.Unlock()
			continue
		}
		var frame any
		if err == nil {
			frame, err = one.frames.Read()
		}
		if refused, ok := frame.(resp.Error); ok {
			err = s.refuse(refused)
		}
		if err != nil {
			one.fail(err)
			return established, fmt.Errorf("dq: the subscription connection is lost: %w", err)
		}
		pinged = false
		if frame == "PONG" {
			frame = []any{"pong"}
		}
		f, _ := frame.([]any)
		if push, ok := frame.(resp.Push); ok {
			f = push
		}
		var text [3]string
		for i := range min(len(f), 3) {
			text[i], _ = f[i].(string)
		}
		switch text[0] {
		case "subscribe":
			s.answered(text[1])
			s.acknowledged(text[1])
			established = true
		case "message":
			s.received(text[1], text[2])
		case "pong":
			s.answered(ping)
		}
	}
}

func (s *Subscription) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.channels)
}

// connect waits for a channel, and makes a connection to a server that owns one of the channels' slots, and subscribes to all of them. In a Cluster
// any server would do; each attempt takes another one, for a slot may be down.
func (s *Subscription) connect(ctx context.Context, attempt int) (*socket, error) {
	all := s.all()
	for ; len(all) == 0; all = s.all() {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	owner, err := s.conns.topology.owner(ctx, all[attempt%len(all)])
	if err != nil {
		return nil, err
	}
	one, err := owner.listening.get(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.socket, s.awaiting = one, nil
	for _, channel := range s.channels {
		s.subscribe(channel)
	}
	return one, nil
}

// answered strikes a channel from the list of channels without an answer, if it is the next.
func (s *Subscription) answered(channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isNext := len(s.awaiting) > 0 && s.awaiting[0] == channel
	if isNext {
		s.awaiting = s.awaiting[1:]
	}
	return isNext
}

// refuse handles an error reply, which answers the oldest SUBSCRIBE or PING. One to PING, from a server that is BUSY or to a user that may
// not send it, is a sign of life as good as any. That the user may not subscribe to one channel does not concern the others; any other
// refusal of a SUBSCRIBE, such as BUSY, ends the connection, for it may be over as soon as there is another one.
func (s *Subscription) refuse(reply resp.Error) error {
	if s.answered(ping) {
		return nil
	}
	s.mu.Lock()
	if len(s.awaiting) == 0 || !redis.HasErrorPrefix(reply, "NOPERM") {
		s.mu.Unlock()
		return fmt.Errorf("the server answered %w", reply)
	}
	channel, one := s.awaiting[0], s.socket
	s.awaiting = s.awaiting[1:]
	s.mu.Unlock()
	time.AfterFunc(s.conns.Refused, func() { // rights can change
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.socket == one && slices.Contains(s.channels, channel) {
			s.subscribe(channel)
		}
	})
	s.denied(channel, fmt.Errorf("dq: the server refuses the subscription to %q: %w", channel, reply))
	return nil
}
