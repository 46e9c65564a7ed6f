package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// WriteText shows the migration to people.
func (m *Migration) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-13s%s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s to %s\n", text.Line(m.Queue), m.To)
	if s := m.Subscribers; s.Count > 0 {
		line("subscribers", "%d, whose layout cannot be told from outside", s.Count)
	} else if s.Unknown != "" {
		line("subscribers", "unknown: %s", s.Unknown)
	}
	line("before", "%s", m.Before)
	switch h := m.Held; {
	case h.Count > 0:
		line("held", "%d more in %s, taken out by dq-bench guard: %s delivers them when they are due", h.Count, text.Shell(h.Key), forensics.Command("guard", m.Queue))
	case h.Unknown != "":
		line("held", "unknown, in %s: %s", text.Shell(h.Key), text.Line(h.Unknown))
	case m.Before.TimeoutSet+m.Before.PendingList == 0:
		line("note", "nothing waits: all was delivered, or the name of the queue is another")
	}
	if m.DryRun {
		m.writePlan(line)
	} else {
		m.writeDone(line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (m *Migration) writePlan(line func(label, format string, args ...any)) {
	s := m.Before
	entries := s.Entries
	if m.Repair {
		entries -= s.rewritableGhosts
	}
	line("plan", "rewrite %d members and %d entries", s.Members, entries)
	const also = "    and"
	switch {
	case m.Repair:
		line(also, "move %d ghosts to %s", s.Ghosts, text.Shell(m.Ghosts))
		line(also, "put %d orphans at the end of the list", s.Orphans-s.unreadableOrphans)
		line(also, "move %d unreadable members to %s", s.Unreadable, text.Shell(m.Quarantine))
	case s.Ghosts+s.Orphans+s.Unreadable > 0:
		line(also, "leave %d ghosts, %d orphans and %d unreadable members, which --repair is for", s.Ghosts, s.Orphans, s.Unreadable)
	}
	if m.Refusal != "" {
		line("but", "without --dry-run this would refuse: %s", m.Refusal)
	}
	line("done", "nothing: a dry run")
}

func (m *Migration) writeDone(line func(label, format string, args ...any)) {
	d := m.Done
	line("rewritten", "%d members and %d entries in %d calls, the longest %.1f ms with the way there and back; %d passes, %.1f s",
		d.Members, d.Entries, d.Batches, d.LongestMS, d.Passes, d.TookMS/1000)
	for _, repaired := range []struct {
		n    int
		what string
	}{
		{d.GhostsRemoved, "ghosts moved to " + text.Shell(m.Ghosts)},
		{d.Relisted, "orphans put at the end of the list"},
		{d.Quarantined, "unreadable members moved to " + text.Shell(m.Quarantine)},
	} {
		if repaired.n > 0 {
			line("repaired", "%d %s", repaired.n, repaired.what)
		}
	}
	if m.After == nil {
		return
	}
	line("after", "%s", *m.After)
	if left := m.After.Left(); left != "" {
		line("left", "%s", left)
	}
}

// String says it in a line.
func (s Survey) String() string {
	said := fmt.Sprintf("%d members, %d entries", s.TimeoutSet, s.PendingList)
	for _, form := range forensics.Forms {
		if n := s.Layouts[form.String()]; n > 0 {
			said += fmt.Sprintf("; %d %s", n, form)
		}
	}
	if s.Ghosts+s.Orphans > 0 {
		said += fmt.Sprintf("; %d ghosts, %d orphans", s.Ghosts, s.Orphans)
	}
	return said
}
