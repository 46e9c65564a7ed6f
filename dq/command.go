package dq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// Bounds of how often a command is sent again that is known not to have run, and of
// the pauses where the server asks for time. Together they are less than a second, but
// for a slot that is being moved.
const (
	maxAttempts    = 12
	redirectPause  = 10 * time.Millisecond
	maxRedirection = 80 * time.Millisecond
	// maxHops is how many redirections are followed without a pause.
	maxHops = 3
	// maxMoving is how long a command waits for a slot that is being moved. Redis runs
	// one of several keys only where all of them exist, which those of an offer never
	// do: so it waits until the slot has arrived.
	maxMoving = 3 * time.Second
)

// target is where a command goes.
type target struct {
	node *node
	// asking is set for the importing server of a slot that is being moved.
	asking bool
}

// request is commands for the server that owns a key, sent together.
type request struct {
	lane     lane
	key      string
	commands [][]any
	// script, if any, is what the commands run by its SHA-1; a server that does not
	// know it is given it.
	script *wire.Script
	// pops is set for a command that takes values away. It has a connection of its own,
	// its reply is waited for a little longer than ctx, and what comes when nobody waits
	// any more is given to pops.
	pops func(reply any)
}

// send runs a request. Each reply is a value, a resp.Error, or an error that wraps
// errLost or errUnsent. What is known not to have run goes where the server says it
// should, or is tried again where that helps; what may have run is never sent again.
func (c *Client) send(ctx context.Context, r request) []any {
	s := sending{client: c, request: r}
	if s.replies, s.todo = s.single.replies[:0], s.single.todo[:0]; len(r.commands) > 1 {
		s.replies, s.todo = make([]any, 0, len(r.commands)), make([]int, 0, len(r.commands))
	}
	for i := range r.commands {
		s.todo = append(s.todo, i)
		s.replies = append(s.replies, errNotTried)
	}
	var next target
	patience := newPatience()
	for again := true; again && len(s.todo) > 0; again = again && patience.goOn(ctx, &s, next) {
		left := len(s.todo)
		if next, again = s.attempt(ctx); len(s.todo) < left {
			patience.attempt = 0 // of many commands some have run
		}
	}
	return s.replies
}

// errNotTried is the reply to a command until there is another.
var errNotTried = fmt.Errorf("%w: %w", errUnsent, context.Canceled)

// patience bounds how often, and for how long, a request is sent again.
type patience struct {
	began   time.Time
	attempt int
	wait    time.Duration
	taught  bool // a script, behind the last attempt
}

func newPatience() *patience { return &patience{began: time.Now()} }

// goOn reports whether to try again, after a pause where that is due.
func (p *patience) goOn(ctx context.Context, s *sending, next target) bool {
	p.attempt++
	if p.attempt >= maxAttempts && (!s.moving || time.Since(p.began) >= maxMoving) {
		if !s.teach || p.taught {
			return false
		}
		p.taught = true // a server that has come back at the last attempt knows no scripts
	}
	s.to = next
	// Servers that send it to and fro have not yet heard of each other.
	if next.node != nil && !s.hold && (s.teach || p.attempt <= maxHops) {
		return ctx.Err() == nil
	}
	p.wait = min(max(2*p.wait, redirectPause), maxRedirection)
	return pause(ctx, p.wait) == nil
}

// sending is the state of one request.
type sending struct {
	client   *Client
	request  request
	replies  []any
	todo     []int // which commands have not been run
	to       target
	hold     bool  // the server asks for time
	moving   bool  // and that for keys of a slot that is being moved
	teach    bool  // the server is given the script first
	untaught error // why it did not take it
	// single holds replies and todo of a request of one command.
	single struct {
		replies [1]any
		todo    [1]int
	}
}

// attempt sends what is to do, keeps what came of it, and says where the rest goes.
func (s *sending) attempt(ctx context.Context) (next target, again bool) {
	t := s.client.topology
	if s.to.node == nil {
		n, err := t.owner(ctx, s.request.key)
		if err != nil {
			s.settleAll(err)
			return target{}, errors.Is(err, errNoOwner) && s.client.ctx.Err() == nil
		}
		s.to.node = n
	}
	if s.request.pops != nil {
		return s.pop(ctx)
	}
	l, err := s.to.node.link(ctx, s.request.lane)
	if err != nil {
		s.settleAll(err)
		// A node that has just been replaced is no reason to fail.
		return target{}, errors.Is(err, errRetired) && s.client.ctx.Err() == nil
	}
	replies, err := l.send(s.wrap()...).wait(ctx)
	return s.sort(ctx, s.unwrap(replies), err)
}

func (s *sending) settleAll(err error) {
	for _, i := range s.todo {
		s.replies[i] = err
	}
}

