package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lane is who shares sockets. What the scheduler sends has its own, so that a long reply to a caller does not hold
// up a transfer.
type Lane int

// The lanes of a server.
const (
	Calls Lane = iota
	Background
	lanes
)

// mostIdle is how many sockets wait for the next command that blocks.
const mostIdle = 16

var (
	// errRetired is why the sockets of a server end that is no longer the master.
	errRetired = errors.New("the server is no longer the master")
	// errSurplus is why a socket ends that nobody needs.
	errSurplus = errors.New("not needed any more")
)

// server is one server, and the sockets to it.
type server struct {
	opt   *redis.Options
	conns *Conns
	// ctx is that of the dials: it ends with retire, for a Client that is being closed still ends commands and puts
	// values back.
	ctx    context.Context
	cancel context.CancelFunc

	// cannotUnblock is set when the server or the user's rights have no CLIENT UNBLOCK.
	cannotUnblock atomic.Bool

	lanes [lanes]courier

	mu      sync.Mutex
	idle    []*socket     // dedicated ones, the one used last at the end
	seekers []chan dialed // callers who wait for a dedicated one
	dials   int           // of dedicated ones
	open    map[*socket]bool
	parked  []*exchange
	reaper  *time.Timer
	remote  string // where the first connection led to
	retired error
}

// dialed is the result of a dial.
type dialed struct {
	socket *socket
	err    error
}

func newServer(c *Conns, opt *redis.Options) *server {
	s := &server{opt: opt, conns: c, open: make(map[*socket]bool)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i := range s.lanes {
		s.lanes[i] = courier{server: s, most: 1}
	}
	s.lanes[Calls].most = 2
	return s
}

// get returns a socket for one command: an idle one, the next that becomes idle, or a new one. When ctx ends before, the
// dial goes on, for the next caller; so callers that come and go do not pile up dials.
func (s *server) get(ctx context.Context) (*socket, error) {
	s.mu.Lock()
	for len(s.idle) > 0 {
		one := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		if one.unwatch() {
			s.mu.Unlock()
			return one, nil
		}
	}
	seeker := make(chan dialed, 1)
	s.seekers = append(s.seekers, seeker)
	if s.dials < len(s.seekers) {
		s.dials++
		go s.dial()
	}
	s.mu.Unlock()
	timer := time.NewTimer(s.dialTimeout())
	defer timer.Stop()
	select {
	case d := <-seeker:
		return d.socket, d.err
	case <-timer.C:
		s.withdraw(seeker)
		return nil, s.unconnected(fmt.Errorf("no connection to %s within %s", s.opt.Addr, s.dialTimeout()))
	case <-ctx.Done():
		s.withdraw(seeker)
		return nil, fmt.Errorf("%w: %w", ErrUnsent, context.Cause(ctx))
	}
}

// dial makes a dedicated socket.
func (s *server) dial() {
	one, err := s.connect(s.ctx, dedicated)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials--
	switch {
	case err == nil:
		s.putLocked(one)
	case len(s.seekers) > s.dials:
		// Nothing else is under way for the one that waits longest.
		s.seekers[0] <- dialed{err: err}
		s.seekers = s.seekers[1:]
	}
}

// withdraw ends the wait of a caller.
func (s *server) withdraw(seeker chan dialed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seekers = slices.DeleteFunc(s.seekers, func(other chan dialed) bool { return other == seeker })
	select {
	case d := <-seeker: // it came at the same moment
		if d.socket != nil {
			s.putLocked(d.socket)
		}
	default:
	}
}

// put puts a socket away for the next command.
func (s *server) put(one *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(one)
}

// putLocked gives a socket to a caller who waits for one, or puts it away. Call with mu held.
func (s *server) putLocked(one *socket) {
	switch {
	case !one.alive():
	case len(s.seekers) > 0:
		s.seekers[0] <- dialed{socket: one}
		s.seekers = s.seekers[1:]
	case len(s.idle) >= mostIdle || s.retired != nil:
		one.fail(errSurplus)
	default:
		one.idleSince = time.Now()
		one.watch()
		s.idle = append(s.idle, one)
		if s.reaper == nil {
			s.reaper = time.AfterFunc(s.conns.Idle, s.reap)
		}
	}
}

// reap closes the sockets that have been idle for long, which are the first ones.
func (s *server) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaper = nil
	for len(s.idle) > 0 && time.Since(s.idle[0].idleSince) >= s.conns.Idle {
		s.idle[0].fail(errSurplus)
		s.idle = s.idle[1:]
	}
	if len(s.idle) > 0 {
		s.reaper = time.AfterFunc(time.Until(s.idle[0].idleSince.Add(s.conns.Idle)), s.reap)
	}
}

// gone takes note of the end of a socket.
func (s *server) gone(one *socket) {
	s.mu.Lock()
	delete(s.open, one)
	given := s.retired != nil || errors.Is(one.reason, errSurplus)
	s.mu.Unlock()
	if !given {
		s.conns.topology.suspect(s)
	}
}

