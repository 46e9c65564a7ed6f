package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Bounds of how often a command is sent again that is known not to have run, and of the pauses if the server asks
// for time. Together they are less than a second, but for a slot that is being moved: see Options.Patience.
const (
	mostTries      = 12
	redirectPause  = 10 * time.Millisecond
	maxRedirection = 80 * time.Millisecond
	// maxHops is how many redirections are followed without a pause.
	maxHops = 3
)

// Request is commands for the server that owns a key, sent together.
type Request struct {
	Lane     Lane
	Key      string
	Commands [][]any
	// Script, if any, is the text of the script that the commands run by its SHA-1; a server that lacks it receives it.
	Script string
	// Pops is set for a command that takes values from the front of the list Key. It has its own connection, its reply is
	// waited for a little longer than ctx, and a late reply goes back.
	Pops   bool
	blocks bool // and waits for them, and lacks its time-out: see Block
	// Alone gives it its own connection, and no bound but ctx. If the first command has to be sent again, all are, and the
	// others never without it.
	Alone bool
}

// target is the receiver of a command.
type target struct {
	server *server
	asking bool // set for the importing server of a slot that is being moved
}

// sending is the state of one request.
type sending struct {
	Request
	conns   *Conns
	replies []any
	todo    []int // which commands have not been run
	to      target
	hold    bool // the server asks for time
	moving  bool // and that for keys of a slot that is being moved
	teach   bool // the server is given the script first

	began  time.Time
	tries  int
	wait   time.Duration
	taught bool // by the last try
}

// Send runs a request. Each reply is a value, a resp.Error, an error that wraps ErrLost or ErrUnsent, or, of a command that was
// not sent, ErrClosed after Stop, or the error of a context that has ended before. A command that is known not to have run goes
// to the server of the redirection, or is tried again if that helps; a command that may have run is never sent again.
func (c *Conns) Send(ctx context.Context, r Request) []any {
	switch {
	case c.ctx.Err() != nil:
		return slices.Repeat([]any{ErrClosed}, len(r.Commands))
	case ctx.Err() != nil:
		return slices.Repeat([]any{ctx.Err()}, len(r.Commands))
	}
	replies := c.send(ctx, r)
	for i, reply := range replies {
		switch err, failed := reply.(error); {
		case failed && c.ctx.Err() != nil && errors.Is(err, ErrUnsent):
			replies[i] = ErrClosed
		case failed && ctx.Err() != nil && slices.ContainsFunc(elsewhere, func(code string) bool { return redis.HasErrorPrefix(err, code) }):
			replies[i] = fmt.Errorf("%w: %w", ErrUnsent, ctx.Err()) // there was no time for the next try
		}
	}
	return replies
}

// send is Send, also after Stop: values still go back.
func (c *Conns) send(ctx context.Context, r Request) []any {
	s := sending{conns: c, Request: r, replies: make([]any, len(r.Commands)), began: time.Now()}
	s.all(ErrUnsent)
	if r.Pops {
		if !c.hold() {
			return s.replies
		}
		defer c.work.Done()
		closing, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()
		ctx = closing
	}
	for len(s.todo) > 0 {
		left := len(s.todo)
		next, again := s.try(ctx)
		if len(s.todo) < left {
			s.tries = 0 // of many commands some have run
		}
		if !again || !s.goOn(ctx, next) {
			break
		}
	}
	return s.replies
}

// all has every command to do, and answered so.
func (s *sending) all(err error) {
	s.todo = s.todo[:0]
	for i := range s.replies {
		s.replies[i] = err
		s.todo = append(s.todo, i)
	}
}

// fail answers the remaining commands, and reports whether there may be another try.
func (s *sending) fail(err error) (target, bool) {
	for _, i := range s.todo {
		s.replies[i] = err
	}
	return target{}, (another(err) || errors.Is(err, errNoOwner)) && s.conns.ctx.Err() == nil
}

// goOn reports whether there is another try, and pauses before it if that helps.
func (s *sending) goOn(ctx context.Context, next target) bool {
	if s.tries++; s.moving && time.Since(s.began) < s.conns.Patience {
		s.tries = 0 // a wait is no redirection
	}
	if s.tries >= mostTries {
		if !s.teach || s.taught {
			return false
		}
		s.taught = true // a server that restarted before the last try knows no scripts
	}
	s.to = next
	// Servers that send it to and fro have not yet heard of each other.
	if next.server != nil && !s.hold && (s.teach || s.tries <= maxHops) {
		return ctx.Err() == nil
	}
	s.wait = min(max(2*s.wait, redirectPause), maxRedirection)
	return Pause(ctx, s.wait) == nil
}

