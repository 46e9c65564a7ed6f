package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// sharingCases are those of two sides that pack members alike.
func sharingCases() []Case {
	return []Case{
		{
			ID:          "interop/offer-take",
			Requirement: "What one side offers, the other side takes, in the order of the due times, while both have a transfer task.",
			run:         offerTake,
		},
		{
			ID: "interop/transfer",
			Requirement: "Members that one side has left behind are those of its release byte for byte, in list and set, and the other side " +
				"transfers all of them when it starts, more than one batch, in the order of their due times.",
			run: transferTheOthers,
		},
		{
			ID:          "interop/announcement",
			Requirement: "An offer reaches the other side's transfer task by its announcement, so that the message comes when the offering side is gone.",
			run:         announcement,
		},
		{
			ID:          "interop/removal",
			Requirement: "What one side offers, the other side finds, reads, removes and polls before its time.",
			run:         removal,
		},
		{
			ID:          "interop/equal-values",
			Requirement: "Of two equal values, one from each side, a removal takes the one offered first, and the other one is still delivered.",
			run:         equalValues,
		},
		{
			ID:          "interop/both-at-once",
			Requirement: "Of 1,000 messages with random delays, offered and taken by both sides at once, each comes once and as it was offered.",
			symmetric:   true,
			run:         bothAtOnce,
		},
	}
}

func offerTake(ctx context.Context, s *session, writer, reader Side) error {
	w, err := s.open(ctx, writer)
	if err != nil {
		return err
	}
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	values := []string{"at once", "in 50 ms", "in 100 ms"}
	for i, v := range values {
		if err := w.offer(ctx, text(v), time.Duration(i)*50*time.Millisecond); err != nil {
			return err
		}
	}
	for _, v := range values {
		if err := r.expect(ctx, text(v), "q.take", nil); err != nil {
			return err
		}
	}
	return s.checkEmpty(ctx)
}

// offered are values that an encoding could stumble over, and enough others to
// need two transfers.
func offered() []string {
	values := []string{"plain", "", `{"json":"\"quoted\""}`, "zażółć 漢字 😀", "line\nbreak\x01", strings.Repeat("long", 1000)}
	for i := range 114 {
		values = append(values, fmt.Sprintf("value %d", i))
	}
	return values
}

func transferTheOthers(ctx context.Context, s *session, writer, reader Side) error {
	values := offered()
	if err := s.leaveBehind(ctx, writer, values); err != nil {
		return err
	}
	const first = 7
	if err := s.comeDue(ctx, first); err != nil {
		return err
	}
	inOrder := slices.Concat(values[first:], values[:first])

	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	if err := s.waitDelivered(ctx, len(values)); err != nil {
		return err
	}
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(st.destination, inOrder) || len(st.pending)+len(st.timeouts) > 0 {
		return fmt.Errorf("expected the values in the order of their due times and nothing else, got %.600s", st)
	}
	for _, v := range inOrder {
		if err := r.expect(ctx, text(v), "q.poll", nil); err != nil {
			return err
		}
	}
	return s.checkEmpty(ctx)
}

// leaveBehind has a side offer values that come due much later, and go. Their
// members and due times are checked.
func (s *session) leaveBehind(ctx context.Context, side Side, values []string) error {
	h, err := s.open(ctx, side)
	if err != nil {
		return err
	}
	earliest := time.Now().Add(farAway).UnixMilli()
	for _, v := range values {
		if err := h.offer(ctx, text(v), farAway); err != nil {
			return err
		}
	}
	latest := time.Now().Add(farAway).UnixMilli()
	if err := h.close(ctx); err != nil {
		return err
	}
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	odd := slices.IndexFunc(st.timeouts, func(z redis.Z) bool { return int64(z.Score) < earliest || int64(z.Score) > latest })
	if odd >= 0 {
		return fmt.Errorf("%s: expected a due time between %d and %d, got %.3f", side, earliest, latest, st.timeouts[odd].Score)
	}
	return st.checkMembers(side.Release.Layout(), values)
}

// announcement takes the offering side away while the message waits. When the
// message was faster, it proves nothing, and the next one gets more time.
func announcement(ctx context.Context, s *session, writer, reader Side) error {
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	err = s.wait(ctx, "the reader's subscription", func(ctx context.Context) (bool, error) {
		n, err := s.subscribers(ctx)
		return n == 1, err
	})
	if err != nil {
		return err
	}
	for delay := 2 * time.Second; ; delay *= 3 {
		w, err := s.open(ctx, writer)
		if err != nil {
			return err
		}
		if err := w.offer(ctx, text("wake up"), delay); err != nil {
			return err
		}
		if err := w.close(ctx); err != nil {
			return err
		}
		waiting, err := s.control.ZCard(ctx, s.names.TimeoutSet).Result()
		if err != nil {
			return err
		}
		if err := r.expect(ctx, text("wake up"), "q.take", nil); err != nil {
			return err
		}
		if waiting == 1 {
			return s.checkEmpty(ctx)
		}
	}
}

