package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/resp"
)

var (
	// errDead is why a command that blocks is begun anew.
	errDead = errors.New("the server answers, and the command that blocks does not end: the connection is dead")
	// errSilent is why a connection ends whose server says that it has ended the command, while nothing arrives.
	errSilent = errors.New("the server ended the command, and its reply did not arrive: the connection is dead")
)

const (
	// closeGrace is how long Close waits for commands that it cannot end, and putBackGrace for a value that must go back.
	closeGrace, putBackGrace = time.Second, 3 * time.Second
	// returnWithin bounds putting a value back.
	returnWithin = time.Minute
	// unblockPause is the first pause between two attempts to end a command.
	unblockPause = 2 * time.Millisecond
)

// exchange is a request under way on its own socket. A caller that waits gets the replies; values that arrive after the
// caller has left go back.
type exchange struct {
	Request
	*batch
	server *server
	socket *socket
}

// Block runs a command that blocks until there is a value: BLPOP or BLMOVE, here without the time-out. The reply may be nil,
// without an error, if the connections are Strict and another client has ended the command.
//
// Unless they are, the command blocks in turns, so that a connection that is dead without its knowing is noticed. When ctx
// ends, the server is asked to end the command; if the user may not ask, it ends with its turn, which is then a second. A value that
// was on its way is returned. If the answer takes longer than Cancel, the call returns, and what still arrives is put back.
func (c *Conns) Block(ctx context.Context, key string, command ...any) (any, error) {
	var last error
	for tries := 0; tries < mostTries; tries++ {
		began := time.Now()
		reply := c.Send(ctx, Request{Key: key, Commands: [][]any{command}, Pops: true, blocks: true})[0]
		if time.Since(began) > time.Second {
			tries = 0
		}
		err, failed := reply.(error)
		refused, _ := reply.(resp.Error)
		switch {
		case reply != nil && !failed:
			return reply, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrClosed):
			return nil, ErrClosed // also if it was sent
		case !failed && c.Strict:
			return nil, nil
		case !failed: // the turn is over
			tries = 0
		case !errors.Is(err, ErrLost) && !strings.HasPrefix(string(refused), "UNBLOCKED"): // as a master says that was demoted
			return nil, err
		} // If a connection is lost, it is unknown if a value was lost with it.
		last = err
	}
	return nil, fmt.Errorf("%d times in a row: %w", mostTries, last)
}

// alone sends a request on its own socket. Otherwise a value that a hanging server pops would be lost: it runs the command all the same.
func (s *sending) alone(ctx context.Context, commands [][]any) (replies []any, err error) {
	c, server := s.conns, s.to.server
	one, err := server.alone.get(ctx)
	if err != nil {
		return nil, err
	}
	quiet, turn := server.opt.ReadTimeout, 0 // how long nothing may arrive; 0 for ever
	switch {
	case s.Alone, s.blocks && c.Strict:
		quiet = 0
	case s.blocks:
		if turn = max(int(c.Turn/time.Second), 1); server.cannotUnblock.Load() {
			turn = 1
		}
		quiet = time.Duration(turn)*time.Second + c.Overdue
	}
	if s.blocks {
		last := len(commands) - 1
		commands[last] = append(slices.Clone(commands[last]), turn)
	}
	written := func() bool { return true }
	if s.Alone { // a long value over a network that takes no more
		written = context.AfterFunc(ctx, func() { one.fail(context.Cause(ctx)) })
	}
	x := &exchange{Request: s.Request, batch: one.send(commands, nil), server: server, socket: one}
	written()
	if err := x.await(ctx, quiet); err != nil {
		x.leave()
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	server.alone.put(one)
	return x.replies, nil
}

// await waits for the replies, or returns why not to wait on. When ctx ends, it waits a little longer for a value that is on its way.
func (x *exchange) await(ctx context.Context, quiet time.Duration) error {
	var late, bound <-chan time.Time
	if quiet > 0 {
		late = time.After(quiet)
	}
	grace, pause := time.Duration(0), x.server.opt.ReadTimeout
	if x.Pops {
		grace = x.server.conns.Cancel
	}
	if x.blocks {
		pause = x.server.conns.Overdue
	}
	ended := ctx.Done()
	for came := x.socket.received.Load(); ; {
		select {
		case <-x.done:
			return nil
		case <-ended:
			ended, late, bound = nil, nil, time.After(grace)
			if x.blocks {
				go x.unblock()
			}
		case <-bound:
			return context.Cause(ctx)
		case <-late:
			if now := x.socket.received.Load(); now > came { // a long reply over a slow network
				came, late = now, time.After(pause)
			} else if err := x.silent(ctx); err != nil {
				return err
			} else {
				late = time.After(maxBackoff)
			}
		}
	}
}

// silent returns why not to wait on though nothing has arrived, or nil.
func (x *exchange) silent(ctx context.Context) error {
	switch {
	case !x.blocks:
		return errors.New("server not responding; late values are put back")
	case x.server.answers(ctx):
		go x.unblock()
		return errDead
	}
	x.server.conns.topology.suspect(x.server) // the whole server hangs, and may run it later
	return nil
}

// leave is for a caller that waits no longer: late values go back. After Stop it waits a little, and hangs up.
func (x *exchange) leave() {
	c := x.server.conns
	c.work.Add(1) // the caller still counts
	go func() {
		defer c.work.Done()
		select {
		case <-x.done:
		case <-c.ctx.Done():
			if x.server.cannotUnblock.Load() || !x.within(closeGrace) {
				x.hangUp()
			}
		}
		x.server.alone.put(x.socket)
		reply := x.replies[len(x.replies)-1]
		popped, several := reply.([]any)
		switch {
		case x.blocks && several: // of BLPOP: key and value. BLMOVE has moved its value to a safe list
			c.putBack(x.Key, popped[1:])
		case x.Pops && !x.blocks:
			c.putBack(x.Key, reply)
		}
	}()
}

// hangUp ends our half of the connection and reads the rest of the server's replies: a value that it popped before it saw that
// arrives. Only one that it pops in the very round of its event loop in which it sees the end is lost.
func (x *exchange) hangUp() {
	if half, ok := x.socket.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		x.within(closeGrace)
	}
	x.socket.fail(ErrClosed)
	<-x.done
}

