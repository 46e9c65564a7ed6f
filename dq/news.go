package dq

import (
	"strconv"
	"time"
)

// What reaches the scheduler of new members: by the subscription, and from this Client's
// own offers.

func (s *scheduler) acknowledged(channel string) {
	s.postFor(channel, func(t *task) {
		if channel == t.turns.channel {
			t.turns.others = !s.client.clustered // until the server says how many listen
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

// denied handles a subscription that the server refused. Messages in the queue are
// transferred all the same, and offers of this Client; for offers of others it is
// looked at with each new attempt.
func (s *scheduler) denied(channel string, err error) {
	s.postFor(channel, func(t *task) {
		if channel == t.turns.channel {
			t.turns.alone()
			return
		}
		t.failed.Store(&err)
		select {
		case <-t.refused:
		default:
			t.refusal = err
			close(t.refused)
		}
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

// offered takes note of what this Client offered itself, whose delivery does not depend
// on the subscription. Nearly always the task knows of an earlier due time, and nothing
// is to be done.
func (s *scheduler) offered(t *task, due int64) {
	if s.client.strict || due >= t.known.Load() {
		return
	}
	if due = max(due, s.now()+ownGrace.Milliseconds()); due < t.known.Load() {
		s.post(func() { s.announce(t, due) })
	}
}
