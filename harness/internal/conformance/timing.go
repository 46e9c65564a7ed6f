package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// A message is due its delay after an instant within the call that offers it: not a millisecond before the call began,
// nor after it was answered. How long the call took is all that is tolerated.

// window is when an offer was under way, by the clock of the harness.
type window struct {
	from, to time.Time
	delay    int64 // of its message, in ms
	accepted bool  // it was answered without an error
	text     string
	isText   bool // and StringCodec writes the value
}

// serverClock is that of the server beside the harness's own.
type serverClock struct {
	// ahead is what the server's clock shows less what the harness's does; it is right to within off.
	ahead, off time.Duration
}

// clockOf measures the server's clock, which on this host is the harness's own. A container may have the clock of a virtual machine.
func clockOf(ctx context.Context, srv *redis.Server, conn redis.Conn) (serverClock, error) {
	if u, err := url.Parse(srv.URL()); err == nil && !strings.HasPrefix(srv.How, "container") {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() || u.Scheme == "unix" {
			return serverClock{}, nil
		}
	}
	best := serverClock{off: time.Hour}
	for range 5 {
		before := time.Now()
		at, err := redis.Time(ctx, conn)
		if err != nil {
			return best, fmt.Errorf("asking the server for its time: %w", err)
		}
		if off := time.Since(before) / 2; off < best.off {
			best = serverClock{ahead: at.Sub(before.Add(off)), off: off}
		}
	}
	return best, nil
}

// here is when the harness's clock showed what a line of MONITOR says, at the earliest and at the latest.
func (c serverClock) here(l trace.Line) (earliest, latest time.Time) {
	at := time.UnixMicro(l.Time).Add(-c.ahead)
	return at.Add(-c.off), at.Add(c.off)
}

// offering notes that an offer is under way until the returned function is called.
func (r *caseRun) offering(params map[string]any) (answered func(error)) {
	unit, _ := params["unit"].(string)
	n, err := strconv.ParseInt(fmt.Sprint(params["delay"]), 10, 64)
	sign := int64(cmp.Compare(n, 0)) // Java cuts towards 0
	delay, wrong := program.Millis(sign*n, cmp.Or(unit, "ms"))
	if err != nil || wrong != nil {
		return func(error) {} // no offer, or one that is refused
	}
	value, _ := params["value"].(map[string]any)
	w := window{from: time.Now(), delay: sign * delay}
	w.text, w.isText = value["v"].(string)
	w.isText = w.isText && value["t"] == "string" && r.c.codec() == "string"
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.windows)
	r.windows = append(r.windows, w)
	return func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.windows[i].to, r.windows[i].accepted = time.Now(), err == nil
	}
}

// offers are the calls that offered. One that was not answered has no end.
func (r *caseRun) offers() []window {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.windows)
}

// passed reports whether a message that steps have offered is due by now, without a wait among them.
func (r *caseRun) passed(steps []*Step) bool {
	return !slices.ContainsFunc(steps, func(s *Step) bool { return s.Wait != nil }) &&
		slices.ContainsFunc(r.offers(), func(w window) bool { return w.delay > 0 && time.Since(w.from).Milliseconds() >= w.delay })
}

// offBy says which messages are due at another time, or have another text, than the calls that offered them asked for, and
// which were not stored.
func offBy(lines []trace.Line, windows []window, clock serverClock) (broken []trace.Breach) {
	for _, c := range trace.Group(lines) {
		for _, o := range offered(c) {
			if text := dueOutside(c.Line, o.Due, windows, clock); text != "" {
				broken = append(broken, trace.Breach{Statement: "W-OFFER-2", Text: text, Line: c.Line})
			}
			if readable := o.Random != ""; readable && len(windows) > 0 && !slices.ContainsFunc(windows, func(w window) bool { return !w.isText || w.text == o.Value }) {
				text := fmt.Sprintf("the value %.60q was written, and no call offered it; the first offered %.60q", o.Value, windows[0].text)
				broken = append(broken, trace.Breach{Statement: "W-CODEC-1", Text: text, Line: c.Line})
			}
		}
	}
	for _, w := range windows {
		stores := func(l trace.Line) bool {
			earliest, latest := clock.here(l)
			return strings.HasPrefix(l.Name(), "zadd") && !latest.Before(w.from) && !earliest.After(w.to)
		}
		if w.accepted && w.delay >= 0 && !slices.ContainsFunc(lines, stores) {
			broken = append(broken, trace.Breach{Statement: "W-OFFER-1", Text: "an offer was answered without an error, and nothing was added to a timeout set"})
		}
	}
	return broken
}

// offered are the messages that a call offers: the offer of a Redisson, or what a script that no Redisson sends adds to a timeout set.
func offered(c trace.Call) (all []trace.Offer) {
	switch {
	case c.Offer != nil:
		return []trace.Offer{*c.Offer}
	case c.Script == nil || c.Script.Known != nil:
		return nil
	}
	for _, l := range c.Inner {
		if l.Name() == "zadd" && len(l.Args) == 4 && strings.HasPrefix(l.Args[1], "redisson_delay_queue_timeout:") {
			o := trace.Offer{}
			if m, err := wire.LayoutBc0Lc0.UnpackAny([]byte(l.Args[3])); err == nil {
				o.Random, o.Value = string(m.ID[:]), string(m.Value)
			}
			if due, ok := trace.Score(l.Args[2]); ok {
				o.Due = due
				all = append(all, o)
			}
		}
	}
	return all
}

// dueOutside says by how much a due time misses the call that offered the message, and "" where it does not. A message
// that no call offers at that moment is one fault more. Sums of due times overflow as Java's do.
func dueOutside(l trace.Line, due int64, windows []window, clock serverClock) string {
	earliest, latest := clock.here(l)
	text := "a message was offered when no call that offers was under way"
	for _, w := range windows {
		if latest.Before(w.from) || earliest.After(w.to) {
			continue
		}
		read := due - w.delay // what the client's clock showed
		from, to := w.from.UnixMilli(), w.to.UnixMilli()
		switch {
		case read < from:
			text = fmt.Sprintf("a message is due %d ms too early: offered with a delay of %d ms from %d on, it is due at %d", from-read, w.delay, from, due)
		case read > to:
			text = fmt.Sprintf("a message is due %d ms too late: offered with a delay of %d ms until %d, it is due at %d", read-to, w.delay, to, due)
		default:
			return ""
		}
	}
	return text
}