// retire ends every socket, for the reason given. Nothing is sent to the server after that.
func (s *server) retire(reason error) {
	s.mu.Lock()
	if s.retired == nil {
		s.retired = reason
	}
	open := s.open
	s.open, s.idle = make(map[*socket]bool), nil
	if s.reaper != nil {
		s.reaper.Stop()
		s.reaper = nil
	}
	s.mu.Unlock()
	s.cancel()
	for one := range open {
		one.fail(reason)
	}
}

// connected reports whether there is any socket to the server.
func (s *server) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// stalled reports whether a reply to what callers share is overdue by a second.
func (s *server) stalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		if since := one.since.Load(); one.use == shared && since != 0 && time.Since(time.Unix(0, since)) > time.Second {
			return true
		}
	}
	return false
}

// ask sends one command over the background lane.
func (s *server) ask(ctx context.Context, command ...any) (any, error) {
	p := s.lanes[Background].send(commandsOf([][]any{command}))
	if err := p.wait(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", s.opt.Addr, err)
	}
	reply := replyOf(p.commands[0], p.err)
	if err, failed := reply.(error); failed {
		return nil, fmt.Errorf("%s: %w", s.opt.Addr, err)
	}
	return reply, nil
}

// courier takes the commands of many callers to a server: what comes while others are under way goes together, as one
// pipeline. So 50 callers need no 50 connections.
type courier struct {
	server *server
	most   int // sockets at a time

	mu      sync.Mutex
	waiting []*parcel
	runners int       // each with a socket
	idle    []*socket // of runners that have ended
}

// parcel is commands that are sent together.
type parcel struct {
	courier  *courier
	commands []redis.Cmder
	taken    bool // it may have been written; guarded by the courier
	done     chan struct{}
	err      error // why the last commands have no reply, once done is closed
}

// mostCommands is about how many commands go together.
const mostCommands = 512

// send queues commands and returns at once.
func (k *courier) send(commands []redis.Cmder) *parcel {
	p := &parcel{courier: k, commands: commands, done: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = append(k.waiting, p)
	if k.runners < k.most {
		k.runners++
		go k.run()
	}
	return p
}

// wait returns when the replies are there; once ctx ends, it returns why they are not waited for, and what is not sent yet
// never is.
func (p *parcel) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	k := p.courier
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-p.done:
		return nil
	default:
	}
	if p.taken {
		return fmt.Errorf("%w: %w", ErrLost, context.Cause(ctx))
	}
	k.waiting = slices.DeleteFunc(k.waiting, func(other *parcel) bool { return other == p })
	return fmt.Errorf("%w: %w", ErrUnsent, context.Cause(ctx))
}

// run sends what waits, until nothing does.
func (k *courier) run() {
	var one *socket
	for {
		k.mu.Lock()
		for one == nil && len(k.waiting) > 0 && len(k.idle) > 0 {
			one, k.idle = k.idle[len(k.idle)-1], k.idle[:len(k.idle)-1]
			if !one.unwatch() {
				one = nil
			}
		}
		switch {
		case len(k.waiting) == 0:
			if one != nil {
				one.watch()
				k.idle = append(k.idle, one)
			}
			k.runners--
			k.mu.Unlock()
			return
		case one == nil:
			k.mu.Unlock()
			one = k.dial()
			continue
		}
		load, commands := k.load()
		k.mu.Unlock()
		err := one.run(commands)
		for _, p := range load {
			p.err = err
			close(p.done)
		}
		if err != nil {
			one = nil
		}
	}
}

// load takes what goes next. Call with mu held.
func (k *courier) load() (load []*parcel, commands []redis.Cmder) {
	n := 0
	for n < len(k.waiting) && (n == 0 || len(commands)+len(k.waiting[n].commands) <= mostCommands) {
		k.waiting[n].taken = true
		if commands == nil {
			commands = k.waiting[n].commands // most often there is no other
		} else {
			commands = append(commands[:len(commands):len(commands)], k.waiting[n].commands...)
		}
		n++
	}
	load = slices.Clone(k.waiting[:n])
	k.waiting = slices.Delete(k.waiting, 0, n)
	return load, commands
}

// dial makes a socket; nil if there is none, and what waits has failed. A dial takes as long as it takes, but callers wait
// for a dial time-out only.
func (k *courier) dial() *socket {
	made := make(chan dialed, 1)
	go func() {
		one, err := k.server.connect(k.server.ctx, shared)
		made <- dialed{one, err}
	}()
	patience := time.NewTicker(k.server.dialTimeout())
	defer patience.Stop()
	for {
		select {
		case d := <-made:
			if d.err != nil {
				k.fail(d.err)
			}
			return d.socket
		case <-patience.C:
			k.fail(k.server.unconnected(fmt.Errorf("no connection to %s within %s", k.server.opt.Addr, k.server.dialTimeout())))
		}
	}
}

// fail ends what waits.
func (k *courier) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.waiting {
		for _, command := range p.commands {
			command.SetErr(err)
		}
		p.err = err
		close(p.done)
	}
	k.waiting = nil
}
