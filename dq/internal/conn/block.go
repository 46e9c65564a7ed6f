package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

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

// exchange is commands under way on their own socket. A caller that waits gets the reply; a reply after the caller has left
// goes back.
type exchange struct {
	conns   *Conns
	server  *server
	socket  *socket
	returns func(reply any) // gives back a late reply, if needed
	replies []any           // once done is closed
	done    chan struct{}

	blocks            bool          // the server can be asked to end it
	grace, closeGrace time.Duration // how much longer it is waited for when the caller's context, or the Client, ends
	pause             time.Duration // how long the rest of a reply may be silent
}

// begin sends commands on a socket of their own.
func (c *Conns) begin(ctx context.Context, s *server, commands [][]any, returns func(any)) (*exchange, error) {
	one, err := s.alone.get(ctx)
	if err != nil {
		return nil, err
	}
	x := &exchange{conns: c, server: s, socket: one, returns: returns, done: make(chan struct{})}
	go func() {
		x.replies, _ = one.run(commands)
		close(x.done)
	}()
	return x, nil
}

// finish puts the socket away and returns the reply to the last command; an error reply as an error.
func (x *exchange) finish() (any, error) {
	x.server.alone.put(x.socket)
	reply := x.replies[len(x.replies)-1]
	if err, failed := reply.(error); failed {
		return nil, err
	}
	return reply, nil
}

// leave is for a caller that waits no longer: a late reply goes back. After Stop it waits a little, and hangs up.
func (x *exchange) leave() {
	c := x.conns
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
		if reply, err := x.finish(); err == nil && x.returns != nil {
			x.returns(reply)
		}
	}()
}

func (x *exchange) within(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-x.done:
		return true
	case <-timer.C:
		return false
	}
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

// Block runs a command that blocks until there is a value: BLPOP or BLMOVE, here without the time-out. The reply may be nil,
// without an error, if the connections are Strict and another client has ended the command.
//
// Unless they are, the command blocks in turns, so that a connection that is dead without its knowing is noticed. When ctx
// ends, the server is asked to end the command; if the user may not ask, it ends with its turn, which is then a second. A value that
// was on its way is returned. If the answer takes longer than Cancel, the call returns, and what still arrives is put back.
func (c *Conns) Block(ctx context.Context, key string, command ...any) (any, error) {
	done, err := c.hold()
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
			// If a connection is lost, it is unknown if a value was lost with it.
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
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	seconds, quiet := 0, time.Duration(0)
	if !c.Strict {
		if seconds = max(int(c.Turn/time.Second), 1); s.to.server.cannotUnblock.Load() {
			seconds = 1
		}
		quiet = time.Duration(seconds)*time.Second + c.Overdue
	}
	s.Commands, s.todo = [][]any{append(slices.Clone(command), seconds)}, []int{0}
	x, err := c.begin(ctx, s.to.server, s.wrap(), func(reply any) {
		if popped, ok := reply.([]any); ok { // of BLPOP: key and value. BLMOVE has moved its value to a safe list
			c.putBack(fmt.Sprint(popped[0]), popped[1:])
		}
	})
	if err != nil {
		return nil, err
	}
	x.blocks, x.grace, x.closeGrace, x.pause = true, c.Cancel, c.Cancel, c.Overdue
	if err := x.await(ctx, quiet, func() error {
		if x.server.answers(ctx) {
			go x.unblock()
			return errDead
		}
		c.topology.suspect(x.server) // the whole server hangs, and may run it later
		return nil
	}); err != nil {
		return nil, err
	}
	return x.finish()
}

// await waits for the replies, or leaves and returns why. When ctx or the Client ends, it waits a little longer, for a value that is
// on its way. When nothing has arrived for the time quiet, if that is not 0, silent says why to leave; nil is to wait on.
func (x *exchange) await(ctx context.Context, quiet time.Duration, silent func() error) (why error) {
	var late, bound <-chan time.Time
	if quiet > 0 {
		late = time.After(quiet)
	}
	ended, closing := ctx.Done(), x.conns.ctx.Done()
	for came := x.socket.received.Load(); ; {
		before := why
		select {
		case <-x.done:
			return nil
		case <-ended:
			ended, late, bound, why = nil, nil, time.After(x.grace), context.Cause(ctx)
		case <-closing:
			closing, late, bound, why = nil, nil, time.After(x.closeGrace), ErrClosed
		case <-bound:
			x.leave()
			return why
		case <-late:
			if now := x.socket.received.Load(); now > came { // a long reply over a slow network
				came, late = now, time.After(x.pause)
			} else if err := silent(); err != nil {
				x.leave()
				return err
			} else {
				late = time.After(maxBackoff)
			}
		}
		if x.blocks && before == nil && why != nil {
			go x.unblock()
		}
	}
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
		case time.Since(answers) > x.conns.Silent:
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
	ctx, cancel := context.WithTimeout(context.Background(), x.conns.Overdue)
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
		if refused, failed := reply.(resp.Error); failed && isForbidden(refused) {
			x.server.cannotUnblock.Store(true)
		}
		if err, failed := reply.(error); failed {
			return err
		}
	}
	return nil
}

// isForbidden reports whether a server will always answer so: the user lacks the right, or the server the command.
func isForbidden(reply resp.Error) bool {
	return slices.ContainsFunc([]string{"NOPERM", "unknown", "Unknown", "NOAUTH"}, func(code string) bool {
		return redis.HasErrorPrefix(reply, code) // looks behind "ERR "
	})
}

// alone sends a request on its own socket. Otherwise a value that a hanging server pops would be lost: it runs the
// command all the same.
func (s *sending) alone(ctx context.Context, commands [][]any) (replies []any, err error) {
	c := s.conns
	var returns func(any)
	if s.Pops {
		returns = func(reply any) { c.putBack(s.Key, reply) }
	}
	x, err := c.begin(ctx, s.to.server, commands, returns)
	if err != nil {
		return nil, err
	}
	x.pause, x.closeGrace = x.server.opt.ReadTimeout, putBackGrace
	if s.Pops {
		x.grace, x.closeGrace = c.Cancel, closeGrace
	}
	quiet := x.pause
	if s.Alone {
		quiet = 0
	}
	if err := x.await(ctx, quiet, func() error { return errors.New("server not responding; late values are put back") }); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	x.server.alone.put(x.socket)
	return x.replies, nil
}

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
	var retry Backoff
	for {
		reply := c.Send(ctx, Request{Key: key, Commands: [][]any{command}, Alone: true})[0]
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
