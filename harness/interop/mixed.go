package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// mixedCases are those of two sides across 3.21.1, where each release meets
// members that it cannot read. What fails here has failed so in production.
func mixedCases() []Case {
	return []Case{
		{
			ID: "mixed/transfer-stops",
			Requirement: "The transfer stops at the first foreign member and nothing behind it comes. Redisson delivers what is due before it again at each " +
				"retry, without end; dq delivers it once more at most and then only waits.",
			run: transferStops,
		},
		{
			ID:          "mixed/poll-destroys",
			Requirement: "A poll, a poll with a limit and a pollLastAndOfferFirstTo that meet a foreign member fail, and the element is gone.",
			run:         pollDestroys,
		},
		{
			ID:          "mixed/reads-refuse",
			Requirement: "Every other call that meets a foreign member fails and changes nothing.",
			run:         readsRefuse,
		},
		{
			ID:          "mixed/destination-is-the-same",
			Requirement: "Values that are in the destination queue have no layout: each side takes what the other side has transferred.",
			run:         destinationIsTheSame,
		},
	}
}

// leaveForeign has a side leave one value behind whose member the release reader
// cannot read. New releases read one old member in 256 by luck: where the lowest
// byte of the double is 7, 'Bc0' takes exactly the rest of it for the id. Such a
// one is offered again.
func (s *session) leaveForeign(ctx context.Context, writer, reader Side, v string) error {
	const luckyByte, tries = 7, 20
	for range tries {
		h, err := s.open(ctx, writer)
		if err != nil {
			return err
		}
		if err := h.offer(ctx, text(v), farAway); err != nil {
			return err
		}
		if err := h.close(ctx); err != nil {
			return err
		}
		member, err := s.control.LIndex(ctx, s.names.Pending, -1).Bytes()
		if err != nil {
			return err
		}
		if _, err := writer.Release.Layout().Unpack(member); err != nil {
			return err
		}
		if reader.Release.Layout() == wire.LayoutDLc0 || member[0] != luckyByte {
			return nil
		}
		err = errors.Join(
			s.control.RPop(ctx, s.names.Pending).Err(),
			s.control.ZRem(ctx, s.names.TimeoutSet, member).Err())
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %d members in a row begin with %d", writer, tries, luckyByte)
}

// leaveOwn has a side leave values behind that it can read itself.
func (s *session) leaveOwn(ctx context.Context, side Side, values ...string) error {
	h, err := s.open(ctx, side)
	if err != nil {
		return err
	}
	for _, v := range values {
		if err := h.offer(ctx, text(v), farAway); err != nil {
			return err
		}
	}
	return h.close(ctx)
}

// leaveBacklog leaves own 1, own 2, foreign, own 3 behind, all due.
func (s *session) leaveBacklog(ctx context.Context, writer, reader Side) (state, error) {
	err := s.leaveOwn(ctx, reader, "own 1", "own 2")
	if err == nil {
		err = s.leaveForeign(ctx, writer, reader, "foreign")
	}
	if err == nil {
		err = s.leaveOwn(ctx, reader, "own 3")
	}
	if err == nil {
		err = s.comeDue(ctx, 0)
	}
	if err != nil {
		return state{}, err
	}
	return s.state(ctx)
}

func transferStops(ctx context.Context, s *session, writer, reader Side) error {
	before, err := s.leaveBacklog(ctx, writer, reader)
	if err != nil {
		return err
	}
	watch, err := s.watch(ctx)
	if err != nil {
		return err
	}
	r, err := s.open(ctx, reader)
	if err == nil {
		err = s.waitStopped(ctx, watch, reader)
	}
	if err == nil {
		err = r.close(ctx)
	}
	if err = errors.Join(err, watch.close()); err != nil {
		return err
	}
	after, err := s.state(ctx)
	if err != nil {
		return err
	}
	if reader.repeatsForEver() {
		return checkRepeats(before, after)
	}
	return checkStandstill(before, after)
}

// waitStopped waits until it shows how the reader goes on: by its third transfer
// where it repeats itself, and by three vain ones after it has moved what it
// could otherwise.
func (s *session) waitStopped(ctx context.Context, watch *watch, reader Side) error {
	const enough = 3
	if reader.repeatsForEver() {
		return watch.until(ctx, enough, "zrangebyscore", s.names.TimeoutSet)
	}
	err := s.wait(ctx, "what is before the foreign member to leave the timeout set", func(ctx context.Context) (bool, error) {
		n, err := s.control.ZCard(ctx, s.names.TimeoutSet).Result()
		return n <= 2, err
	})
	if err != nil {
		return err
	}
	return watch.until(ctx, watch.count("zrangebyscore", s.names.TimeoutSet)+enough, "zrangebyscore", s.names.TimeoutSet)
}

// checkRepeats checks for the failure of Redisson: the script has pushed what is
// before the foreign member and taken it out of the list, over and over, but never
// out of the set.
func checkRepeats(before, after state) error {
	rounds := len(after.destination) / 2
	if rounds < 2 || !slices.Equal(after.destination, slices.Repeat([]string{"own 1", "own 2"}, rounds)) {
		return fmt.Errorf("expected own 1 and own 2 to come again and again, got %q", after.destination)
	}
	if !slices.Equal(after.timeouts, before.timeouts) || !slices.Equal(after.pending, before.pending[2:]) {
		return fmt.Errorf("expected a timeout set as before, and a list without its first two, had %s, got %s", before, after)
	}
	return nil
}

// checkStandstill checks that dq has moved what is before the foreign member and
// repeats nothing.
func checkStandstill(before, after state) error {
	count := map[string]int{}
	for _, v := range after.destination {
		count[v]++
	}
	if count["own 1"] > 2 || count["own 2"] > 2 || count["own 1"] < 1 || count["own 2"] < 1 || len(count) != 2 {
		return fmt.Errorf("expected own 1 and own 2 once or twice, got %q", after.destination)
	}
	if !slices.Equal(after.timeouts, before.timeouts[2:]) || !slices.Equal(after.pending, before.pending[2:]) {
		return fmt.Errorf("expected the foreign member and what is behind it to stay, had %s, got %s", before, after)
	}
	return nil
}

func pollDestroys(ctx context.Context, s *session, writer, reader Side) error {
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	for _, poll := range []struct {
		op         string
		capability string
		args       map[string]any
	}{
		{"dq.poll", "dq.poll", nil},
		{"dq.poll", "dq.poll(limit)", map[string]any{"limit": 2}},
		{"dq.pollLastAndOfferFirstTo", "dq.pollLastAndOfferFirstTo", map[string]any{"queue": s.other}},
	} {
		if !reader.Program.Introduction().Can(poll.capability) {
			continue
		}
		if err := s.leaveForeign(ctx, writer, reader, "foreign"); err != nil {
			return err
		}
		if err := r.refused(ctx, poll.op, poll.args); err != nil {
			return err
		}
		if err := s.checkEmpty(ctx); err != nil {
			return fmt.Errorf("after %s: %w", poll.capability, err)
		}
	}
	return nil
}

func readsRefuse(ctx context.Context, s *session, writer, reader Side) error {
	if err := s.leaveForeign(ctx, writer, reader, "foreign"); err != nil {
		return err
	}
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	if err := r.offer(ctx, text("own"), farAway); err != nil {
		return err
	}
	before, err := s.state(ctx)
	if err != nil {
		return err
	}
	value, values := with("own"), map[string]any{"values": texts([]string{"own"})}
	for _, read := range []struct {
		op   string
		args map[string]any
	}{
		{"dq.readAll", nil},
		{"dq.peek", nil},
		{"dq.iterator", nil},
		{"dq.contains", value},
		{"dq.containsAll", values},
		{"dq.remove", value},
		{"dq.removeAll", values},
		{"dq.retainAll", values},
		{"dq.iteratorRemove", map[string]any{"index": 0}},
	} {
		if err := r.refused(ctx, read.op, read.args); err != nil {
			return err
		}
		after, err := s.state(ctx)
		if err != nil {
			return err
		}
		if !after.equal(before) {
			return fmt.Errorf("%s: %s: expected nothing to change, had %s, got %s", r.side, read.op, before, after)
		}
	}
	return nil
}

func destinationIsTheSame(ctx context.Context, s *session, writer, reader Side) error {
	w, err := s.open(ctx, writer)
	if err != nil {
		return err
	}
	r, err := s.openWith(ctx, reader, "string", false)
	if err != nil {
		return err
	}
	for _, v := range offered()[:6] {
		if err := w.offer(ctx, text(v), 0); err != nil {
			return err
		}
		if err := r.expect(ctx, text(v), "q.take", nil); err != nil {
			return err
		}
	}
	return s.checkEmpty(ctx)
}