func removal(ctx context.Context, s *session, writer, reader Side) error {
	values := []string{"a", "b", "c", "d", "e", "f", "g"}
	if err := s.leaveBehind(ctx, writer, values); err != nil {
		return err
	}
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	list := func(v ...string) map[string]any { return map[string]any{"values": texts(v)} }
	steps := []struct {
		op   string
		args map[string]any
		want any
	}{
		{"dq.size", nil, 7},
		{"dq.readAll", nil, texts(values)},
		{"dq.iterator", nil, texts(values)},
		{"dq.peek", nil, text("a")},
		{"dq.contains", with("e"), true},
		{"dq.contains", with("x"), false},
		{"dq.containsAll", list("g"), true},
		{"dq.containsAll", list("x"), false},
		{"dq.remove", with("c"), true},
		{"dq.remove", with("c"), false},
		{"dq.removeAll", list("b", "x"), true},
		{"dq.removeAll", list("x"), false},
		{"dq.iteratorRemove", map[string]any{"index": 1}, text("d")},
		{"dq.poll", nil, text("a")},
		{"dq.pollLastAndOfferFirstTo", map[string]any{"queue": s.other}, text("g")},
		{"dq.readAll", nil, texts([]string{"e", "f"})},
	}
	for _, step := range steps {
		if err := r.expect(ctx, step.want, step.op, step.args); err != nil {
			return err
		}
	}
	return s.checkRemoved(ctx, r)
}

// checkRemoved checks what the removals have left, and then removes the rest.
func (s *session) checkRemoved(ctx context.Context, r *handle) error {
	st, err := s.state(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(st.other, []string{"g"}) {
		return fmt.Errorf("expected the value g in the other list, got %q", st.other)
	}
	// The first variants of remove and removeAll forget the timeout set.
	forgotten := 0
	if script, _ := r.side.Release.Script(wire.ScriptRemove); script.Variant == "remove-v1" {
		forgotten = 2
	}
	if len(st.timeouts) != 2+forgotten {
		return fmt.Errorf("expected %d members in the timeout set, got %q", 2+forgotten, st.members())
	}
	if forgotten == 0 {
		if err := st.checkMembers(r.side.Release.Layout(), []string{"e", "f"}); err != nil {
			return err
		}
	}
	if r.side.Program.Introduction().Can("dq.poll(limit)") {
		err = r.expect(ctx, texts([]string{"e", "f"}), "dq.poll", map[string]any{"limit": 5})
	} else {
		_, err = r.call(ctx, "dq.clear", nil)
	}
	if err != nil {
		return err
	}
	left, err := s.state(ctx)
	if err == nil && len(left.pending)+len(left.destination) > 0 {
		err = fmt.Errorf("expected nothing to be left, got %s", left)
	}
	return err
}

func equalValues(ctx context.Context, s *session, writer, reader Side) error {
	for _, side := range []Side{writer, reader} {
		h, err := s.open(ctx, side)
		if err != nil {
			return err
		}
		if err := h.offer(ctx, text("twin"), farAway); err != nil {
			return err
		}
		if err := h.close(ctx); err != nil {
			return err
		}
	}
	before, err := s.state(ctx)
	if err != nil {
		return err
	}
	if err := before.checkMembers(writer.Release.Layout(), []string{"twin", "twin"}); err != nil {
		return err
	}
	r, err := s.open(ctx, reader)
	if err != nil {
		return err
	}
	if err := r.expect(ctx, text("twin"), "dq.poll", nil); err != nil {
		return err
	}
	after, err := s.state(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(after.pending, before.pending[1:]) || !slices.Equal(after.members(), after.pending) {
		return fmt.Errorf("expected the second member to stay, had %s, got %s", before, after)
	}
	if err := r.close(ctx); err != nil {
		return err
	}
	if err := s.comeDue(ctx, 0); err != nil {
		return err
	}
	w, err := s.open(ctx, writer)
	if err != nil {
		return err
	}
	if err := w.expect(ctx, text("twin"), "q.take", nil); err != nil {
		return err
	}
	return s.checkEmpty(ctx)
}
