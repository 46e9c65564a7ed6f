package interop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// mixedCases are those of two sides across 3.21.1. A reader of one layout meets members
// that it cannot read, and what it does then is a failure that has happened in
// production; dq reads both, unless it is told to be faithful.
func mixedCases(a, b Side) []Case {
	cases := []Case{
		{
			ID: "mixed/transfer",
			Requirement: "dq transfers what is due of both layouts, each value once and in the order of the due times. " +
				"A reader of one layout stops at the first foreign member: nothing behind it comes, and what is due before it comes again at each retry, without end.",
			run: byReader(transfersBoth, transferStops),
		},
		{
			ID: "mixed/unreadable",
			Requirement: "A due member that neither layout reads is set aside by dq, in the quarantine and with its score, and all else is delivered once. " +
				"A reader of one layout stops at it as at a foreign one.",
			run: byReader(unreadableIsSetAside, unreadableStops),
		},
		{
			ID: "mixed/poll",
			Requirement: "A poll, a poll with a limit and a pollLastAndOfferFirstTo are scripts of Redisson, and fail at a foreign member; " +
				"the element is gone.",
			run: pollDestroys,
		},
		{
			ID: "mixed/reads",
			Requirement: "Every other script of Redisson that meets a foreign member fails and changes nothing. " +
				"dq removes a value of either layout, unless it is told to be faithful.",
			run: byReader(removesBothLayouts, readsRefuse),
		},
		{
			ID:          "mixed/destination-is-the-same",
			Requirement: "Values that are in the destination queue have no layout: each side takes what the other side has transferred.",
			run:         destinationIsTheSame,
		},
	}
	if a.readsBoth() || b.readsBoth() {
		cases = append(cases, mixedFloods()...)
	}
	return cases
}

type steps = func(ctx context.Context, s *session, writer, reader Side) error

// byReader chooses by what the reader reads: both layouts, or one.
func byReader(both, one steps) steps {
	return func(ctx context.Context, s *session, writer, reader Side) error {
		if reader.readsBoth() {
			return both(ctx, s, writer, reader)
		}
		return one(ctx, s, writer, reader)
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

// unreadable is no member of either layout, and one that the transfer script of each
// release fails at.
const unreadable = "damaged"

// leaveUnreadable puts it into list and set, as an offer does.
func (s *session) leaveUnreadable(ctx context.Context) error {
	due := float64(time.Now().Add(farAway).UnixMilli())
	return errors.Join(
		s.control.RPush(ctx, s.names.Pending, unreadable).Err(),
		s.control.ZAdd(ctx, s.names.TimeoutSet, redis.Z{Score: due, Member: unreadable}).Err())
}

// leave is one step by which a backlog comes to be.
type leave func(context.Context) error

// leaveBacklog leaves values behind, all due in the order of the steps but for the
// first ones, which come due last.
func (s *session) leaveBacklog(ctx context.Context, first int, steps ...leave) (state, error) {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return state{}, err
		}
	}
	if err := s.comeDue(ctx, first); err != nil {
		return state{}, err
	}
	return s.state(ctx)
}

// own and foreign are the steps by which the reader and the writer leave values.
func (s *session) own(reader Side, values ...string) leave {
	return func(ctx context.Context) error { return s.leaveOwn(ctx, reader, values...) }
}

func (s *session) foreign(writer, reader Side, v string) leave {
	return func(ctx context.Context) error { return s.leaveForeign(ctx, writer, reader, v) }
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
