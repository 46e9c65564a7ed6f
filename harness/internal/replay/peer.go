package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// peer stands for one recorded peer.
type peer struct {
	name string
	conn *conn
	id   int64 // of CLIENT ID; 0 where the server has no such command

	shown    int // commands of this peer that MONITOR showed
	sent     int
	answered int
	// lastError reports whether the last answer was an error.
	lastError  bool
	lastQueued bool
	subscribed bool
	closed     bool
}

// event is something that a connection reported: an answer of a peer, the end
// of its connection, or a line of MONITOR.
type event struct {
	peer  *peer
	reply any
	line  monitor.Line
	err   error
}

// receive turns the answers of a peer into events until its connection ends.
func (r *run) receive(p *peer) {
	for {
		reply, err := p.conn.in.Read()
		if !r.report(event{peer: p, reply: reply, err: err}) || err != nil {
			return
		}
	}
}

// watch turns the lines of MONITOR into events.
func (r *run) watch(ctx context.Context) {
	for {
		line, err := r.monitor.Read(ctx)
		if !r.report(event{line: line, err: err}) || err != nil {
			return
		}
	}
}

func (r *run) report(e event) bool {
	select {
	case r.events <- e:
		return true
	case <-r.done:
		return false
	}
}

// handle takes over one event. An error ends the replay.
func (r *run) handle(e event) error {
	switch {
	case e.peer != nil && e.err != nil:
		e.peer.closed = true
	case e.peer != nil:
		if _, oob := e.reply.(resp.Push); !oob {
			e.peer.answered++
			_, e.peer.lastError = e.reply.(resp.Error)
			e.peer.lastQueued = e.reply == "QUEUED"
		}
	case e.err != nil:
		r.monitorErr = e.err
		return e.err
	default:
		r.show(e.line)
	}
	if r.guest != nil {
		return r.guest.Disturbed()
	}
	return nil
}

// show takes over a line of MONITOR. Lines of other clients of the server, and
// of the scripts they called, are not the replay's.
func (r *run) show(l monitor.Line) {
	if l.Inner() {
		switch {
		case r.owner != nil:
			r.shown = append(r.shown, l)
		case r.guest != nil && !r.byControl:
			r.guest.Note(l)
		}
		return
	}
	r.byControl = l.Peer == r.controlAddr
	if name := l.Name(); name == "echo" && len(l.Args) == 2 && l.Args[1] == r.awaited {
		r.awaited, r.awaitedPeer, r.owner = "", l.Peer, nil
		return
	}
	r.owner = r.byAddr[l.Peer]
	if r.owner == nil {
		if r.guest != nil && !r.byControl {
			r.guest.Note(l)
		}
		return
	}
	r.owner.shown++
	if r.owner.name != rebuiltPeer {
		l.Peer = r.owner.name
		r.shown = append(r.shown, l)
	}
}

// await handles events until met holds.
func (r *run) await(ctx context.Context, what string, met func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for !met() {
		if r.monitorErr != nil {
			return r.monitorErr
		}
		select {
		case e := <-r.events:
			if err := r.handle(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%s did not come within %v: %w", what, answerTimeout, ctx.Err())
		}
	}
	return nil
}

// awaitMark sends an ECHO that is nowhere else and waits until MONITOR shows it.
// It returns the peer under which the server knows the connection, which behind
// a container's port mapping is not the socket's own address.
func (r *run) awaitMark(ctx context.Context, c *conn) (addr string, err error) {
	r.marks++
	mark := "dq-bench:replay:" + r.nonce + ":" + strconv.Itoa(r.marks)
	r.awaited = mark
	if _, err := c.do("ECHO", mark); err != nil {
		return "", err
	}
	err = r.await(ctx, "MONITOR's line for ECHO "+mark, func() bool { return r.awaited == "" })
	return r.awaitedPeer, err
}

// open connects a recorded peer.
func (r *run) open(ctx context.Context, name string, db int) (*peer, error) {
	c, err := dial(ctx, r.target.URL, db)
	if err != nil {
		return nil, err
	}
	p := &peer{name: name, conn: c}
	r.opened = append(r.opened, p)
	p.id, err = integer(c.do("CLIENT", "ID"))
	if refused := resp.Error(""); err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	addr, err := r.awaitMark(ctx, c)
	if err != nil {
		return nil, err
	}
	r.byAddr[addr] = p
	r.peers[name] = p
	r.receivers.Go(func() { r.receive(p) })
	return p, nil
}
