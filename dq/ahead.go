package dq

import (
	"context"
	"strconv"
	"time"
)

// Looking ahead finds members of the other layout before they are due, so that no
// transfer of Redisson's fails at them.
const (
	// lookCount is how many members one look takes in, those due first.
	lookCount = 1000
	// lookInterval is how often a busy queue is looked at, and lookLead how long before
	// its next due time a quiet one is.
	lookInterval = time.Second
	lookLead     = 500 * time.Millisecond
	// surveyLead is how long before that the first look is, for the length of the list: a
	// pass through a long one takes its time (see unlisting).
	surveyLead = 5 * time.Second
	// lookTime is how much time an announcement must leave for a look.
	lookTime = 5 * time.Millisecond
	// bothFor is for how long the own scripts are sent after the last such member.
	bothFor = time.Minute
)

// meet takes note of a member of the other layout.
func (t *task) meet(now int64) { t.metAt.Store(now) }

// mixed reports whether the queue holds members of the other layout, or held one lately.
func (t *task) mixed(now int64) bool {
	met := t.metAt.Load()
	return met != 0 && now-met <= bothFor.Milliseconds()
}

// lookAhead arranges a look: now, where the next member is due soon, else shortly
// before it is. It must delay no transfer, and so runs after one, or where an
// announcement leaves the time for it.
func (s *scheduler) lookAhead(t *task) {
	if s.client.strict || t.due == noDue || t.gone {
		return
	}
	now, lead := s.now(), lookLead
	if s.unlists() && t.looked < t.due-surveyLead.Milliseconds() {
		lead = surveyLead
	}
	at := max(t.looked+lookInterval.Milliseconds(), t.due-lead.Milliseconds())
	switch {
	case at <= now:
		s.look(t)
	case at < t.due && (t.lookAt == 0 || at < t.lookAt):
		s.lookAt(t, at, min(at-now, maxLookWait))
	}
}

// lookAt sets the task's timer, in place of a later look: that is arranged anew when
// this one comes.
func (s *scheduler) lookAt(t *task, at, wait int64) {
	t.lookAt = at
	in := time.Duration(wait) * time.Millisecond
	if t.lookTimer != nil {
		t.lookTimer.Reset(in)
		return
	}
	t.lookTimer = time.AfterFunc(in, func() {
		s.post(func() {
			t.lookAt = 0
			s.lookAhead(t)
		})
	})
}

// stopLooking cancels a later look, which would keep the Client in memory.
func (t *task) stopLooking() {
	if t.lookTimer != nil {
		t.lookTimer.Stop()
	}
}

func (s *scheduler) stopLooking() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		t.stopLooking()
	}
}

// maxLookWait keeps a wait in ms within what a Duration holds, and a timer that nobody
// stopped short-lived.
const maxLookWait = int64(time.Minute / time.Millisecond)

// look looks ahead in the background.
func (s *scheduler) look(t *task) {
	s.lookThen(t, func() { s.lookAhead(t) })
}

// lookFirst looks before the first transfer of a connection, which counts as running
// meanwhile: nobody knows what was offered before.
func (s *scheduler) lookFirst(t *task) {
	s.lookThen(t, func() {
		t.running = false
		s.start(t)
	})
}

func (s *scheduler) lookThen(t *task, then func()) {
	began := s.now()
	t.looked = began
	surveys, cost := s.unlists() && began >= t.unlisting.blind && !t.unlisting.mine, t.unlisting.cost
	s.goroutines.Add(1)
	go func() {
		defer s.goroutines.Done()
		ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
		defer cancel()
		s.seeAhead(ctx, t)
		if !surveys {
			s.post(then)
			return
		}
		found, err := s.survey(ctx, t.names, cost)
		s.post(func() {
			s.surveyed(t, began, found, err)
			then()
		})
	}()
}

// seeAhead asks for members of the other layout among those due first; an error is
// that of the next transfer too, and is left to it.
func (s *scheduler) seeAhead(ctx context.Context, t *task) {
	reply, err := s.client.runOwn(ctx, backgroundLane, aheadScript, []string{t.names.TimeoutSet},
		strconv.Itoa(lookCount), s.client.release.Layout().String())
	if n, ok := reply.(int64); err == nil && ok && n > 0 {
		t.meet(s.now())
	}
}
