package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// errSilent is why a connection ends whose server says that it has ended the command, while nothing arrives.
var errSilent = errors.New("the server ended the command, and its reply did not come: the connection is dead")

// unblockPause is the first pause between two attempts to end a command.
const unblockPause = 2 * time.Millisecond

// unwind ends a command that blocks, in the background, however long that takes. It must be asked for more than once: the
// command may not have reached the server yet. What comes once it was abandoned goes back.
func (c *Conns) unwind(x *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unwinding {
		return
	}
	x.unwinding = true
	c.unwinding.Add(1) // the caller still counts
	go func() {
		defer c.unwinding.Done()
		c.untilDone(x)
		x.mu.Lock()
		gone := x.abandoned
		x.mu.Unlock()
		if !gone {
			return
		}
		x.server.forget(x)
		switch reply, _ := x.finish(); reply := reply.(type) {
		case []any: // of BLPOP: key and value
			c.putBack(fmt.Sprint(reply[0]), reply[1:])
		case string: // BLMOVE has moved it to where it is safe
			c.tellReturned(fmt.Sprint(x.command[1]), []string{reply}, nil)
		}
	}()
}

// untilDone returns when the command has ended: by itself, by CLIENT UNBLOCK, or with its connection: where that is dead,
// and after Stop, at once if the server may not be asked, else after some time.
func (c *Conns) untilDone(x *exchange) {
	pause := unblockPause
	next := time.After(0)
	var asked chan error
	var answers time.Time // since when the server has answered
	var came int64        // the bytes that had come then
	closing := c.ctx.Done()
	var hangUp <-chan time.Time
	for {
		if closing == nil && x.cannotUnblock() {
			hangUp = time.After(0)
		}
		select {
		case <-x.done:
			return
		case <-next:
			next = nil
			if !x.cannotUnblock() {
				answer := make(chan error, 1)
				asked = answer
				go func() { answer <- c.unblock(x) }()
			}
		case err := <-asked:
			asked, next = nil, time.After(pause)
			pause = min(2*pause, maxBackoff)
			switch now := x.socket.received.Load(); {
			case err != nil:
				answers = time.Time{}
			case answers.IsZero(), now > came:
				answers, came = time.Now(), now
			case time.Since(answers) > c.Silent:
				x.socket.fail(errSilent)
				<-x.done
				return
			}
		case <-closing:
			closing, hangUp = nil, time.After(c.Close)
		case <-hangUp:
			c.hangUp(x)
			return
		}
	}
}

// hangUp ends our half of the connection and reads what the server still sends: a value that it popped before it saw that
// arrives. Only one that it pops in the very round of its event loop in which it sees the end is lost.
func (c *Conns) hangUp(x *exchange) {
	if half, ok := x.socket.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		timer := time.NewTimer(c.Close)
		defer timer.Stop()
		select {
		case <-x.done:
		case <-timer.C:
		}
	}
	x.socket.fail(ErrClosed)
	<-x.done
}

// unblock asks the server, once, to end the command: CLIENT UNBLOCK in a transaction with a script. That the command does
// not block (any more) is no error.
//
// A server whose writes are paused, as by CLIENT PAUSE or in CLUSTER FAILOVER, postpones BLPOP, and CLIENT UNBLOCK of a
// client that was postponed ends the server itself, by a failed assertion (seen with 7.0.15). A transaction with a script
// in it is postponed as well, so that it never meets such a client.
func (c *Conns) unblock(x *exchange) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.Overdue)
	defer cancel()
	guard, background := scripts.WaitForWritePause(), &x.server.lanes[Background]
	p := background.send(commandsOf([][]any{{"MULTI"}, {"EVALSHA", guard.SHA1, "0"}, {"CLIENT", "UNBLOCK", x.socket.id}, {"EXEC"}}))
	if err := p.wait(ctx); err != nil {
		return err
	}
	var replies []any
	for _, command := range p.commands {
		replies = append(replies, replyOf(command, p.err))
	}
	if results, done := replies[3].([]any); done && len(results) == 2 {
		if missing, failed := results[0].(resp.Error); failed && isNoScript(missing) {
			background.send(commandsOf([][]any{{"SCRIPT", "LOAD", guard.Body}})) // the next time it is there
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
	// HasErrorPrefix looks behind "ERR ".
	return redis.HasErrorPrefix(reply, "NOPERM") || redis.HasErrorPrefix(reply, "unknown") ||
		redis.HasErrorPrefix(reply, "Unknown") || redis.HasErrorPrefix(reply, "NOAUTH")
}

// pop waits for the reply to what takes values away, or has a connection of its own for another reason, and returns why it is
// not waited for any longer. A server that stands still would otherwise cost what it takes: it runs the command all the same.
func (s *sending) pop(ctx context.Context, x *exchange) error {
	c := s.conns
	limit := x.server.opt.ReadTimeout
	silent := time.NewTimer(limit)
	defer silent.Stop()
	if limit <= 0 || s.Alone {
		silent.Stop()
	}
	ended, closing := ctx.Done(), c.ctx.Done()
	grace := c.Close
	if s.Alone {
		grace = 3 * c.Close // for a value that nobody else has
	}
	var why error
	var bound <-chan time.Time
	for came := x.socket.received.Load(); ; {
		select {
		case <-x.done:
			x.server.put(x.socket)
			return nil
		case <-ended:
			ended, bound, why = nil, time.After(c.Cancel), context.Cause(ctx)
			continue
		case <-closing:
			closing, bound, why = nil, time.After(grace), ErrClosed
			continue
		case <-silent.C:
			if now := x.socket.received.Load(); now > came {
				came = now
				silent.Reset(limit)
				continue
			}
			why = errors.New("the server stands still: what still comes is put back")
		case <-bound:
		}
		c.unwinding.Add(1) // the caller still counts
		go s.linger(x)
		return fmt.Errorf("%w: %w", ErrLost, why)
	}
}

// linger waits for a reply that nobody waits for any more, and gives back what it holds. After Stop it ends as a command
// that blocks does.
func (s *sending) linger(x *exchange) {
	c := s.conns
	defer c.unwinding.Done()
	select {
	case <-x.done:
	case <-c.ctx.Done():
		timer := time.NewTimer(c.Close)
		defer timer.Stop()
		select {
		case <-x.done:
		case <-timer.C:
			c.hangUp(x)
		}
	}
	if reply, err := x.finish(); err == nil && s.Pops {
		c.putBack(s.Key, reply)
	}
}

// putBack pushes the values of a reply back to the front of the list that they were taken from, and tells so.
func (c *Conns) putBack(key string, reply any) {
	if values := backwards(reply); len(values) > 0 {
		c.tellReturned(key, values, c.pushBack(key, values))
	}
}

func (c *Conns) tellReturned(key string, values []string, err error) {
	if c.Returned != nil {
		c.Returned(key, values, err)
	}
}

// backwards returns the values of a reply, of one or of several, the last one first: the one that was taken first ends up
// in front.
func backwards(reply any) (values []string) {
	switch r := reply.(type) {
	case string:
		return []string{r}
	case []any:
		for _, v := range slices.Backward(r) {
			if text, ok := v.(string); ok {
				values = append(values, text)
			}
		}
	}
	return values
}

// pushBack tries, for Return, until the server has the values at the front of a list, over a connection of its own: on one that others share
// it would be given up with it. A lost reply ends it: they may be back, and another attempt could double them.
func (c *Conns) pushBack(key string, values []string) error {
	command := []any{"LPUSH", key}
	for _, v := range values {
		command = append(command, v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Return)
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
