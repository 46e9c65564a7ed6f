package migrate

import (
	"context"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// survey reads the queue. The Index knows afterwards which members are not listed,
// unless the Survey is unsure.
func (m *move) survey(ctx context.Context) (Survey, *forensics.Index, error) {
	s := Survey{Layouts: map[string]int{}}
	timed := forensics.NewIndex(0)
	err := m.reader.TimeoutSet(ctx, func(chunk []redis.Z) error {
		for _, z := range chunk {
			member := z.Member
			timed.Add(member)
			form := forensics.Unpack([]byte(member), m.options.To).Form
			s.Layouts[form.String()]++
			s.TimeoutSet++
			switch {
			case form == forensics.Unreadable:
				s.Unreadable++
			case !form.Reads(m.options.To):
				s.Members++
			}
		}
		return nil
	})
	if err != nil {
		return s, nil, err
	}
	difference, err := forensics.Compare(ctx, m.reader, timed, func(index int, entry string) {
		if index == 0 {
			s.PendingList, s.Entries = 0, 0 // the walk was begun anew
		}
		s.PendingList++
		if rewritable(entry, m.options.To) {
			s.Entries++
		}
	})
	for form, n := range difference.Ghosts.Forms {
		if form != forensics.Unreadable && !form.Reads(m.options.To) {
			s.rewritableGhosts += n
		}
	}
	s.unreadableOrphans = difference.Orphans.Forms[forensics.Unreadable]
	s.Ghosts, s.Orphans, s.Unsure = difference.Ghosts.Count, difference.Orphans.Count, difference.Lost || difference.Deep
	return s, timed, err
}

// rewritable reports whether a member is of the other layout, or packed on Windows.
func rewritable(member string, to wire.Layout) bool {
	form := forensics.Unpack([]byte(member), to).Form
	return form != forensics.Unreadable && !form.Reads(to)
}
