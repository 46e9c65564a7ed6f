package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// state is what the server holds of a queue.
type state struct {
	destination []string
	pending     []string
	timeouts    []redis.Z // by due time
	other       []string
	quarantine  []redis.Z // what dq could not read, by due time
}

func (s *session) state(ctx context.Context) (st state, err error) {
	var errs [5]error
	st.destination, errs[0] = s.control.LRange(ctx, s.names.Destination, 0, -1).Result()
	st.pending, errs[1] = s.control.LRange(ctx, s.names.Pending, 0, -1).Result()
	st.timeouts, errs[2] = s.control.ZRangeWithScores(ctx, s.names.TimeoutSet, 0, -1).Result()
	st.other, errs[3] = s.control.LRange(ctx, s.other, 0, -1).Result()
	st.quarantine, errs[4] = s.control.ZRangeWithScores(ctx, scripts.Quarantine(s.names.Destination), 0, -1).Result()
	return st, errors.Join(errs[:]...)
}

// members returns those of the timeout set, by due time.
func (st state) members() []string {
	members := make([]string, len(st.timeouts))
	for i, z := range st.timeouts {
		members[i], _ = z.Member.(string)
	}
	return members
}

// equal reports whether nothing has changed.
func (st state) equal(other state) bool {
	return slices.Equal(st.destination, other.destination) && slices.Equal(st.pending, other.pending) &&
		slices.Equal(st.timeouts, other.timeouts) && slices.Equal(st.other, other.other) &&
		slices.Equal(st.quarantine, other.quarantine)
}

func (st state) String() string {
	return fmt.Sprintf("destination %q, pending %q, timeouts %q, other %q, quarantine %v",
		st.destination, st.pending, st.members(), st.other, st.quarantine)
}

// checkMembers checks that the queue holds exactly these values, offered in this
// order, each packed in the layout, the same bytes in list and set.
func (st state) checkMembers(layout wire.Layout, values []string) error {
	var got []string
	ids := map[[8]byte]bool{}
	for i, member := range st.pending {
		m, err := layout.Unpack([]byte(member))
		if err != nil {
			return fmt.Errorf("element %d of the pending list: %w", i, err)
		}
		if ids[m.ID] {
			return fmt.Errorf("element %d of the pending list: the id %x was used before", i, m.ID)
		}
		ids[m.ID] = true
		got = append(got, string(m.Value))
	}
	if !slices.Equal(got, values) {
		return fmt.Errorf("the pending list: expected the values %.300q, got %.300q", values, got)
	}
	if list, set := slices.Sorted(slices.Values(st.pending)), slices.Sorted(slices.Values(st.members())); !slices.Equal(list, set) {
		return fmt.Errorf("expected the same members in list and set, got %.300q and %.300q", list, set)
	}
	return nil
}

// checkEmpty checks that nothing is left anywhere.
func (s *session) checkEmpty(ctx context.Context) error {
	st, err := s.state(ctx)
	if err == nil && !st.equal(state{}) {
		err = fmt.Errorf("expected nothing to be left, got %.600s", st)
	}
	return err
}

// comeDue gives all members due times in the past, 1 ms apart. first says which
// member of the pending list comes first, then the next, around its end. It stands
// for waiting an hour; nobody is told.
func (s *session) comeDue(ctx context.Context, first int) error {
	pending, err := s.control.LRange(ctx, s.names.Pending, 0, -1).Result()
	if err != nil {
		return err
	}
	rotated := slices.Concat(pending[first:], pending[:first])
	scores := make([]redis.Z, len(rotated))
	for i, member := range rotated {
		scores[i] = redis.Z{Score: float64(i + 1), Member: member}
	}
	changed, err := s.control.ZAddArgs(ctx, s.names.TimeoutSet, redis.ZAddArgs{XX: true, Ch: true, Members: scores}).Result()
	if err == nil && int(changed) != len(scores) {
		err = fmt.Errorf("expected %d members in the timeout set, found %d", len(scores), changed)
	}
	return err
}
