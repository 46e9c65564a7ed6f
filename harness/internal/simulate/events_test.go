package simulate_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
)

// observe notes the events that excuse a Worker for handling a message twice.
func (w *world) observe(c *client, event dq.Event) {
	w.tells(c, event)
	var id string
	switch e := event.(type) {
	case dq.Offered:
		if e.Messages > 0 && c.replicas > 0 && c.name == "c1" {
			w.violate("an offer of %s is confirmed, and no replica has it", c.name)
		}
		return
	case dq.LeaseLost:
		id = e.ID
	case dq.AckFailed:
		id = e.ID
		if errors.Is(e.Err, dq.ErrLeaseLost) && w.settledFor(e) {
			w.violate("%s says that it failed to settle %s, which it did: %v", c.name, e.ID, e.Err)
		}
	case dq.Handled:
		if wrong := new(dq.PanicError); e.Err != nil && (e.Err.Error() == "" || errors.As(e.Err, &wrong) && len(wrong.Stack) == 0) {
			w.violate("a handler of %s failed without a reason", c.name)
		}
		return
	case dq.Dead:
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.shut[e.ID] && !strings.HasPrefix(e.Reason, "lost by") {
			w.violateLocked("Shutdown of %s ended the handler of %s, which is a dead letter: %s", c.name, e.ID, e.Reason)
		}
		return
	case dq.GivenBack:
		id = e.ID
	case dq.Acknowledged:
		w.locked(func() { delete(c.handled, e.ID) })
		return
	case dq.Requeued:
		if e.Err != nil {
			w.net.lose(e.Value)
		}
		return
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excused[c.handled[id]] = true
}

// want is the outcome that a delivery's handler asks for, and the bounds of the wait before a retry.
type want struct {
	how         string
	least, most time.Duration
}

// becomes judges what a client settles.
func (w *world) becomes(client, how, arg, delivery string) {
	name, _, _ := strings.Cut(client, ":")
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted, known := w.wants[delivery]
	ms, _ := strconv.Atoi(arg)
	wait := time.Duration(ms) * time.Millisecond
	switch {
	case how == "extend" || !known || how == "release" && w.clients[name] == nil:
	case how != wanted.how:
		w.violateLocked("%s settles %s by %s, which wants %s", name, delivery, how, wanted.how)
	case how == "retry" && (wait < wanted.least.Truncate(time.Millisecond) || wait > wanted.most):
		w.violateLocked("%s sets %s aside for %s, not %s to %s", name, delivery, wait, wanted.least, wanted.most)
	}
}

// inScript finds the refusal of a Worker's script: out of memory, a Worker goes on.
var inScript = regexp.MustCompile(`(take|ack|extend|retry|bury|release) of .*: OOM .*script: `)

// tells judges whether what an event tells has happened, and whether nothing else has.
func (w *world) tells(c *client, event dq.Event) {
	var of dq.Delivery
	done, lost, wrong, gives, at := "", "", false, false, time.Duration(0)
	switch e := event.(type) {
	case dq.Held:
		of, done = e.Delivery, "held"
	case dq.Extended:
		of, done = e.Delivery, "extend"
	case dq.Acknowledged:
		of, done = e.Delivery, "ack"
	case dq.GivenBack:
		of, done = e.Delivery, "release"
	case dq.Retry:
		of, done = e.Delivery, "retry"
		w.server.Exclusive(func() {
			if l := w.model.leased[of.ID]; w.quiet() && l.by == c.name && w.model.held[of.ID] != "" {
				at = e.At.Sub(time.UnixMilli(w.model.scores(w.model.leases.Leases)[of.ID]))
			}
		})
	case dq.Dead:
		of, done = e.Delivery, "bury"
	case dq.AckFailed:
		of, wrong, gives = e.Delivery, true, !errors.Is(e.Err, dq.ErrLeaseLost) && !w.lacks
	case dq.LeaseLost:
		of, wrong, gives = e.Delivery, true, true
	case dq.Transferred:
		wrong = e.Err != nil && !w.stops
	case dq.Requeued:
		wrong = !w.lacks // a take that nobody could end
		if e.Err != nil && !errors.Is(e.Err, dq.ErrUncertain) {
			lost = string(e.Value)
		}
	case dq.ExtensionFailed, dq.TakeFailed, dq.Disconnected, dq.Restricted, dq.ClockSet:
		wrong = true
	}
	if text := fmt.Sprintf("%v", event); strings.Contains(text, "UNBLOCKED") && !strings.Contains(text, "times in a row") || inScript.MatchString(text) {
		w.violate("%s tells of what is no fault: %T%+v", c.name, event, event)
	}
	quiet, key, did, taken := w.quiet(), fmt.Sprintf("%s %d", of.ID, of.Attempt), true, time.Time{}
	w.server.Exclusive(func() {
		_, over := w.model.overrun[of.ID] // it has left Redis, perhaps by its next holder
		did = done == "" || w.model.did[done+" "+key] || over
		if m := w.model.seen[lost]; m != nil {
			taken = m.taken
		}
		gives = gives && !over && w.model.counts[of.ID] == strconv.Itoa(of.Attempt) && w.model.held[of.ID] != ""
	})
	soon := w.soon(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Kinds[fmt.Sprintf("%T", event)]++
	if e, set := event.(dq.ClockSet); set && e.Followed && c.clock.offset() == 0 {
		w.right[c.name] = time.Since(w.began)
	}
	unheard := w.plan.Strict && time.Now().Before(c.deaf) // it may notice later than all else is quiet
	if !did || at.Abs() > lateBy || wrong && quiet && !unheard && w.clients[c.name] == c {
		w.violateLocked("%s tells of a %T, and there was none: %+v", c.name, event, event)
	}
	if e, back := event.(dq.Requeued); lost != "" && back && (w.clients[c.name] == c && time.Since(taken) < 50*time.Second || errors.Is(e.Err, dq.ErrClosed)) {
		w.violateLocked("%s gives up %s, which it was to put back for a minute, after %s: %v", c.name, lost, time.Since(taken), e.Err)
	}
	since, known := c.open[key]
	if _, failed := event.(dq.AckFailed); failed && soon && c.shut[of.ID] {
		w.violateLocked("%s ended a handler that obeyed, and its result is lost: %+v", c.name, event)
	}
	if gives && known && w.clients[c.name] == c && time.Since(since) < w.plan.Visibility*9/10 && w.net.prompt(c.name, since) {
		w.violateLocked("%s gives up %s, of which it has known for %s: %+v", c.name, of.ID, time.Since(since), event)
	}
	switch event.(type) {
	case dq.Held:
		c.open[key] = time.Now()
	case dq.Extended:
		if known {
			c.open[key] = time.Now()
		}
	case dq.LeaseLost:
	default:
		delete(c.open, key)
	}
}

// settledFor reports whether the server has done what an event says that it has not.
func (w *world) settledFor(e dq.AckFailed) (done bool) {
	w.server.Exclusive(func() {
		how := w.model.settled[e.ID+" "+strconv.Itoa(e.Attempt)]
		again := w.model.counts[e.ID]
		done = slices.Contains([]string{"ack", "retry", "bury"}, how) && strings.Contains(e.Err.Error(), how) && (again == "" || again == strconv.Itoa(e.Attempt))
	})
	return done
}
