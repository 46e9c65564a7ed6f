package dq

import (
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
)

// ended takes the result of a transfer. What was announced while it ran stays
// valid: the reply may be older.
func (s *scheduler) ended(t *task, m moved, err error, took time.Duration) {
	t.running = false
	s.observe(t, m, err, took)
	announced := t.due
	s.setDue(t, announced)
	switch {
	case err != nil:
		s.failedTransfer(t, err)
	default:
		t.since = noDue
		t.retry.Reset()
		if t.stands && !t.again {
			s.becomeReady(t)
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

// failedTransfer arranges the next try. One that met a foreign member under
// WithStrictWire has pushed the values before it, and does so at each try: then
// Redisson's pace is the gentler one.
func (s *scheduler) failedTransfer(t *task, err error) {
	s.setFailed(t, err)
	if s.client.faithful || isForeign(err) {
		s.announce(t, s.now()+faithfulRetryAfter.Milliseconds())
		return
	}
	s.setDue(t, s.now()+t.retry.Next().Milliseconds())
}

func (s *scheduler) becomeReady(t *task) {
	select {
	case <-t.ready:
	default:
		close(t.ready)
	}
}

func (s *scheduler) observe(t *task, m moved, err error, took time.Duration) {
	queue := t.names.Destination
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