// try sends the remaining commands, keeps their results, and returns the target of the rest.
func (s *sending) try(ctx context.Context) (next target, again bool) {
	if s.to.server == nil {
		owner, err := s.conns.topology.owner(ctx, s.Key)
		if err != nil {
			return s.fail(err)
		}
		s.to.server = owner
	}
	commands := s.wrap()
	if s.Pops || s.Alone {
		replies, err := s.alone(ctx, commands)
		if err != nil {
			return s.fail(err)
		}
		return s.sort(ctx, replies)
	}
	p := s.to.server.lanes[s.Lane].send(commands)
	if err := p.wait(ctx); err != nil {
		return s.fail(err)
	}
	return s.sort(ctx, p.replies)
}

// wrap returns the commands to send, each after ASKING if needed, and all after SCRIPT LOAD if the server
// did not know the script: at once, so that no flush comes between.
func (s *sending) wrap() [][]any {
	commands := make([][]any, 0, len(s.todo)+1)
	if s.teach {
		commands = append(commands, []any{"SCRIPT", "LOAD", s.Script})
	}
	for _, i := range s.todo {
		if s.to.asking {
			commands = append(commands, []any{"ASKING"})
		}
		commands = append(commands, s.Commands[i])
	}
	return commands
}

// sort keeps the replies to what wrap returned.
func (s *sending) sort(ctx context.Context, replies []any) (next target, again bool) {
	var untaught error
	if s.teach {
		untaught, _ = replies[0].(error)
		replies = replies[1:]
	}
	step := 1
	if s.to.asking {
		step, replies = 2, replies[1:]
	}
	s.hold, s.moving, s.teach = false, false, false
	var rest []int
	for k, i := range s.todo {
		s.replies[i] = replies[k*step]
		reply, isReply := s.replies[i].(resp.Error)
		failure, _ := s.replies[i].(error)
		unrun := false
		switch {
		case !isReply:
			unrun = ctx.Err() == nil && s.conns.ctx.Err() == nil && another(failure)
		case s.Script == "" || !isNoScript(reply):
			var to target
			if to, unrun = s.redirect(reply); unrun {
				next = to
			}
		case untaught != nil:
			s.replies[i] = fmt.Errorf("loading the script: %w", untaught)
		default:
			s.teach, unrun = true, true
		}
		if unrun {
			rest = append(rest, i)
		}
	}
	s.todo = rest
	switch {
	case len(rest) == 0, s.Alone && rest[0] > 0:
		return target{}, false
	case s.Alone:
		s.all(s.replies[0].(error))
	}
	if s.teach && next.server == nil && !s.hold {
		return s.to, true
	}
	s.teach = false // elsewhere, the script may be known
	return next, true
}

// another reports whether a command that was not sent may be over another connection, or to another server.
func another(err error) bool {
	return errors.Is(err, ErrUnsent) && (errors.Is(err, errBroken) || errors.Is(err, errRetired))
}

// elsewhere are the codes of replies to commands that were not run, and are sent again.
var elsewhere = []string{"NOSCRIPT", "MOVED", "ASK", "TRYAGAIN"}

func isNoScript(reply error) bool { return redis.HasErrorPrefix(reply, "NOSCRIPT") }

// redirect reports whether an error reply says that the command was not run and can be: by which server, and whether the
// server asks for time first.
func (s *sending) redirect(reply resp.Error) (to target, ok bool) {
	t := s.conns.topology
	code, rest, _ := strings.Cut(string(reply), " ")
	switch code {
	case "MOVED", "ASK":
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return target{}, false
		}
		to.asking = code == "ASK"
		to.server = t.redirect(s.Key, fullAddress(fields[1], s.to.server.opt.Addr), !to.asking)
		return to, to.server != nil
	case "TRYAGAIN": // the keys of the command are on both sides of a move, or not there yet
		s.hold, s.moving = true, true
		return s.to, true
	case "CLUSTERDOWN", "READONLY": // a master is dead or demoted, or a slot has no master for a moment
		if code == "READONLY" && !t.follows() {
			return target{}, false
		}
		t.suspect(s.to.server)
		s.hold = true
		return target{}, true
	}
	return target{}, false
}
