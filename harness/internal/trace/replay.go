package trace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// answerTimeout bounds the wait for one answer, or for MONITOR to show a command.
const answerTimeout = 10 * time.Second

// replaying is one replay under way.
type replaying struct {
	plan     *ReplayPlan
	url      string
	control  redis.Conn
	monitor  *Conn
	guest    *Guest // nil on an own server
	drains   sync.WaitGroup
	opened   []*replayConn
	peers    map[string]*replayConn // by the recording's name
	byAddr   map[string]*replayConn // by the server's name
	sender   *replayConn            // of the last command that MONITOR showed; nil for a stranger
	own      *replayConn            // stands for control as a sender
	nonce    string
	marks    int
	expected []Line
	shown    []Line
	model    *Keyspace
}

// replayConn is a connection that sends its bytes unchanged: client libraries change the case of names, and choose connections themselves.
type replayConn struct {
	name       string // the recorded peer
	socket     net.Conn
	in         *resp.Reader
	id         int64 // CLIENT ID; 0 if the server lacks the command
	shown      int   // commands of this connection that MONITOR showed
	waits      bool  // an answer is outstanding
	subscribed bool
	closed     bool
}

// Replay replays the plan on the server of a redis:// or rediss:// address and compares. An own server was started for this purpose: the
// replay empties it. Any other must be empty and have no other client. A divergence is part of the result. An error says that the server or a connection
// failed; it is ErrServerInUse if another client uses a server that is not own.
func Replay(ctx context.Context, url string, own bool, plan *ReplayPlan) (_ *ReplayResult, err error) {
	if plan.Divergence != nil {
		return plan.result(), nil
	}
	r := &replaying{plan: plan, url: url, model: NewKeyspace(), nonce: rand.Text(), peers: map[string]*replayConn{}, byAddr: map[string]*replayConn{}, own: &replayConn{}}
	address, err := redis.ParseAddress(url)
	if err != nil || address.Topology != redis.Single {
		return nil, errors.Join(errors.New("replay needs one server, redis://host:port or rediss://host:port"), err)
	}
	if address.Database != 0 {
		return nil, errors.New("replay uses the databases that were recorded: leave the database out of the address")
	}
	defer r.disconnect()
	// MONITOR begins before the check that the server is empty: a later key without another client's command is the replay's.
	if r.monitor, err = Dial(ctx, url); err != nil {
		return nil, err
	}
	if r.control, err = redis.ConnectMany(url, 1); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, own); err != nil {
		return nil, err
	}
	result, err := r.perform(ctx)
	if left := r.cleanUp(context.WithoutCancel(ctx), err); left != nil {
		return nil, left
	}
	return result, nil
}

// prepare makes sure that the server holds no more than it held before the recording.
func (r *replaying) prepare(ctx context.Context, own bool) error {
	if err := r.sync(ctx); err != nil {
		return err
	}
	if own {
		if err := errors.Join(r.control.Do(ctx, "FLUSHALL").Err(), r.control.Do(ctx, "SCRIPT", "FLUSH").Err()); err != nil {
			return fmt.Errorf("emptying the server: %w", err)
		}
	} else {
		r.guest = &Guest{Conn: r.control, Sync: r.sync, Connections: 2} // control and MONITOR
		if err := r.guest.Admit(ctx); err != nil {
			return err
		}
	}
	for _, text := range r.plan.preload {
		if err := r.control.Do(ctx, "SCRIPT", "LOAD", text).Err(); err != nil {
			return fmt.Errorf("loading a script that the recording calls: %w", err)
		}
	}
	return nil
}

// cleanUp removes the replay's keys and scripts from a server that is not own, unless another client has come.
func (r *replaying) cleanUp(ctx context.Context, err error) error {
	r.closePeers()
	if r.guest == nil || errors.Is(err, ErrServerInUse) {
		return err
	}
	left := r.guest.Remove(ctx)
	if left == nil {
		left = r.control.Do(ctx, "SCRIPT", "FLUSH").Err()
	}
	if left != nil {
		left = fmt.Errorf("removing the keys of the replay: %w", left)
	}
	return errors.Join(err, left)
}