// answers reports whether a server does, over another connection.
func (s *server) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.conns.Overdue)
	defer cancel()
	_, err := s.ask(ctx, "PING")
	return err == nil || errors.As(err, new(resp.Error))
}

// unblock asks the server to end the command until it has ended: more than once, for the command may not have reached the server yet. A connection on which
// nothing arrives for long although the server says that it has ended the command is dead.
func (x *exchange) unblock() {
	var answers time.Time // since when the server has answered
	var came int64        // the bytes received then
	for pause := unblockPause; x.socket.id != 0 && !x.server.cannotUnblock.Load(); pause = min(2*pause, maxBackoff) {
		err := x.askToEnd()
		switch now := x.socket.received.Load(); {
		case err != nil:
			answers = time.Time{}
		case answers.IsZero(), now > came:
			answers, came = time.Now(), now
		case time.Since(answers) > x.server.conns.Silent:
			x.socket.fail(errSilent)
		}
		if x.within(pause) {
			return
		}
	}
}

// askToEnd asks the server, once, to end the command: CLIENT UNBLOCK in a transaction with a script. That the command does
// not block (any more) is no error.
//
// A server whose writes are paused, as by CLIENT PAUSE or in CLUSTER FAILOVER, postpones BLPOP, and CLIENT UNBLOCK of a
// client that was postponed ends the server itself, by a failed assertion (seen with 7.0.15). A transaction with a script
// in it is postponed as well, so that it never meets such a client.
func (x *exchange) askToEnd() error {
	ctx, cancel := context.WithTimeout(context.Background(), x.server.conns.Overdue)
	defer cancel()
	guard, background := scripts.WaitForWritePause(), &x.server.lanes[Background]
	p := background.send([][]any{{"MULTI"}, {"EVALSHA", guard.SHA1, "0"}, {"CLIENT", "UNBLOCK", x.socket.id}, {"EXEC"}})
	if err := p.wait(ctx); err != nil {
		return err
	}
	replies := p.replies
	if results, done := replies[3].([]any); done && len(results) == 2 {
		if missing, failed := results[0].(resp.Error); failed && isNoScript(missing) {
			background.send([][]any{{"SCRIPT", "LOAD", guard.Body}}) // the next time it is there
		}
		replies = results[1:]
	}
	for _, reply := range replies {
		if refused, failed := reply.(resp.Error); failed && begins(refused, forbidden) {
			x.server.cannotUnblock.Store(true)
		}
		if err, failed := reply.(error); failed {
			return err
		}
	}
	return nil
}

// forbidden begin the errors of a server that will always answer so: the user lacks the right, or the server the command.
var forbidden = []string{"NOPERM", "unknown", "Unknown", "NOAUTH"}

// putBack pushes the values of a reply, one or several, back to the front of the list that they were taken from, and reports it.
func (c *Conns) putBack(key string, reply any) {
	all, several := reply.([]any)
	if !several {
		all = []any{reply}
	}
	var values []string
	command := []any{"LPUSH", key}
	for _, v := range slices.Backward(all) { // the one that was taken first ends up in front
		if text, ok := v.(string); ok {
			values, command = append(values, text), append(command, text)
		}
	}
	if len(values) == 0 {
		return
	}
	err := c.pushBack(key, command)
	if c.Returned != nil {
		c.Returned(key, values, err)
	}
}

// pushBack tries, for returnWithin, over a connection of its own: on one that others share it would be given up with them.
// A lost reply ends it: the values may be back, and another attempt could double them.
func (c *Conns) pushBack(key string, command []any) error {
	ctx, cancel := context.WithTimeout(context.Background(), returnWithin)
	defer cancel()
	defer context.AfterFunc(c.late, cancel)()
	var retry Backoff
	for {
		reply := c.send(ctx, Request{Key: key, Commands: [][]any{command}, Alone: true})[0]
		err, failed := reply.(error)
		switch {
		case !failed:
			return nil
		case !errors.Is(err, ErrUnsent) && !errors.As(err, new(resp.Error)):
			return err
		case c.ctx.Err() != nil || Pause(ctx, retry.Next()) != nil:
			return fmt.Errorf("dq: a value taken from %q could not be put back and is lost: %w", key, err)
		}
	}
}
