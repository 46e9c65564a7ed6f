package dq

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Of several clients on a queue one transfers, and the others stand in. After each transfer a client says, on a channel that no Redisson
// listens to, until when it has transferred and the next due time. A client that hears a lower id stands in from then on: it waits a random
// moment past due, and transfers only if nothing was heard until then. There is no lease, nothing to renew and no election: a client that
// has ended is replaced at the next due time, and one that hears nothing transfers by itself.
//
//	hello <id>                  a client has begun to listen
//	here <id>                   the answer of each client that listens
//	moved <id> <until> <next>   times in Unix ms; next is - if nothing is left

// How long past due a stand-in waits for the client that transfers.
const minStandIn, maxStandIn = 10 * time.Millisecond, 30 * time.Millisecond

// turns is a task's knowledge of other clients on its queue.
type turns struct {
	channel   string
	others    bool  // another client was heard, and still listens
	standIn   bool  // for one of them
	waitUntil int64 // for the other's transfer, Unix ms; 0 if nothing is due
	later     int64 // the earliest announced since a transfer was heard of, behind the task's due time
}

// heard handles a message of another client. Any client may publish: other texts are passed over.
func (s *scheduler) heard(t *task, payload string) {
	words := strings.Fields(payload)
	if len(words) < 2 || words[1] == s.id {
		return
	}
	switch {
	case words[0] == "hello" && len(words) == 2:
		t.turns.others = true
		s.say(t, "here "+s.id)
	case words[0] == "here" && len(words) == 2:
		t.turns.others = true
	case words[0] == "moved" && len(words) == 4:
		until, err := strconv.ParseInt(words[2], 10, 64)
		next, noNext := strconv.ParseInt(words[3], 10, 64)
		if words[3] == "-" {
			next, noNext = noDue, nil
		}
		if err == nil && noNext == nil {
			s.heardMoved(t, words[1], until, next)
		}
	}
}

// heardMoved takes note of a transfer of another client's. Of the two, the one with the lower
// id goes on, unless it is late: it is slow, or its clock is behind.
func (s *scheduler) heardMoved(t *task, id string, until, next int64) {
	u := &t.turns
	u.others = true
	s.wakeWatchers(t)
	if id > s.id || s.now()-until > minStandIn.Milliseconds() {
		return
	}
	waited, later := u.waitUntil != 0, u.later
	u.standIn, u.waitUntil, u.later = true, 0, noDue
	switch {
	case !waited && t.due > until:
		later = t.due
	case later <= until:
		later = noDue
	}
	s.setDue(t, min(later, next)) // the transfer may be older than what was announced
}

// leaves reports whether messages due then are left to another client for the moment.
func (s *scheduler) leaves(t *task, now int64) bool {
	u := &t.turns
	if !u.standIn {
		return false
	}
	if u.waitUntil == 0 || u.waitUntil > now+maxStandIn.Milliseconds() { // the clock was set back
		u.waitUntil = now + (minStandIn + time.Duration(s.client.random()%uint64(maxStandIn-minStandIn))).Milliseconds()
	}
	if now < u.waitUntil {
		s.setDue(t, u.waitUntil)
		return true
	}
	u.standIn, u.waitUntil = false, 0
	return false
}

// alone has a task transfer by itself: no other client can be heard.
func (u *turns) alone() { *u = turns{channel: u.channel, later: noDue} }

// tellMoved announces a transfer, if another client listens.
func (s *scheduler) tellMoved(t *task, m moved) {
	if !t.turns.others || t.turns.standIn {
		return
	}
	next := "-"
	if m.next != noDue {
		next = strconv.FormatInt(m.next, 10)
	}
	s.say(t, "moved "+s.id+" "+strconv.FormatInt(m.until, 10)+" "+next)
}

// say publishes in the background. The server says how many listen, this one among them, but
// for a Cluster, whose servers count only their own clients.
func (s *scheduler) say(t *task, what string) {
	channel, key := t.turns.channel, t.names.TimeoutSet
	s.goroutines.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
		defer cancel()
		reply, err := s.client.one(ctx, conn.Request{Lane: conn.Background, Key: key, Commands: [][]any{{"PUBLISH", channel, what}}})
		if n, ok := reply.(int64); err == nil && ok && n <= 1 && !s.client.conns.Clustered {
			s.post(func() { t.turns.others = false })
		}
	})
}

// task is the transfer task of one queue name.
type task struct {
	names       wire.Names
	number      int // no other task of the scheduler has it
	usage       int
	failed      atomic.Pointer[error] // what went wrong last
	ready       context.Context       // ends after the first transfer behind a subscription
	becomeReady context.CancelFunc
	refused     context.Context // ends when the server forbids the subscription, with the reason as its cause
	refuse      context.CancelCauseFunc
	// watchers are called after transfers. The scheduler's mu guards them.
	watchers map[*leased]struct{}

	// known is the earliest due time that the task knows of.
	known atomic.Int64

	// The rest belongs to the scheduler's goroutine.
	at            int64 // Unix ms of the next transfer or look, noDue without one
	due           int64 // Unix ms of the next transfer, noDue without one
	since         int64 // the earliest that was due and is not transferred, noDue without one
	running       bool
	again         bool // a transfer was asked for while one ran
	gone          bool
	looked        int64 // when the task looked ahead last, Unix ms
	lookAt        int64 // when it will next, Unix ms, noDue if not arranged
	stands        bool  // the subscription did once
	redissonUntil int64 // Unix ms: the user may run only Redisson's own script
	unlisting     unlisting
	turns         turns
	retry         conn.Backoff
}

func newTask(names wire.Names, number int) *task {
	t := &task{
		names: names, at: noDue, due: noDue, since: noDue, lookAt: noDue, number: number,
		watchers: map[*leased]struct{}{}, unlisting: unlisting{cost: entryCost, pace: 2 * entryCost},
		turns: turns{channel: wire.PrefixName("redisson_delay_queue_turns", names.Destination), later: noDue},
	}
	t.ready, t.becomeReady = context.WithCancel(context.Background())
	t.refused, t.refuse = context.WithCancelCause(context.Background())
	t.known.Store(noDue)
	return t
}

// compare orders tasks by the next instant at which there is something to do for them.
func (t *task) compare(other *task) int {
	return cmp.Or(cmp.Compare(t.at, other.at), cmp.Compare(t.number, other.number))
}
