package interop

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// What dq does, which reads both layouts.

func transfersBoth(ctx context.Context, s *session, writer, reader Side) error {
	_, err := s.leaveBacklog(ctx, 1,
		s.own(reader, "own 1"), s.foreign(writer, reader, "foreign 1"), s.own(reader, "own 2", "own 3"), s.foreign(writer, reader, "foreign 2"))
	if err != nil {
		return err
	}
	return s.transfersAll(ctx, reader, state{destination: []string{"foreign 1", "own 2", "own 3", "foreign 2", "own 1"}})
}

func unreadableIsSetAside(ctx context.Context, s *session, writer, reader Side) error {
	before, err := s.leaveBacklog(ctx, 0,
		s.own(reader, "own 1"), s.leaveUnreadable, s.foreign(writer, reader, "foreign"), s.own(reader, "own 2"))
	if err != nil {
		return err
	}
	return s.transfersAll(ctx, reader, state{
		destination: []string{"own 1", "foreign", "own 2"},
		quarantine:  []redis.Z{before.timeouts[1]},
	})
}

// transfersAll has the reader transfer a backlog, and checks what that leaves.
func (s *session) transfersAll(ctx context.Context, reader Side, want state) error {
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	if err := s.waitDelivered(ctx, len(want.destination)); err != nil {
		return err
	}
	if err := r.close(ctx); err != nil {
		return err
	}
	return s.checkState(ctx, want)
}

// mixedValues are offered in this order, one of them by the writer.
var mixedValues = []string{"first", "middle", "last"}

// offerMixed has the writer offer the value at an index, and the reader the others.
func (s *session) offerMixed(ctx context.Context, writer Side, r *handle, foreign int) error {
	for i, v := range mixedValues {
		var err error
		if i == foreign {
			err = s.leaveForeign(ctx, writer, r.side, v)
		} else {
			err = r.offer(ctx, text(v), farAway)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forEachPlace runs a check with the foreign member at each place of the queue.
func (s *session) forEachPlace(
	ctx context.Context, writer, reader Side, check func(ctx context.Context, r *handle, offer leave) error,
) error {
	for foreign, place := range mixedValues {
		// A client that knows of no foreign member yet.
		r, err := s.open(ctx, reader)
		if err != nil {
			return err
		}
		offer := func(ctx context.Context) error { return s.offerMixed(ctx, writer, r, foreign) }
		if err := check(ctx, r, offer); err != nil {
			return fmt.Errorf("with the foreign member %s: %w", place, err)
		}
		if err := r.close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkState checks all that the server holds of the queue.
func (s *session) checkState(ctx context.Context, want state) error {
	got, err := s.state(ctx)
	if err == nil && !got.equal(want) {
		err = fmt.Errorf("expected %s, got %s", want, got)
	}
	return err
}

func removesBothLayouts(ctx context.Context, s *session, writer, reader Side) error {
	err := s.forEachPlace(ctx, writer, reader, func(ctx context.Context, r *handle, offer leave) error {
		if err := offer(ctx); err != nil {
			return err
		}
		if err := r.expect(ctx, false, "dq.remove", with("absent")); err != nil {
			return err
		}
		for _, v := range mixedValues {
			if err := r.expect(ctx, true, "dq.remove", with(v)); err != nil {
				return err
			}
		}
		return s.checkEmpty(ctx)
	})
	if err != nil {
		return err
	}
	return readsRefuse(ctx, s, writer, reader)
}
