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
	// bothFor is for how long the own scripts are sent after the last such member.
	bothFor = time.Minute
)

// meet takes note of a member of the other layout.
func (t *task) meet(now int64) {
	t.metAt.Store(now)
	t.both.Store(true)
}

// lookAhead arranges a look: now, where the next member is due soon, else shortly
// before it is. It runs after a transfer, so that it delays none.
func (s *scheduler) lookAhead(t *task, next int64) {
	if s.client.strict {
		return
	}
	now := s.now()
	wait := max(t.looked+lookInterval.Milliseconds()-now, next-now-lookLead.Milliseconds())
	if wait <= 0 {
		s.look(t)
		return
	}
	if next-now <= lookInterval.Milliseconds() || t.lookSet {
		return
	}
	t.lookSet = true
	time.AfterFunc(time.Duration(min(wait, maxLookWait))*time.Millisecond, func() {
		s.post(func() {
			t.lookSet = false
			if t.due != noDue && !t.gone {
				s.lookAhead(t, t.due)
			}
		})
	})
}

// maxLookWait keeps a wait in ms within what a Duration holds.
const maxLookWait = int64(time.Hour / time.Millisecond)

// look runs ahead in the background.
func (s *scheduler) look(t *task) {
	now := s.now()
	t.looked = now
	if t.both.Load() && now-t.metAt.Load() > bothFor.Milliseconds() {
		t.both.Store(false)
	}
	s.goroutines.Add(1)
	go func() {
		defer s.goroutines.Done()
		ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
		defer cancel()
		s.seeAhead(ctx, t)
	}()
}

// lookFirst looks before the first transfer of a connection: nobody knows what was
// offered before.
func (s *scheduler) lookFirst(t *task) {
	ctx, cancel := context.WithTimeout(s.ctx, transferTimeout)
	defer cancel()
	s.seeAhead(ctx, t)
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
