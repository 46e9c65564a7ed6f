package dq

import (
	"errors"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

// ended takes the result of a transfer. Announcements during the transfer stay
// valid: the reply may be older.
func (s *scheduler) ended(t *task, m moved, err error, took time.Duration) {
	t.running = false
	s.observe(t, m, err, took)
	s.place(t)
	switch {
	case err != nil:
		t.failed.Store(&err)
		if errors.Is(err, ErrForeignMember) {
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

// foreignRetry is how soon a transfer is tried again that met a member of the other layout. It has pushed the values before
// that one, and does so at each try.
const foreignRetry = 5 * time.Second

func (s *scheduler) observe(t *task, m moved, err error, took time.Duration) {
	queue := t.names.Destination
	if m.refused != nil && !t.redisson {
		t.redisson = true
		s.client.tell(Restricted{Queue: queue, Err: m.refused})
	}
	if m.quarantined > 0 {
		s.client.tell(Quarantined{Queue: queue, Key: scripts.Quarantine(queue), Members: m.quarantined})
	}
	event := Transferred{Queue: queue, Took: took, OtherLayout: m.otherLayout, Err: err}
	if err == nil && m.next != noDue {
		event.Next = time.UnixMilli(m.next)
	}
	if err == nil && t.since != noDue {
		event.Late = s.client.clock.Now().Sub(time.UnixMilli(t.since))
	}
	s.client.tell(event)
}
