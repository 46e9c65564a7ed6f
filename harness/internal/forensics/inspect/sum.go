package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
)

// What the two sides of Redisson 3.21.1 are called.
const (
	oldReleases = "to 3.21.0"
	newReleases = "from 3.21.1"
)

// writtenBy says which releases pack members of a form.
func writtenBy(f forensics.Form) string {
	switch f {
	case forensics.DLc0:
		return "2.x and 3.2.0 to 3.21.0"
	case forensics.Bc0Lc0:
		return "3.21.1 and newer"
	case forensics.DLc0Windows:
		return "2.x and 3.2.0 to 3.21.0, on a Redis for Windows"
	case forensics.Bc0Lc0Windows:
		return "3.21.1 and newer, on a Redis for Windows"
	}
	return "no Redisson"
}

// sum makes what was counted into the document.
func (l *look) sum() {
	c, q := l.census, &l.q
	for _, form := range forensics.Forms {
		if n := c.forms[form]; n > 0 {
			q.Layouts = append(q.Layouts, Layout{form.String(), writtenBy(form), n})
		}
	}
	for kind, n := range c.kinds {
		q.Values = append(q.Values, Value{kind.Codec, kind.Class, n})
	}
	slices.SortFunc(q.Values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Codec, b.Codec), cmp.Compare(a.Class, b.Class))
	})
	q.Samples = append(q.Samples, c.first...)
	q.Head = c.head
	q.Counts.Unlisted = int64(l.diff.Unlisted)
	q.Counts.Ghosts, q.Counts.Orphans, q.Counts.Again = l.diff.Ghosts.Count, l.diff.Orphans.Count, l.diff.Again.Count
	q.Counts.Unreadable = c.forms[forensics.Unreadable]
	q.Counts.Foreign = l.foreign()
	q.Redisson = []Side{c.sides[0].side(oldReleases, int(c.neverN())), c.sides[1].side(newReleases, int(c.neverN()))}
}

// foreign is how many members are of the other layout than that of the release that the
// queue is meant for; without one, of the layout that fewer are of.
func (l *look) foreign() int {
	old, recent := l.census.forms[forensics.DLc0], l.census.forms[forensics.Bc0Lc0]
	switch {
	case l.options.Release == nil:
		return min(old, recent)
	case l.options.Release.Layout() == wire.LayoutDLc0:
		return recent
	}
	return old
}

// side is what one side does; never is how many are never due.
func (s sideCensus) side(releases string, never int) Side {
	side := Side{Releases: releases, Layout: s.layout.String(), Delivers: s.reads, ReadsWrong: s.wrong, StopsAt: s.stop, Never: never}
	if s.stop != nil {
		side.Never += s.behind + 1
		if s.overdue {
			side.Repeats = s.reads % transferLimit
		}
	}
	side.Text = side.text(s.overdue)
	return side
}

func (s Side) text(overdue bool) string {
	wrong := ""
	if s.ReadsWrong > 0 {
		wrong = fmt.Sprintf(", %s of them as something else than was offered", count(int64(s.ReadsWrong)))
	}
	switch {
	case s.StopsAt == nil && s.Never > 0:
		return "delivers " + members(s.Delivers) + wrong + "; never due: " + members(s.Never)
	case s.StopsAt == nil && s.Delivers == 0:
		return "has nothing to deliver"
	case s.StopsAt == nil:
		return "delivers all, " + members(s.Delivers) + wrong
	}
	when := "stands still since " + moment(s.StopsAt.DueMS)
	if !overdue {
		when = "stands still from " + moment(s.StopsAt.DueMS) + " on"
	}
	text := when + ": its transfer fails, and again every 5 s"
	if s.Delivers > 0 {
		text = fmt.Sprintf("delivers %s%s, then %s", members(s.Delivers), wrong, text)
	}
	if s.Repeats > 0 {
		text += fmt.Sprintf(", and each time delivers once more what comes before it in its batch, %s", members(s.Repeats))
	}
	return text + "; never delivered: " + members(s.Never)
}

// moment shows a due time in Unix ms.
func moment(ms *float64) string {
	switch {
	case ms == nil:
		return "no time"
	case *ms < 0:
		return "before 1970"
	case *ms > lastMS:
		return "after the year 9999"
	}
	return time.UnixMilli(int64(*ms)).UTC().Format("2006-01-02 15:04:05.000 MST")
}

// members shows a number of members.
func members[N int | int64](n N) string {
	if n == 1 {
		return "1 member"
	}
	return count(int64(n)) + " members"
}

// count shows a number with its thousands apart.
func count(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func valueCount(n int64) string {
	if n == 1 {
		return "1 value"
	}
	return count(n) + " values"
}
