package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// errDead is why a command that blocks is begun anew.
var errDead = errors.New("the server answers, and the command that blocks does not end: the connection is dead")

// exchange is commands under way on a socket of their own.
type exchange struct {
	server   *server
	socket   *socket
	command  []any // that blocks, without its time-out
	commands []redis.Cmder
	err      error // why the last commands have no reply, once done is closed
	done     chan struct{}

	mu        sync.Mutex
	abandoned bool // nobody waits any more: whatever comes goes back
	unwinding bool
}

// begin sends commands on a socket of their own.
func (c *Conns) begin(ctx context.Context, s *server, commands []redis.Cmder) (*exchange, error) {
	one, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	x := &exchange{server: s, socket: one, commands: commands, done: make(chan struct{})}
	go func() {
		x.err = one.run(commands)
		close(x.done)
	}()
	return x, nil
}

// reply returns the reply to the last command, once done is closed; an error reply as an error.
func (x *exchange) reply() (any, error) {
	reply := replyOf(x.commands[len(x.commands)-1], x.err)
	if err, failed := reply.(error); failed {
		return nil, err
	}
	return reply, nil
}

// finish puts the socket away and returns the reply.
func (x *exchange) finish() (any, error) {
	x.server.put(x.socket)
	return x.reply()
}

// abandon leaves the exchange to unwind; false if it has ended meanwhile.
func (x *exchange) abandon() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.done:
		return false
	default:
	}
	x.abandoned = true
	return true
}

// Block runs a command that blocks until there is a value: BLPOP or BLMOVE, here without the time-out. The reply may be nil,
// without an error, where the connections are Strict and somebody has ended the command from beside.
//
// Unless they are, the command blocks in turns, so that a connection that is dead without its knowing is noticed. When ctx
// ends, the server is asked to end the command. A value that was on its way is returned. If the answer takes longer than
// Cancel, or the server cannot be asked, the call returns, and what still arrives is put back.
func (c *Conns) Block(ctx context.Context, key string, command ...any) (any, error) {
	done, err := c.hold(&c.blocked)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()

	s := sending{conns: c, Request: Request{Key: key}}
	var last error
	for tries := 0; tries < mostTries; tries++ {
		began := time.Now()
		reply, err := c.turn(ctx, &s, command)
		if time.Since(began) > time.Second {
			tries = 0
		}
		refused, isReply := err.(resp.Error) //nolint:errorlint // a reply is never wrapped here
		switch {
		case reply != nil:
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && c.Strict:
			return nil, nil
		case isReply && !strings.HasPrefix(string(refused), "UNBLOCKED"): // as a master says that was demoted
			var again bool
			if s.to, again = s.redirect(refused); !again {
				return nil, err
			} else if s.hold && Pause(ctx, maxRedirection) != nil {
				return nil, context.Cause(ctx)
			}
			s.hold = false
		case err == nil: // the turn is over
			s.to, tries = target{}, 0
		case isReply, another(err), errors.Is(err, ErrLost), errors.Is(err, errDead):
			// Of a connection that is lost nobody can say whether it took a value along.
			s.to = target{}
		default:
			return nil, err
		}
		last = err
	}
	return nil, fmt.Errorf("%d times in a row: %w", mostTries, last)
}

// turn sends the command once.
func (c *Conns) turn(ctx context.Context, s *sending, command []any) (any, error) {
	if s.to.server == nil {
		owner, err := c.topology.owner(ctx, s.Key)
		if err != nil {
			return nil, err
		}
		s.to.server = owner
	}
	var late <-chan time.Time
	seconds := 0
	if !c.Strict {
		seconds = int(max(c.Turn/time.Second, 1))
		timer := time.NewTimer(time.Duration(seconds)*time.Second + c.Overdue)
		defer timer.Stop()
		late = timer.C
	}
	x := s.to.server.reuse(command)
	if x == nil {
		var all [][]any
		if s.to.asking {
			all = append(all, []any{"ASKING"})
		}
		var err error
		if x, err = c.begin(ctx, s.to.server, commandsOf(append(all, append(slices.Clone(command), seconds)))); err != nil {
			return nil, err
		}
		x.command = command
	}
	for came := x.socket.received.Load(); ; {
		select {
		case <-x.done:
			return x.finish()
		case <-ctx.Done():
			return c.cancelBlocked(ctx, x)
		case <-late:
		}
		switch now := x.socket.received.Load(); {
		case now > came: // a long reply over a slow network
			came, late = now, time.After(c.Overdue)
		case c.answers(ctx, x.server):
			return c.leave(x, errDead)
		default: // the server as a whole stands still, and may run it later
			c.topology.suspect(x.server)
			late = time.After(maxBackoff)
		}
	}
}

// answers reports whether a server does, from beside.
func (c *Conns) answers(ctx context.Context, s *server) bool {
	ctx, cancel := context.WithTimeout(ctx, c.Overdue)
	defer cancel()
	_, err := s.ask(ctx, "PING")
	return err == nil || errors.As(err, new(resp.Error))
}

// leave leaves a command to unwind, unless it has ended.
func (c *Conns) leave(x *exchange, why error) (any, error) {
	c.unwind(x)
	if x.abandon() {
		return nil, why
	}
	return x.finish()
}

// cancelBlocked ends the command for a caller whose context has ended.
func (c *Conns) cancelBlocked(ctx context.Context, x *exchange) (any, error) {
	c.unwind(x)
	grace := c.Cancel
	if x.cannotUnblock() {
		grace = 0
	}
	bound := time.NewTimer(grace)
	defer bound.Stop()
	select {
	case <-x.done:
	case <-bound.C:
		if x.abandon() {
			x.server.park(x)
			return nil, context.Cause(ctx)
		}
	}
	reply, err := x.finish()
	if reply == nil {
		return nil, context.Cause(ctx)
	}
	return reply, err
}

func (x *exchange) cannotUnblock() bool { return x.socket.id == 0 || x.server.cannotUnblock.Load() }

// park keeps an exchange that was abandoned for the next caller of the same command.
func (s *server) park(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked = append(s.parked, x)
}

// reuse returns an exchange that was abandoned while its command goes on blocking, where none can be ended.
func (s *server) reuse(command []any) *exchange {
	if !s.cannotUnblock.Load() {
		return nil
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.parked, func(x *exchange) bool { return slices.Equal(x.command, command) })
	if i < 0 {
		s.mu.Unlock()
		return nil
	}
	x := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	s.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.done:
		return nil // what came goes back
	default:
	}
	x.abandoned = false
	return x
}

// forget takes an exchange that has ended from those that are kept.
func (s *server) forget(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parked = slices.DeleteFunc(s.parked, func(p *exchange) bool { return p == x })
}
