package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// What a reader of one layout does: every Redisson, and dq that is told to be faithful
// or strict.

func transferStops(ctx context.Context, s *session, writer, reader Side) error {
	return s.transferStopsAt(ctx, reader, s.foreign(writer, reader, "foreign"))
}

func unreadableStops(ctx context.Context, s *session, _, reader Side) error {
	return s.transferStopsAt(ctx, reader, s.leaveUnreadable)
}

// transferStopsAt has the reader meet own 1, own 2, the obstacle and own 3, all due.
func (s *session) transferStopsAt(ctx context.Context, reader Side, obstacle leave) error {
	before, err := s.leaveBacklog(ctx, 0, s.own(reader, "own 1", "own 2"), obstacle, s.own(reader, "own 3"))
	if err != nil {
		return err
	}
	watch, err := s.watch(ctx)
	if err != nil {
		return err
	}
	r, err := s.open(ctx, reader)
	if err == nil {
		// The third transfer shows that it goes on.
		err = watch.until(ctx, 3, "zrangebyscore", s.names.TimeoutSet)
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
	return checkRepeats(before, after)
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
		if read.op == "dq.remove" && reader.readsBoth() {
			continue
		}
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
