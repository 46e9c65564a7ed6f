package dq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// transferLimit is the number of members one transfer moves, in all releases.
const transferLimit = 100

// mostArmed is how long the timer waits at most: a clock that is set, and not guarded, is looked at so often.
const mostArmed = 10 * time.Second

// noDue is the due time of a task with nothing to wait for.
const noDue = math.MaxInt64

// scheduler runs the transfer tasks of a Client. One goroutine owns the state of
// all tasks; everything else reaches it as a function to be run there.
type scheduler struct {
	client       *Client
	id           string // among the clients of a queue: see turns
	subscription *conn.Subscription
	ctx          context.Context
	posts        chan func()
	goroutines   sync.WaitGroup // end with ctx

	mu     sync.Mutex // guards tasks, and of each task usage
	tasks  map[string]*task
	opened int // tasks

	waiting []*task // the tasks with something to do, in its order; of the goroutine
}

func newScheduler(c *Client) *scheduler {
	s := &scheduler{
		client: c,
		id:     fmt.Sprintf("%016x", c.random()),
		ctx:    c.ctx,
		posts:  make(chan func(), 64),
		tasks:  make(map[string]*task),
	}
	s.subscription = c.conns.NewSubscription(s.acknowledged, s.received, s.denied, s.lost)
	s.goroutines.Go(s.run)
	s.goroutines.Go(func() { s.subscription.Run(s.ctx) })
	return s
}

// open returns the task of a queue and counts one more user of it.
func (s *scheduler) open(names wire.Names) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tasks[names.Channel]
	if !ok {
		s.opened++
		t = newTask(names, s.opened)
		for _, channel := range s.channels(t) {
			s.tasks[channel] = t
			s.subscription.Add(channel)
		}
	}
	t.usage++
	return t
}

// channels returns the channels of a task.
func (s *scheduler) channels(t *task) []string {
	if s.client.conn.Strict {
		return []string{t.names.Channel}
	}
	return []string{t.names.Channel, t.turns.channel}
}

// leave counts one user less; the last one ends the task.
func (s *scheduler) leave(t *task) {
	s.mu.Lock()
	if t.usage--; t.usage > 0 {
		s.mu.Unlock()
		return
	}
	for _, channel := range s.channels(t) {
		delete(s.tasks, channel)
		s.subscription.Remove(channel)
	}
	s.mu.Unlock()
	s.post(func() {
		t.gone = true
		s.setDue(t, noDue)
	})
}

// post hands f to the scheduler's goroutine, unless the Client is closed.
func (s *scheduler) post(f func()) {
	select {
	case s.posts <- f:
	case <-s.ctx.Done():
	}
}

// postFor hands f to the scheduler's goroutine with the task of a channel, if it is still there.
func (s *scheduler) postFor(channel string, f func(*task)) {
	s.mu.Lock()
	t := s.tasks[channel]
	s.mu.Unlock()
	if t != nil {
		s.post(func() { f(t) })
	}
}

// run is the scheduler's goroutine.
func (s *scheduler) run() {
	timer := s.client.clock.NewTimer()
	defer timer.Close()
	armed := int64(noDue)
	for {
		s.startDue()
		armed = s.arm(timer, armed)
		select {
		case f := <-s.posts:
			f()
		case <-timer.C():
			armed = noDue
		case <-s.ctx.Done():
			return
		}
	}
}

// arm sets the timer to the earliest instant of a task, if it is not set to that already.
func (s *scheduler) arm(timer clock.Timer, armed int64) int64 {
	next := int64(noDue)
	if len(s.waiting) > 0 {
		next = s.waiting[0].at
	}
	switch next {
	case armed:
	case noDue:
		timer.Stop()
	default:
		timer.Reset(time.UnixMilli(min(next, s.now()+mostArmed.Milliseconds())))
	}
	return next
}

// startDue starts due looks and transfers.
func (s *scheduler) startDue() {
	for now := s.now(); len(s.waiting) > 0 && s.waiting[0].at <= now; {
		t := s.waiting[0]
		switch {
		case t.lookAt <= now:
			if s.setLook(t, noDue); t.unlisting.passing {
				s.look(t)
			} else {
				s.lookAhead(t)
			}
		case !s.leaves(t, now):
			s.start(t)
		}
	}
}

func (s *scheduler) now() int64 { return s.client.clock.Now().UnixMilli() }

// announce takes note that a member is due at that time, which may be past. The earliest time counts.
func (s *scheduler) announce(t *task, due int64) {
	if u := &t.turns; due > t.due || u.waitUntil != 0 {
		u.later = min(u.later, due)
	}
	s.setDue(t, min(t.due, due))
	if due-s.now() >= lookTime.Milliseconds() {
		s.lookAhead(t)
	}
}

func (s *scheduler) setDue(t *task, due int64) {
	t.due = due
	if t.gone {
		t.due, t.lookAt = noDue, noDue
	}
	t.known.Store(t.due)
	s.place(t)
}

func (s *scheduler) setLook(t *task, at int64) {
	t.lookAt = at
	s.place(t)
}

