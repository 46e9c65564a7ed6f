package simulate_test

import (
	"bytes"
	"cmp"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// link is one connection: two ways.
type link struct {
	network            *network
	host               *host
	id                 string
	order              uint64
	toServer, toClient way

	mu        sync.Mutex
	loseReply bool // the next reply is lost, and the link with it
	loseHalf  bool // of the next request half arrives, and the link is lost
	several   bool // … of the next that has several commands
	listens   bool // to announcements
	blocks    bool // a BLPOP or BLMOVE is not answered
	hushed    bool // the link stays, and nothing arrives any more
}

func newLink(n *network, h *host, id string, seed uint64) *link {
	return &link{network: n, host: h, id: id, order: h.dials, toServer: way{seed: seed, changed: make(chan struct{}, 1)},
		toClient: way{seed: seed + 1, changed: make(chan struct{}, 1)}}
}

func (l *link) isOpen() bool { return l.toServer.isOpen() && l.toClient.isOpen() }

// cut breaks the connection at once; what is on its way is lost.
func (l *link) cut() {
	l.network.lose(l.toClient.waiting())
	l.toServer.fail(syscall.ECONNRESET)
	l.toClient.fail(syscall.ECONNRESET)
}

func (l *link) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// write sends p along w.
func (l *link) write(w *way, p []byte) (int, error) {
	n := len(p)
	l.mu.Lock()
	lose, half, hushed := l.loseReply && w == &l.toClient, l.loseHalf && w == &l.toServer, l.hushed
	half = half && (!l.several || bytes.Count(p, []byte("\r\nEVALSHA\r\n")) > 1)
	l.listens = l.listens || bytes.Contains(p, []byte("\r\nSUBSCRIBE\r\n"))
	l.blocks = w == &l.toServer && bytes.Contains(p, []byte("\r\nBL")) || l.blocks && n == 0 // the server writes 0 bytes as it waits
	l.mu.Unlock()
	if hushed {
		if w == &l.toClient {
			l.network.lose(p)
		}
		return n, nil
	}
	if lose || half {
		l.network.breaks(l.host)
	}
	if lose {
		l.network.lose(p)
		l.cut()
		return 0, syscall.ECONNRESET
	}
	l.network.mu.Lock()
	slow, after := l.host.slow, l.host.stalled
	l.network.mu.Unlock()
	if half {
		_ = w.put(p[:len(p)/2], slow, after)
		w.end(io.EOF)
		l.toClient.fail(syscall.ECONNRESET)
		if rand.NewPCG(w.seed, uint64(time.Now().UnixNano())).Uint64()%2 == 0 { // and the writer is told
			return n / 2, syscall.ECONNRESET
		}
		return n, nil
	}
	if err := w.put(p, slow, after); err != nil {
		if w == &l.toClient {
			l.gaveUp(p)
		}
		return 0, err
	}
	return n, nil
}

// lag has what is next written either way take longer, if that is soon.
func (l *link) lag(most time.Duration) {
	now := time.Now()
	for _, w := range []*way{&l.toServer, &l.toClient} {
		random := rand.NewPCG(w.seed, uint64(now.UnixNano())).Uint64()
		w.change(func() { w.lag, w.lags = time.Duration(random%uint64(most)), now.Add(most) })
	}
}

// way is one direction of a link.
type way struct {
	mu       sync.Mutex
	changed  chan struct{} // tells the reader, of whom there is one
	timer    *time.Timer   // that wakes it, once there was need of one
	queue    []segment
	seed     uint64
	latest   time.Time
	lag      time.Duration // of the next write
	lags     time.Time     // until then
	ended    error         // after what is queued
	failed   error         // at once
	deadline time.Time
}

type segment struct {
	at   time.Time
	data []byte
}

func (w *way) change(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *way) isOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed == nil && w.ended == nil
}

// waiting is what has been written and not read.
func (w *way) waiting() (all []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.queue {
		all = append(all, s.data...)
	}
	return all
}

