package interop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// mixedFloods are the cases in which both sides of a mixed fleet offer and transfer at
// once, and one of them at least is a dq that reads both layouts.
//
// Nothing is lost in them, but some may come twice. A Redisson that meets a foreign
// member fails, and tries again in 5 s; what its batch held before that member it has
// pushed and left in the timeout set, and dq, which cannot know, delivers it too. dq's
// timers are finer than Redisson's, so that it is first nearly always. Members that
// come due in the same millisecond are in the order of their bytes: those of 3.21.1 and
// later, which begin with an 8, before nearly all others. So a Redisson since 3.21.1
// finds up to a whole batch of its own in front, and an older one nearly none.
func mixedFloods() []Case {
	return []Case{
		{
			ID: "mixed/spread-out",
			Requirement: "Of 400 messages with delays of 1 s to 3 s, offered by both sides while both transfer, each comes, and with dq on both sides once. " +
				"Beside a Redisson too none was seen twice, but that is not certain: its own transfer may be first.",
			symmetric: true,
			run:       spreadOut,
		},
		{
			ID: "mixed/one-instant",
			Requirement: "Of 400 messages that both sides offer for one instant, more than one transfer takes, each comes. " +
				"Where a Redisson's transfer comes in between those of dq, what it pushes before it fails comes twice: up to 100 each time.",
			symmetric: true,
			run:       atOneInstant,
		},
		{
			ID: "mixed/without-notice",
			Requirement: "Of 400 messages with delays of at most 20 ms, which leave hardly any time to look ahead, each comes. " +
				"A few come twice, because a Redisson transfers at once what is due within 10 ms: 0 to 4 were seen.",
			symmetric: true,
			run:       withoutNotice,
		},
	}
}

// mixedMessages is how many messages each side of a mixed fleet offers.
const mixedMessages = 200

// delays returns the delay of an offer that is made now.
type delays func() time.Duration

// between are random delays.
func between(earliest, latest time.Duration) delays {
	return func() time.Duration { return earliest + time.Duration(rand.Int64N(int64(latest-earliest))) }
}

// spreadOut has both sides offer and transfer, with time enough to look ahead. Two dq
// deliver each message once then.
func spreadOut(ctx context.Context, s *session, a, b Side) error {
	again, err := s.runMixed(ctx, a, b, between(time.Second, 3*time.Second))
	if err == nil && again > 0 && a.readsBoth() && b.readsBoth() {
		err = errors.New("expected each message once: " + s.note)
	}
	return err
}

// atOneInstant makes batches of both layouts due, more than one transfer takes.
func atOneInstant(ctx context.Context, s *session, a, b Side) error {
	due := time.Now().Add(3 * time.Second)
	_, err := s.runMixed(ctx, a, b, func() time.Duration { return max(0, time.Until(due)) })
	return err
}

// withoutNotice leaves hardly any time to look ahead.
func withoutNotice(ctx context.Context, s *session, a, b Side) error {
	_, err := s.runMixed(ctx, a, b, between(0, 20*time.Millisecond))
	return err
}

// runMixed returns how many messages came more than once.
func (s *session) runMixed(ctx context.Context, a, b Side, delay delays) (again int, err error) {
	var handles []*handle
	for _, side := range []Side{a, b} {
		h, err := s.open(ctx, side)
		if err != nil {
			return 0, err
		}
		handles = append(handles, h)
	}
	failed := make(chan error, len(handles))
	for _, h := range handles {
		go func() { failed <- h.offerMessages(ctx, delay) }()
	}
	err = errors.Join(<-failed, <-failed)
	if err == nil {
		err = s.wait(ctx, "list and set to be empty", func(ctx context.Context) (bool, error) {
			n, err := s.control.Exists(ctx, s.names.Pending, s.names.TimeoutSet).Result()
			return n == 0, err
		})
	}
	// Once both are closed nothing can come any more.
	for _, h := range handles {
		err = errors.Join(err, h.close(ctx))
	}
	if err != nil {
		return 0, err
	}
	return s.countMixed(ctx, handles)
}

func (h *handle) message(i int) string { return fmt.Sprintf("%s %d", h.side, i) }

func (h *handle) offerMessages(ctx context.Context, delay delays) error {
	for i := range mixedMessages {
		if err := h.offer(ctx, text(h.message(i)), delay()); err != nil {
			return err
		}
	}
	return nil
}

// countMixed checks that each message is in the destination, and notes what is there
// more than once.
func (s *session) countMixed(ctx context.Context, handles []*handle) (int, error) {
	st, err := s.state(ctx)
	if err != nil {
		return 0, err
	}
	seen := map[string]int{}
	for _, v := range st.destination {
		seen[v]++
	}
	var missing, again []string
	for _, h := range handles {
		for i := range mixedMessages {
			m := h.message(i)
			switch n := seen[m]; {
			case n == 0:
				missing = append(missing, m)
			case n > 1:
				again = append(again, fmt.Sprintf("%s: %d times", m, n))
			}
		}
	}
	s.note = fmt.Sprintf("of %d messages %d came more than once %.200q", len(handles)*mixedMessages, len(again), again)
	if len(missing) > 0 || len(st.quarantine) > 0 {
		return 0, fmt.Errorf("of %d messages %d did not come (%.200q), and %d were quarantined",
			len(handles)*mixedMessages, len(missing), missing, len(st.quarantine))
	}
	return len(again), nil
}