// place moves a task among those that wait. The transfer of a running one has its place when it ends.
func (s *scheduler) place(t *task) {
	if i, found := slices.BinarySearchFunc(s.waiting, t, (*task).compare); found {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	t.at = t.lookAt
	if !t.running {
		t.at = min(t.at, t.due)
	}
	if t.at != noDue {
		i, _ := slices.BinarySearchFunc(s.waiting, t, (*task).compare)
		s.waiting = slices.Insert(s.waiting, i, t)
	}
}

// start runs a transfer, one at a time for a queue.
func (s *scheduler) start(t *task) {
	if t.gone {
		return
	}
	if t.running {
		t.again = true
		return
	}
	if t.unlisting.holds(t.due) {
		t.unlisting.held = true
		s.setDue(t, noDue)
		return
	}
	t.running = true
	if t.due <= s.now() {
		t.since = min(t.since, t.due)
	}
	s.setDue(t, noDue)
	t.turns.later = noDue
	byOwn, u := !s.client.conn.Strict && t.redissonUntil < s.now(), t.unlisting
	s.goroutines.Add(1)
	s.client.conns.Go(func() {
		defer s.goroutines.Done()
		began := time.Now()
		m, err := s.transfer(t, byOwn, u)
		took := time.Since(began)
		s.post(func() { s.ended(t, m, err, took) })
	})
}

// ended takes the result of a transfer. Announcements during the transfer stay valid: the reply may be older.
func (s *scheduler) ended(t *task, m moved, err error, took time.Duration) {
	t.running = false
	s.observe(t, m, err, took)
	s.place(t)
	switch {
	case err != nil:
		t.failed.Store(&err)
		if errors.Is(err, ErrForeignMember) || forbidden(err) && (s.client.conn.Strict || t.redissonUntil > s.now()) {
			s.announce(t, s.now()+foreignRetry.Milliseconds())
		} else {
			s.setDue(t, s.now()+t.retry.Next().Milliseconds())
		}
	default:
		t.since = noDue
		t.retry = conn.Backoff{}
		if t.stands && !t.again {
			t.becomeReady()
		}
		if m.next != noDue {
			s.announce(t, m.next)
			s.lookAhead(t)
		}
		s.tellMoved(t, m)
		s.wakeWatchers(t)
	}
	if t.again {
		t.again = false
		s.start(t)
	}
}

// foreignRetry is how soon Redisson's transfer is tried again that met a member of the other layout, or lacks a right. It has
// pushed the values before that, and does so at each try.
const foreignRetry = 5 * time.Second

func (s *scheduler) observe(t *task, m moved, err error, took time.Duration) {
	queue := t.names.Destination
	if m.refused != nil {
		t.redissonUntil = s.now() + time.Minute.Milliseconds()
		s.client.tell(Restricted{Queue: queue, Err: m.refused})
	}
	if m.Quarantined > 0 {
		s.client.tell(Quarantined{Queue: queue, Key: scripts.Quarantine(queue), Members: m.Quarantined})
	}
	event := Transferred{Queue: queue, Took: took, OtherLayout: m.OtherLayout, Err: err}
	if err == nil && m.next != noDue {
		event.Next = time.UnixMilli(m.next)
	}
	if err == nil && t.since != noDue {
		event.Late = s.client.clock.Now().Sub(time.UnixMilli(t.since))
	}
	s.client.tell(event)
}

// What reaches the scheduler of new members: by the subscription, and from this Client's own offers.

func (s *scheduler) acknowledged(channel string) {
	s.postFor(channel, func(t *task) {
		if channel == t.turns.channel {
			t.turns.others = !s.client.conns.Clustered // until the server says how many listen
			s.say(t, "hello "+s.id)
			return
		}
		s.client.tell(Subscribed{Queue: t.names.Destination})
		t.stands = true
		s.start(t)
	})
}

// received handles the announcement of a new head. A payload that is no number is from another program: any client may publish.
func (s *scheduler) received(channel, payload string) {
	s.postFor(channel, func(t *task) {
		if channel == t.turns.channel {
			s.heard(t, payload)
		} else if due, err := strconv.ParseInt(payload, 10, 64); err == nil {
			s.announce(t, due)
		}
	})
}

// denied handles a subscription that the server refused. Messages in the queue are transferred all the same, and offers of this Client; for
// offers of others it is looked at with each new attempt.
func (s *scheduler) denied(channel string, err error) {
	s.postFor(channel, func(t *task) {
		if channel == t.turns.channel {
			t.turns.alone()
			return
		}
		t.failed.Store(&err)
		t.refuse(err)
		s.client.tell(Disconnected{Err: err})
		s.start(t)
	})
}

func (s *scheduler) lost(err error) {
	s.post(func() {
		s.mu.Lock()
		for _, t := range s.tasks {
			t.failed.Store(&err)
			t.turns.alone()
		}
		s.mu.Unlock()
		s.client.tell(Disconnected{Err: err})
	})
}

// ownGrace is how long a transfer for an own offer waits for the announcement, which
// nearly always arrives first and then starts the same transfer.
const ownGrace = 5 * time.Millisecond

// offered takes note of what this Client offered itself, whose delivery does not depend on the subscription. Nearly always the task knows
// of an earlier due time, and nothing is to be done.
func (s *scheduler) offered(t *task, due int64) {
	if s.client.conn.Strict || due >= t.known.Load() {
		return
	}
	if due = max(due, s.now()+ownGrace.Milliseconds()); due < t.known.Load() {
		s.post(func() { s.announce(t, due) })
	}
}
