package forensics

import (
	"context"
	"errors"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Difference is where the pending list and the timeout set do not hold the same.
type Difference struct {
	// Ghosts are entries of the list that the set has no member for.
	Ghosts Sample
	// Orphans are members of the set that the list has no entry for.
	Orphans Sample
	// Unlisted is how many members of the set a dq client has taken out of the list, for they
	// are due soon: they are no orphans.
	Unlisted int
	// Again are entries of the list beyond the first of their member.
	Again Sample
	// Unsettled are entries without a member that had moved before they could be looked
	// at again: gone, most likely.
	Unsettled int
	// Lost says that the list changed faster than it could be read, and Deep that it is
	// too long to be read in short calls: nothing else here was judged.
	Lost, Deep bool
}

// Sample is a number of members, and the first few of them. Of the few that fit both layouts,
// Forms has them as Bc0Lc0.
type Sample struct {
	Count int
	First []string
	Forms map[Form]int
}

// sampleSize is how many members a Sample shows.
const sampleSize = 3

func (s *Sample) add(member string) {
	s.Count++
	if s.Forms == nil {
		s.Forms = map[Form]int{}
	}
	s.Forms[Unpack([]byte(member), wire.LayoutBc0Lc0).Form]++
	if len(s.First) < sampleSize {
		s.First = append(s.First, member)
	}
}

// walks is how often the list is begun anew when the way was lost.
const walks = 3

// Compare walks the pending list, and calls visit, which may be nil, with each entry and
// its index. timed holds the members of the timeout set, read before.
//
// What is called a ghost or an orphan was one, also where others offer and transfer
// meanwhile, for a member is never added twice: a ghost was not in the set, and later
// still in the list; an orphan was in the set before and after a walk through all of
// the list that did not meet it. Members offered meanwhile are neither.
func Compare(ctx context.Context, r *Reader, timed *Index, visit func(index int, member string)) (Difference, error) {
	var d Difference
	for try := 1; ; try++ {
		d = Difference{}
		timed.Seal()
		err := r.Pending(ctx, func(first int, members []string) error {
			var unknown []string
			for i, member := range members {
				known, again := timed.See(member)
				switch {
				case !known:
					unknown = append(unknown, member)
				case again:
					d.Again.add(member)
				}
				if visit != nil {
					visit(first+i, member)
				}
			}
			return settleGhosts(ctx, r, &d, first, len(members), unknown)
		})
		switch {
		case errors.Is(err, ErrLost) && try < walks:
			continue
		case errors.Is(err, ErrLost):
			return Difference{Lost: true}, nil
		case errors.Is(err, ErrDeep):
			return Difference{Deep: true}, nil
		case err != nil:
			return d, err
		}
		return d, findOrphans(ctx, r, timed, &d)
	}
}

// settleGhosts judges those of the count entries read from an index on that were not in
// the set when that was read: offered since, gone since, or ghosts.
func settleGhosts(ctx context.Context, r *Reader, d *Difference, first, count int, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	scores, err := r.Scores(ctx, unknown)
	if err != nil {
		return err
	}
	suspects := unknown[:0]
	for i, member := range unknown {
		if scores[i] == nil {
			suspects = append(suspects, member)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	// They are where they were, or some removals nearer to the head.
	start := max(0, first-count)
	entries, err := r.Entries(ctx, start, first-start+count)
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(entries))
	for _, entry := range entries {
		there[entry] = true
	}
	for _, member := range suspects {
		if there[member] {
			d.Ghosts.add(member)
		} else {
			d.Unsettled++
		}
	}
	return nil
}

// findOrphans looks which of the members that the walk did not meet are in the set
// still.
func findOrphans(ctx context.Context, r *Reader, timed *Index, d *Difference) error {
	if timed.CountUnseen() == 0 {
		return nil
	}
	return r.TimeoutSet(ctx, func(chunk []redis.Z) error {
		var unmet []string
		for _, z := range chunk {
			if member := z.Member; timed.Unseen(member) {
				unmet = append(unmet, member)
			}
		}
		return sortOut(ctx, r, d, unmet)
	})
}