func (r *replaying) perform(ctx context.Context) (*ReplayResult, error) {
	const unseen = 100 // commands until MONITOR is read
	for i := range r.plan.steps {
		s := &r.plan.steps[i]
		shown, err := r.step(ctx, s)
		if err == nil && shown && i%unseen == unseen-1 {
			err = r.sync(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", s.Number, err)
		}
		if !shown {
			break // the comparison says so
		}
	}
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	result := r.plan.result()
	result.Divergence = compareReplayed(r.expected, r.shown)
	if err := r.judgeState(ctx, result); err != nil {
		return nil, err
	}
	result.Identical = result.Divergence == nil
	return result, nil
}

// step sends one command and waits until the server has run it: until the answer or, for a command that may block,
// until MONITOR shows the command. The latter may be in vain.
func (r *replaying) step(ctx context.Context, s *replayStep) (shown bool, err error) {
	p, err := r.ready(ctx, s.Line)
	if err != nil {
		return false, err
	}
	before := p.shown
	if err := p.send(s.Args); err != nil {
		return false, err
	}
	p.closed = s.Name() == "quit"
	inner := s.expected
	if !s.Rebuilt {
		inner = s.expected[1:]
	}
	r.expected = append(r.expected, s.expected...)
	r.model.Apply(s.Line, inner)
	if Subscribes(s.Line) && !p.subscribed {
		p.subscribed = true
		r.drains.Go(func() { _, _ = io.Copy(io.Discard, p.socket) })
	}
	if !p.subscribed && !Blocks(s.Line) {
		if _, err = p.read(answerTimeout); p.closed || errors.As(err, new(resp.Error)) {
			err = nil // the comparison says whether that is right
		}
		return true, err
	}
	p.waits = !p.subscribed
	for until := time.Now().Add(answerTimeout); time.Now().Before(until); {
		if err := r.sync(ctx); err != nil || p.shown > before {
			return true, err
		}
		if !p.waits {
			continue
		}
		// An error, or a place in a transaction.
		if _, err := p.read(time.Millisecond); err == nil || p.closed || errors.As(err, new(resp.Error)) {
			p.waits = false
			return true, nil
		}
	}
	return false, nil
}

// ready returns the connection of a recorded peer, free to send. A peer that waits in a blocking command was served, or
// its time was up, before it sent this one.
func (r *replaying) ready(ctx context.Context, l Line) (p *replayConn, err error) {
	p = r.peers[l.Peer]
	if p != nil && p.waits {
		if err := r.control.Do(ctx, "CLIENT", "UNBLOCK", p.id).Err(); err != nil {
			return nil, fmt.Errorf("the peer %s waits in a blocking command, and the server cannot end that (CLIENT UNBLOCK): %w", p.name, err)
		}
		if _, err := p.read(answerTimeout); err != nil && !p.closed && !errors.As(err, new(resp.Error)) {
			return nil, fmt.Errorf("the end of a blocking command: %w", err)
		}
		p.waits = false
	}
	if p == nil || p.closed {
		if p, err = r.open(ctx, l.Peer, l.DB); err != nil {
			return nil, err
		}
		r.peers[l.Peer] = p
	}
	return p, nil
}

// open connects, and finds out how MONITOR names the connection: behind a container's port mapping that is not the socket's own address.
func (r *replaying) open(ctx context.Context, name string, db int) (*replayConn, error) {
	dialing, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	socket, err := redis.Dial(dialing, r.url)
	if err != nil {
		return nil, err
	}
	c := &replayConn{name: name, socket: socket, in: resp.NewReader(socket, 0)}
	r.opened = append(r.opened, c)
	if db != 0 {
		if _, err := c.do("SELECT", strconv.Itoa(db)); err != nil {
			return nil, err
		}
	}
	id, err := c.do("CLIENT", "ID")
	if err != nil && !errors.As(err, new(resp.Error)) {
		return nil, err
	}
	c.id, _ = id.(int64)
	return c, r.upTo(ctx, c, func(mark string) error { _, err := c.do("ECHO", mark); return err })
}

// sync reads MONITOR up to this moment.
func (r *replaying) sync(ctx context.Context) error {
	return r.upTo(ctx, r.own, func(mark string) error { return r.control.Do(ctx, "ECHO", mark).Err() })
}

// upTo reads MONITOR up to a mark, and notes the server's name of the connection that sends it.
func (r *replaying) upTo(ctx context.Context, by *replayConn, echo func(mark string) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout) // an interrupt must not end MONITOR, by which others are seen
	defer cancel()
	r.marks++
	mark := "dq-bench:replay:" + r.nonce + ":" + strconv.Itoa(r.marks)
	if err := echo(mark); err != nil {
		return err
	}
	for {
		l, err := r.monitor.Read(ctx)
		if err != nil {
			return fmt.Errorf("MONITOR's line for ECHO %s: %w", mark, err)
		}
		if l.Name() == "echo" && len(l.Args) == 2 && l.Args[1] == mark {
			r.byAddr[l.Peer], r.sender = by, r.own
			if r.guest != nil {
				err = r.guest.Disturbed()
			}
			return err
		}
		r.show(l)
	}
}

// show takes over a line of MONITOR. Lines of other clients, and of their scripts, are not the replay's.
func (r *replaying) show(l Line) {
	if !l.Inner() {
		r.sender = r.byAddr[l.Peer]
	}
	switch {
	case r.sender == nil:
		if r.guest != nil {
			r.guest.Note(l)
		}
	case r.sender == r.own:
	case l.Inner():
		r.shown = append(r.shown, l)
	default:
		r.sender.shown++
		if l.Peer = r.sender.name; l.Peer != RebuiltPeer {
			r.shown = append(r.shown, l)
		}
	}
}

// disconnect ends every connection and waits for their goroutines.
func (r *replaying) disconnect() {
	r.closePeers()
	if r.control != nil {
		r.control.Close()
	}
	if r.monitor != nil {
		r.monitor.Close()
	}
	r.drains.Wait()
}

func (r *replaying) closePeers() {
	for _, c := range r.opened {
		c.socket.Close()
	}
}

func (c *replayConn) send(args []string) error {
	c.socket.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, err := c.socket.Write(resp.AppendCommand(nil, args...))
	return err
}

// read returns the next answer; an error answer is a resp.Error. Beside any other error but a time-out the connection is closed.
func (c *replayConn) read(timeout time.Duration) (any, error) {
	c.socket.SetReadDeadline(time.Now().Add(timeout))
	reply, err := c.in.Read()
	if err != nil {
		var late net.Error
		c.closed = !errors.As(err, &late) || !late.Timeout()
		return nil, err
	}
	if refused, is := reply.(resp.Error); is {
		return nil, refused
	}
	return reply, nil
}

// do sends a command and returns its answer.
func (c *replayConn) do(args ...string) (any, error) {
	if err := c.send(args); err != nil {
		return nil, err
	}
	return c.read(answerTimeout)
}
