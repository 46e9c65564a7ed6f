package conn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Lane is a group of callers that share sockets. The scheduler has its own, so that a long reply to a caller does not hold up a transfer.
type Lane int

// The lanes of a server.
const (
	Calls Lane = iota
	Background
	lanes
)

const (
	// mostIdle is how many sockets wait for the next command that blocks.
	mostIdle = 16
	// mostLeft is how many more attempts at a connection may be under way than there are callers.
	mostLeft = 4
	// firstRedial and mostRedial bound the pauses, growing, after which another attempt at a connection begins in parallel with
	// the attempts under way. The kernel repeats packets that a network in an outage swallowed only after 1 s, 3 s, 7 s, and something
	// that takes connections in an outage never answers on them.
	firstRedial, mostRedial = time.Second, 5 * time.Second
)

var (
	// errRetired is why the sockets of a server end that is no longer the master.
	errRetired = errors.New("the server is no longer the master")
	// errSurplus is the reason for the end of an unneeded socket.
	errSurplus = errors.New("not needed any more")
)

// server is one server, and the sockets to it.
type server struct {
	opt   *redis.Options
	conns *Conns
	// ctx is the context of the dials: it ends with retire, whose reason is its cause, for a Client that is being closed still
	// ends commands and puts values back.
	ctx context.Context
	end context.CancelCauseFunc

	// cannotUnblock is set when the server or the user's rights have no CLIENT UNBLOCK.
	cannotUnblock atomic.Bool

	lanes     [lanes]courier
	alone     pool // for commands on their own socket
	listening pool // for the subscription

	mu     sync.Mutex
	open   map[*socket]bool
	remote string    // the address of the first connection
	absent time.Time // since when the table of slots does not name it; guarded by the cluster
}

func newServer(c *Conns, opt *redis.Options) *server {
	s := &server{opt: opt, conns: c, open: make(map[*socket]bool)}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.alone = pool{server: s, use: dedicated, idle: make(chan *socket, mostIdle)}
	s.listening = pool{server: s, use: listening, idle: make(chan *socket, 1)}
	for i, most := range [lanes]int{Calls: 2, Background: 1} {
		s.lanes[i].most, s.lanes[i].sockets = most, pool{server: s, use: shared, idle: make(chan *socket, most)}
	}
	return s
}

// pool holds sockets to a server, all for one use.
type pool struct {
	server  *server
	use     use
	idle    chan *socket
	callers atomic.Int32 // that wait for a socket
	dialing atomic.Int32 // attempts at a connection under way
}

// get returns an idle socket. Without an idle one it attempts to connect, again and again, and takes an idle one first. Attempts
// go on when their caller is gone: the next one finds the socket.
func (p *pool) get(ctx context.Context) (*socket, error) {
	select {
	case one := <-p.idle: // most often
		if one.alive() {
			return one, nil
		}
	default:
	}
	p.callers.Add(1)
	defer p.callers.Add(-1)
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s, made := p.server, make(chan error)
	patience, again := time.NewTimer(s.dialTimeout()), time.NewTimer(0)
	defer patience.Stop()
	defer again.Stop()
	for underWay, wait := 0, firstRedial; ; {
		var one *socket
		select {
		case one = <-p.idle:
		default:
			select {
			case one = <-p.idle:
			case <-again.C:
				if p.dialing.Load() < p.callers.Load()+mostLeft {
					underWay++
					p.dialing.Add(1)
					go func() {
						err := p.connect()
						select {
						case made <- err:
						case <-ctx.Done():
						}
					}()
				}
				again.Reset(wait)
				wait = min(2*wait, mostRedial)
			case err := <-made:
				if underWay--; underWay == 0 && err != nil {
					return nil, s.unconnected(err)
				}
			case <-patience.C:
				return nil, s.unconnected(fmt.Errorf("no connection to %s within %s", s.opt.Addr, s.dialTimeout()))
			case <-ctx.Done():
				return nil, fmt.Errorf("%w: %w", ErrUnsent, context.Cause(ctx))
			}
		}
		if one != nil && one.alive() {
			return one, nil
		}
	}
}

// connect makes one attempt at a connection, until the server ends. After a dial time-out it no longer holds up other attempts.
func (p *pool) connect() error {
	s, done := p.server, sync.OnceFunc(func() { p.dialing.Add(-1) })
	defer done()
	defer time.AfterFunc(s.dialTimeout(), done).Stop()
	ctx, cancel := context.WithTimeout(s.ctx, mostDialTimeouts*s.dialTimeout())
	defer cancel()
	one, err := s.greet(ctx, p.use)
	if err != nil {
		return err
	}
	p.put(one)
	return nil
}

