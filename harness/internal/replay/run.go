package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
)

const rebuiltPeer = trace.RebuiltPeer

// Target is the server to replay on.
type Target struct {
	// URL is its redis:// or rediss:// address.
	URL string
	// Own is true for a server that was started for this purpose: it is emptied
	// before each recording. Any other server must be empty and have no other client.
	Own bool
}

// run is one replay under way. A single goroutine drives it; connections report
// through events.
type run struct {
	plan    *Plan
	target  Target
	control *conn
	monitor *monitor.Conn

	events    chan event
	done      chan struct{}
	receivers sync.WaitGroup

	peers  map[string]*peer
	byAddr map[string]*peer
	opened []*peer
	owner  *peer // who sent the last command shown
	shown  []monitor.Line

	nonce       string
	marks       int
	awaited     string
	awaitedPeer string

	expected []monitor.Line
	model    *trace.Keyspace
	notes    []string

	// controlAddr is what MONITOR calls the control connection; byControl says that
	// it sent the last command shown.
	controlAddr string
	byControl   bool
	guest       *guest.Guest // nil on an own server
	monitorErr  error
}

// Run replays the plan and compares. A divergence is part of the result; an
// error says that the server or the connection to it cannot serve, or that the
// server holds what the replay would touch. It is guest.ErrInUse where somebody
// else uses a server that is not own.
func Run(ctx context.Context, target Target, plan *Plan) (_ *Result, err error) {
	if plan.Divergence != nil {
		return plan.result(nil, nil, plan.Divergence), nil
	}
	r := &run{
		plan: plan, target: target, model: trace.NewKeyspace(), nonce: rand.Text(),
		events: make(chan event, 64), done: make(chan struct{}),
		peers: make(map[string]*peer), byAddr: make(map[string]*peer),
	}
	address, err := redis.ParseAddress(target.URL)
	if err != nil || address.Topology != redis.Single {
		return nil, errors.Join(errors.New("replay needs one server, redis://host:port or rediss://host:port"), err)
	}
	if address.Database != 0 {
		return nil, errors.New("replay uses the databases that were recorded: leave the database out of the address")
	}
	if r.control, err = dial(ctx, target.URL, 0); err != nil {
		return nil, err
	}
	defer r.control.socket.Close()
	// MONITOR comes first: a key that is not there when it begins, and that nobody
	// else is seen to name, is the replay's.
	if r.monitor, err = monitor.Dial(ctx, target.URL); err != nil {
		return nil, err
	}
	r.receivers.Go(func() { r.watch(context.WithoutCancel(ctx)) })
	defer r.disconnect()
	if r.controlAddr, err = r.awaitMark(ctx, r.control); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() { err = r.cleanUp(context.WithoutCancel(ctx), err) }()
	return r.perform(ctx)
}

func (r *run) perform(ctx context.Context) (*Result, error) {
	for i := range r.plan.steps {
		s := &r.plan.steps[i]
		if err := r.step(ctx, s); err != nil {
			return nil, fmt.Errorf("line %d: %w", s.Number, err)
		}
	}
	if _, err := r.awaitMark(ctx, r.control); err != nil {
		return nil, err
	}
	divergence := compareCommands(r.expected, r.shown)
	state, err := r.readState()
	if err != nil {
		return nil, err
	}
	if divergence == nil {
		divergence = r.compareState(state)
	}
	return r.plan.result(r.notes, state, divergence), nil
}

// step sends one command and waits until it has run: until it is answered or,
// where it may block, until MONITOR shows it.
func (r *run) step(ctx context.Context, s *step) error {
	p, err := r.ready(ctx, s.Line)
	if err != nil {
		return err
	}
	answered, shown := p.answered, p.shown
	p.sent++
	p.subscribed = p.subscribed || trace.Subscribes(s.Line)
	if err := p.conn.send(s.Args); err != nil {
		return err
	}
	inner := s.expected
	if !s.Rebuilt {
		inner = s.expected[1:]
	}
	r.expected = append(r.expected, s.expected...)
	r.model.Apply(s.Line, inner)
	return r.await(ctx, "the answer to "+s.Args[0], func() bool {
		switch {
		case p.closed || p.shown > shown && (p.subscribed || trace.Blocks(s.Line)):
			return true
		case p.subscribed || trace.Blocks(s.Line):
			return p.answered > answered && (p.lastError || p.lastQueued)
		}
		return p.answered > answered
	})
}

// ready returns the connection of the peer that sent l, free to send. A peer that
// still waits in a blocking command had been served, or had timed out, when it
// sent this one: if the server did not serve it, its time is up now.
func (r *run) ready(ctx context.Context, l monitor.Line) (*peer, error) {
	p := r.peers[l.Peer]
	if p == nil || p.closed {
		return r.open(ctx, l.Peer, l.DB)
	}
	if p.subscribed || p.answered == p.sent {
		return p, nil
	}
	if _, err := r.control.do("CLIENT", "UNBLOCK", fmt.Sprint(p.id)); err != nil {
		return nil, fmt.Errorf("the peer %s waits in a blocking command while the recording goes on, and the server cannot end that (CLIENT UNBLOCK): %w", p.name, err)
	}
	err := r.await(ctx, "the end of a blocking command", func() bool { return p.closed || p.answered == p.sent })
	if err == nil && p.closed {
		return r.open(ctx, l.Peer, l.DB)
	}
	return p, err
}

// disconnect ends every connection of the replay and waits for their goroutines.
func (r *run) disconnect() {
	close(r.done)
	r.closePeers()
	r.monitor.Close()
	r.receivers.Wait()
}

func (r *run) closePeers() {
	for _, p := range r.opened {
		p.conn.socket.Close()
	}
}

// prepare makes sure that the replay meets only what the recording met.
func (r *run) prepare(ctx context.Context) error {
	if r.target.Own {
		for _, args := range [][]string{{"FLUSHALL"}, {"SCRIPT", "FLUSH"}} {
			if _, err := r.control.do(args...); err != nil {
				return fmt.Errorf("emptying the server: %w", err)
			}
		}
	} else if err := r.share(ctx); err != nil {
		return err
	}
	for _, text := range r.plan.preload {
		if _, err := r.control.do("SCRIPT", "LOAD", text); err != nil {
			return fmt.Errorf("loading a script that the recording calls: %w", err)
		}
	}
	return nil
}

// eachKey calls do for every key of the plan, its database selected.
func (r *run) eachKey(do func(trace.Key) error) error {
	keys := slices.SortedFunc(slices.Values(r.plan.keys), func(a, b trace.Key) int { return a.DB - b.DB })
	selected := -1
	for _, k := range keys {
		if k.DB != selected {
			if _, err := r.control.do("SELECT", fmt.Sprint(k.DB)); err != nil {
				return fmt.Errorf("database %d: %w", k.DB, err)
			}
			selected = k.DB
		}
		if err := do(k); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) subscribers(channel string) (int64, error) {
	reply, err := r.control.do("PUBSUB", "NUMSUB", channel)
	list, ok := reply.([]any)
	if err != nil {
		return 0, fmt.Errorf("PUBSUB NUMSUB: %w", err)
	}
	if !ok || len(list) != 2 {
		return 0, fmt.Errorf("PUBSUB NUMSUB: expected a channel and a number, got %v", reply)
	}
	n, _ := list[1].(int64)
	return n, nil
}
