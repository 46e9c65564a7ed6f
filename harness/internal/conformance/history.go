package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// A random history is a drawn Case, judged by the rules and, where nothing comes due in it, by the same history with the
// reference on another server; else by a ledger: each message that was offered is in one place.

// history is the outcome of a drawn case.
type history struct {
	still    bool     // nothing comes due in it
	answers  []string // of calls and awaits, in order
	left     []string // "key elements"
	timeouts []string // "value in 1h0m0s"
	stranded string   // what a client should have moved
	given    []int64  // instants of given-up takes, by the server's clock in µs: each may have lost a value
}

const (
	// settle is how long after its last message is due a history may take.
	settle = 2 * time.Second
	// A value pushed so many µs before or after the end of its take may be on its way, and lost.
	beforeCancel, afterCancel = 1_000_000, 5_000
	// endsWithin is how long the server may keep a cancelled take. Later values are lost to the take.
	endsWithin = Duration(300 * time.Millisecond)
	probe      = "probe" // a value that shows who still waits
)

// finish waits until due messages were moved, gives takes up, and notes the remaining values.
func (r *caseRun) finish(ctx context.Context) error {
	h := r.c.history
	due := func(to time.Time) (n int64, err error) {
		return r.control.Do(ctx, "ZCOUNT", r.names.TimeoutSet, "0", strconv.FormatInt(to.UnixMilli(), 10)).Int64()
	}
	patience := settle
	if slices.ContainsFunc(r.c.Steps, func(s *Step) bool { return slices.Equal(s.Redis, []string{"SCRIPT", "FLUSH"}) }) {
		patience += trace.Retry
	}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		coming, err1 := due(time.Now().Add(time.Minute))
		overdue, err2 := due(time.Now().Add(-settle / 2))
		if err := errors.Join(err1, err2); err != nil {
			return &faultError{err}
		}
		if coming == 0 || time.Since(began) > patience {
			if overdue > 0 {
				h.stranded = fmt.Sprintf("W-TIMER-1: %d members have been due for a while, and no client moves them", overdue)
			}
			break
		}
	}
	given := len(r.async) > 0
	for name, under := range r.async {
		h.given = append(h.given, time.Now().Add(r.clock.ahead).UnixMicro())
		under.cancel()
		if a := <-under.done; a.err == nil {
			h.answers = append(h.answers, "late "+string(a.result))
		}
		delete(r.async, name)
	}
	if given {
		if err := r.wait(ctx, &Wait{Unblocked: true, Within: endsWithin}); err != nil {
			return err
		}
		if err := r.setUp.Do(ctx, "RPUSH", r.names.Destination, probe).Err(); err != nil {
			return &faultError{err}
		}
		time.Sleep(settle / 50) // a take that still waits has the value by then
	}
	for _, key := range []string{r.names.Destination, r.names.Pending} {
		got, err := r.content(ctx, key)
		if err != nil {
			return &faultError{err}
		}
		if given && key == r.names.Destination && !slices.Contains(got, probe) {
			h.stranded = "W-BLOCK-2: a take that was given up took a later value"
		}
		h.left = append(h.left, key+" "+strings.Join(got, " "))
	}
	members, err := r.control.Do(ctx, "ZRANGE", r.names.TimeoutSet, 0, -1, "WITHSCORES").StringSlice()
	if err != nil {
		return &faultError{err}
	}
	for i := 0; i+1 < len(members); i += 2 {
		in := time.Duration(0)
		if at, _ := strconv.ParseFloat(members[i+1], 64); at < farDue {
			in = time.Until(time.UnixMilli(int64(at))).Round(10 * time.Minute)
		}
		h.timeouts = append(h.timeouts, fmt.Sprintf("%s in %s", r.element(members[i], true), in))
	}
	slices.Sort(h.timeouts)
	return nil
}

// differ says where two histories of the same steps differ, in the order of a reader's interest.
func (h *history) differ(from *history) string {
	for i, want := range from.answers {
		if i < len(h.answers) && !sameJSON(want, h.answers[i]) {
			return fmt.Sprintf("answer %d: Redisson's is %.200s, this one's %.200s", i+1, want, h.answers[i])
		}
	}
	if !slices.Equal(h.timeouts, from.timeouts) {
		return fmt.Sprintf("the timeout set holds %.300q, with Redisson %.300q", h.timeouts, from.timeouts)
	}
	if !slices.Equal(h.left, from.left) {
		return fmt.Sprintf("it leaves %.300q, Redisson %.300q", h.left, from.left)
	}
	return ""
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return equalResults(x, y) || equalResults(y, x)
}

// account holds the offered messages against their places.
func (h *history) account(steps []*Step, lines []trace.Line) string {
	places, owed, unsure := map[string]int{}, map[string]int{}, map[string]bool{}
	got := func(answer string) {
		var typed struct{ V any }
		if json.Unmarshal([]byte(strings.TrimPrefix(answer, "late ")), &typed) == nil && typed.V != nil {
			places[fmt.Sprint(typed.V)]++
		}
	}
	lost := func(v string) bool {
		i := slices.IndexFunc(h.given, func(at int64) bool {
			return slices.ContainsFunc(lines, func(l trace.Line) bool {
				return strings.HasPrefix(l.Name(), "rpush") && slices.Contains(l.Args[1:], v) && at-beforeCancel < l.Time && l.Time < at+afterCancel
			})
		})
		if i >= 0 {
			h.given = slices.Delete(h.given, i, i+1)
		}
		return i >= 0
	}
	for _, part := range h.left {
		for _, v := range strings.Fields(part)[1:] {
			places[v]++
		}
	}
	answers := h.answers
	for _, s := range steps {
		if s.Seed != nil {
			for n := range s.Seed.Count {
				owed[fmt.Sprintf("v%03d", n+1)]++
			}
		}
		if s.Call == "" && s.Await == "" || s.Async != "" || len(answers) == 0 {
			continue
		}
		answer, v := answers[0], fmt.Sprint(s.With["value"])
		answers = answers[1:]
		switch {
		case s.Call == "dq.offer":
			owed[v]++
			unsure[v] = unsure[v] || answer == "error"
		case s.Call == "dq.remove" && answer == "true":
			places[v]++
		case s.Await != "" || strings.HasSuffix(s.Call, ".poll"):
			got(answer)
		}
	}
	for _, late := range answers {
		got(late)
	}
	for v, n := range owed {
		for places[v] < n && lost(v) {
			n--
		}
		switch {
		case unsure[v]:
		case places[v] < n:
			return fmt.Sprintf("W-BLOCK-2: %s was offered and is nowhere", v)
		case places[v] > n:
			return fmt.Sprintf("W-TIMER-6: %s is in %d places", v, places[v])
		}
	}
	return ""
}