func (w *way) fail(err error) { w.change(func() { w.failed = cmp.Or(w.failed, err) }) }
func (w *way) end(err error)  { w.change(func() { w.ended = cmp.Or(w.ended, err) }) }

// put sends p, which takes slow longer than usual and does not arrive before after.
func (w *way) put(p []byte, slow time.Duration, after time.Time) (err error) {
	w.change(func() {
		switch {
		case w.failed != nil:
			err = w.failed
		case w.ended != nil:
			err = syscall.EPIPE
		default:
			at := time.Now().Add(slow)
			if time.Now().Before(w.lags) {
				at, w.lags = at.Add(w.lag), time.Time{}
			}
			if at.Before(after) {
				at = after
			}
			if at = at.Add(delay(w.seed)); at.Before(w.latest) {
				at = w.latest
			}
			w.latest = at
			w.queue = append(w.queue, segment{at, append([]byte(nil), p...)})
		}
	})
	return err
}

// hurry has all that is on its way arrive now.
func (w *way) hurry() {
	w.change(func() {
		w.latest = time.Now()
		for i := range w.queue {
			w.queue[i].at = w.latest
		}
	})
}

func (w *way) read(p []byte) (int, error) {
	for {
		w.mu.Lock()
		now := time.Now()
		var wake time.Time
		switch {
		case w.failed != nil:
			defer w.mu.Unlock()
			return 0, w.failed
		case len(w.queue) > 0 && !now.Before(w.queue[0].at):
			defer w.mu.Unlock()
			n := copy(p, w.queue[0].data)
			if w.queue[0].data = w.queue[0].data[n:]; len(w.queue[0].data) == 0 {
				w.queue = w.queue[1:]
			}
			return n, nil
		case !w.deadline.IsZero() && !now.Before(w.deadline):
			defer w.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(w.queue) > 0:
			wake = w.queue[0].at
		case w.ended != nil:
			defer w.mu.Unlock()
			return 0, w.ended
		}
		if !w.deadline.IsZero() && (wake.IsZero() || w.deadline.Before(wake)) {
			wake = w.deadline
		}
		w.mu.Unlock()
		if wake.IsZero() {
			<-w.changed
			continue
		}
		if left := wake.Sub(now); w.timer == nil {
			w.timer = time.NewTimer(left)
		} else {
			w.timer.Reset(left)
		}
		select {
		case <-w.changed:
		case <-w.timer.C:
		}
		w.timer.Stop()
	}
}

// end is one side's net.Conn.
type end struct {
	link          *link
	in, out       *way
	local, remote net.Addr
}

func (e *end) Read(p []byte) (int, error)       { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error)      { return e.link.write(e.out, p) }
func (e *end) LocalAddr() net.Addr              { return e.local }
func (e *end) RemoteAddr() net.Addr             { return e.remote }
func (e *end) SetWriteDeadline(time.Time) error { return nil } // writing never waits
func (e *end) SetDeadline(t time.Time) error    { return e.SetReadDeadline(t) }
func (e *end) SetReadDeadline(t time.Time) error {
	e.in.change(func() { e.in.deadline = t })
	return nil
}

// CloseWrite ends the one.
func (e *end) CloseWrite() error { e.out.end(io.EOF); return nil }

// Close ends both directions; what this side has written still arrives.
func (e *end) Close() error {
	if e.in == &e.link.toClient {
		e.link.gaveUp(e.in.waiting())
	}
	e.in.fail(net.ErrClosed)
	e.out.end(io.EOF)
	return nil
}

// gaveUp notes a reply that a client did not wait for. If its network stood still, it took the connection for dead, and what the server
// popped for it meanwhile is lost, as at most once allows; otherwise it has itself to blame.
func (l *link) gaveUp(reply []byte) {
	l.network.mu.Lock()
	excused := time.Now().Before(l.host.noticed)
	l.network.mu.Unlock()
	if excused {
		l.network.lose(reply)
	}
}