// put puts a socket away for the next caller.
func (p *pool) put(one *socket) {
	if !one.alive() {
		return
	}
	if idle := p.server.conns.Idle; idle > 0 && p.use != shared {
		_ = one.SetReadDeadline(time.Now().Add(idle))
	}
	select {
	case p.idle <- one:
	default:
		one.fail(errSurplus)
	}
}

// gone takes note of the end of a socket.
func (s *server) gone(one *socket) {
	s.mu.Lock()
	delete(s.open, one)
	given := s.ctx.Err() != nil || errors.Is(context.Cause(one.ctx), errSurplus)
	s.mu.Unlock()
	if !given {
		s.conns.topology.suspect(s)
	}
}

// retire ends every socket, for the reason given. Nothing is sent to the server after that.
func (s *server) retire(reason error) {
	s.end(reason) // the first counts
	s.mu.Lock()
	open := s.open
	s.open = make(map[*socket]bool)
	s.mu.Unlock()
	for one := range open {
		one.fail(reason)
	}
}

// state reports whether there is any socket to the server, and whether a reply to what callers share is overdue by a second.
func (s *server) state() (connected, stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		since := one.since.Load()
		stalled = stalled || one.use == shared && since != 0 && time.Since(time.Unix(0, since)) > time.Second
	}
	return len(s.open) > 0, stalled
}

// ask sends one command over the background lane.
func (s *server) ask(ctx context.Context, command ...any) (any, error) {
	p := s.lanes[Background].send([][]any{command})
	err := p.wait(ctx)
	if err == nil {
		err, _ = p.replies[0].(error)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.opt.Addr, err)
	}
	return p.replies[0], nil
}

// courier takes the commands of many callers to a server: commands that arrive while others are under way go together, as one
// pipeline. So 50 callers need no 50 connections.
type courier struct {
	sockets pool
	most    int // at a time

	mu      sync.Mutex
	waiting []*parcel
	runners int  // each with a socket
	loading bool // a runner is about to look at what waits
}

// parcel is commands that are sent together.
type parcel struct {
	courier  *courier
	commands [][]any
	taken    bool // it may have been written; guarded by the courier
	done     chan struct{}
	replies  []any // once done is closed
}

// mostCommands is about how many commands go together, and mostYields how often a runner yields before it ends.
const mostCommands, mostYields = 512, 3

// send queues commands and returns at once.
func (k *courier) send(commands [][]any) *parcel {
	p := &parcel{courier: k, commands: commands, done: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting = append(k.waiting, p)
	if k.runners < k.most && !k.loading {
		k.runners++
		k.loading = true
		k.sockets.server.conns.Go(func() { k.run(nil) })
	}
	return p
}

// wait returns when the replies are there; once ctx ends, it returns the reason, and a command that is not sent yet is never sent.
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

// run sends what waits over a socket, or puts the socket away. The goroutine that reads the replies runs it again. It yields before it looks: a
// caller that has just had a reply, or is about to send, goes with the others, and an idle socket costs more.
func (k *courier) run(one *socket) {
	for yields := 0; ; {
		if yields++; yields <= mostYields {
			runtime.Gosched()
		}
		k.mu.Lock()
		switch {
		case len(k.waiting) == 0 && yields < mostYields:
			k.loading = true
			k.mu.Unlock()
			continue
		case len(k.waiting) == 0:
			if one != nil {
				k.sockets.put(one)
			}
			k.runners--
			k.loading = false
			k.mu.Unlock()
			return
		case one == nil:
			k.loading = true // the next socket, idle or dialed, takes all that waits
			k.mu.Unlock()
			var err error
			if one, err = k.sockets.get(k.sockets.server.ctx); err != nil {
				k.fail(err)
			}
			continue
		}
		load, commands := k.load()
		k.mu.Unlock()
		one.send(commands, func(b *batch) {
			replies := b.replies
			for _, p := range load {
				p.replies, replies = replies[:len(p.commands)], replies[len(p.commands):]
				close(p.done)
			}
			if b.err != nil {
				go k.run(nil)
			} else {
				k.run(one)
			}
		})
		return
	}
}

// load takes what goes next. Call with mu held.
func (k *courier) load() (load []*parcel, commands [][]any) {
	n := 0
	for n < len(k.waiting) && (n == 0 || len(commands)+len(k.waiting[n].commands) <= mostCommands) {
		k.waiting[n].taken = true
		commands = append(commands[:len(commands):len(commands)], k.waiting[n].commands...)
		n++
	}
	load = slices.Clone(k.waiting[:n])
	k.waiting = slices.Delete(k.waiting, 0, n)
	k.loading = false
	return load, commands
}

// fail ends what waits.
func (k *courier) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.waiting {
		p.replies = slices.Repeat([]any{err}, len(p.commands))
		close(p.done)
	}
	k.waiting = nil
}