// wrap returns the commands to send, each behind ASKING where that is needed, and all
// behind SCRIPT LOAD where the server did not know the script: at once, so that nobody
// flushes it in between.
func (s *sending) wrap() [][]any {
	if !s.teach && !s.to.asking && len(s.todo) == len(s.request.commands) {
		return s.request.commands
	}
	commands := make([][]any, 0, len(s.todo)+1)
	if s.teach {
		commands = append(commands, []any{"SCRIPT", "LOAD", s.request.script.Body})
	}
	for _, i := range s.todo {
		if s.to.asking {
			commands = append(commands, []any{"ASKING"})
		}
		commands = append(commands, s.request.commands[i])
	}
	return commands
}

// unwrap drops the replies to ASKING, and keeps what SCRIPT LOAD failed with.
func (s *sending) unwrap(replies []any) []any {
	s.untaught = nil
	if s.teach && len(replies) > 0 {
		s.untaught, _ = replies[0].(error)
		replies = replies[1:]
	}
	if !s.to.asking {
		return replies
	}
	var own []any
	for i := 1; i < len(replies); i += 2 {
		own = append(own, replies[i])
	}
	return own
}

// sort keeps the replies. err is why the last ones of them are missing.
func (s *sending) sort(ctx context.Context, replies []any, err error) (next target, again bool) {
	var rest []int
	s.hold, s.moving, s.teach = false, false, false
	for k, i := range s.todo {
		if k >= len(replies) {
			s.replies[i] = err
			if errors.Is(err, errUnsent) && ctx.Err() == nil && s.client.ctx.Err() == nil {
				rest = append(rest, i)
			}
			continue
		}
		s.replies[i] = replies[k]
		reply, failed := replies[k].(resp.Error)
		if !failed {
			continue
		}
		if s.request.script != nil && isNoScript(reply) {
			if s.untaught != nil {
				s.replies[i] = fmt.Errorf("loading the script: %w", s.untaught)
				continue
			}
			s.teach = true
			rest = append(rest, i)
			continue
		}
		if to, ok := s.redirect(reply); ok {
			next = to
			rest = append(rest, i)
		}
	}
	s.todo = rest
	if s.teach && next.node == nil && !s.hold {
		return s.to, true
	}
	s.teach = false // elsewhere, the script may be known
	return next, len(rest) > 0
}

// redirect reports whether an error reply says that the command was not run and that
// it can be: where, and whether the server asks for time first.
func (s *sending) redirect(reply resp.Error) (to target, ok bool) {
	t := s.client.topology
	code, rest, _ := strings.Cut(string(reply), " ")
	switch code {
	case "MOVED", "ASK":
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return target{}, false
		}
		address := fullAddress(fields[1], s.to.node.opt.Addr)
		to.node = t.at(address)
		to.asking = code == "ASK"
		if code == "MOVED" {
			t.redirected(s.request.key, address)
		}
		return to, to.node != nil
	case "TRYAGAIN":
		// The keys of the command are on both sides of a move, or not there yet.
		s.hold, s.moving = true, true
		return s.to, true
	case "CLUSTERDOWN":
		// A master is gone, or a slot has none for a moment.
		t.suspect(s.to.node)
		s.hold = true
		return target{}, true
	case "READONLY":
		if !t.follows() {
			return target{}, false
		}
		t.suspect(s.to.node)
		s.hold = true
		return target{}, true
	}
	return target{}, false
}

// do runs one command on the server that owns key. A nil reply comes back as nil.
func (c *Client) do(ctx context.Context, key string, args ...any) (any, error) {
	return c.one(ctx, request{key: key, commands: [][]any{args}})
}

// one runs a request of a single command.
func (c *Client) one(ctx context.Context, r request) (any, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	if r.pops != nil { // Close waits for what it takes away
		release, err := c.hold()
		if err != nil {
			return nil, err
		}
		defer release()
	}
	reply := c.send(ctx, r)[0]
	err, failed := reply.(error)
	switch {
	case !failed:
		return reply, nil
	case ctx.Err() != nil && isNoScript(err):
		return nil, fmt.Errorf("%w: %w", errUnsent, ctx.Err()) // there was no time to load it
	}
	return nil, c.explain(err)
}

// usable returns why no command can be sent at all.
func (c *Client) usable(ctx context.Context) error {
	switch {
	case c.broken != nil:
		return c.broken
	case c.ctx.Err() != nil:
		return ErrClosed
	}
	return ctx.Err()
}

// explain replaces what a closed Client's connections say by ErrClosed, where nothing
// was sent.
func (c *Client) explain(err error) error {
	if c.ctx.Err() != nil && errors.Is(err, errUnsent) {
		return ErrClosed
	}
	return err
}
