package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// shownReasons is how many reasons for which values are refused are shown to people.
const shownReasons = 5

// WriteText shows the recoding to people.
func (r *Recoding) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-13s%s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s from %s to %s\n", text.Line(r.Queue), r.From, r.To)
	if s := r.Subscribers; s.Count > 0 {
		line("subscribers", "%d, whose codec cannot be told from outside", s.Count)
	} else if s.Unknown != "" {
		line("subscribers", "unknown: %s", s.Unknown)
	}
	line("before", "%s", r.Before)
	switch h := r.Held; {
	case h.Count > 0:
		line("held", "%d more in %s, taken out by dq-bench guard, which delivers them in %s: let it, before this", h.Count, text.Shell(h.Key), r.From)
	case h.Unknown != "":
		line("held", "unknown, in %s: %s", text.Shell(h.Key), text.Line(h.Unknown))
	case r.Before.TimeoutSet+r.Before.PendingList+r.Before.Waiting == 0:
		line("note", "nothing waits: all was taken, or the name of the queue is another")
	}
	if r.ReliableUnknown != "" {
		line("worker", "whether a dq.Worker holds values is unknown: %s", text.Line(r.ReliableUnknown))
	}
	if r.Reserved+r.Dead > 0 {
		line("worker", "%d values that a dq.Worker holds and %d dead letters stay of %s: let them be acknowledged, and requeued or purged, before this",
			r.Reserved, r.Dead, r.From)
	}
	if r.DryRun {
		r.writePlan(line)
	} else {
		r.writeDone(line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Recoding) writePlan(line func(label, format string, args ...any)) {
	v := r.Before
	line("plan", "rewrite %d members and %d entries, and %d delivered values in %s", v.Members, v.Entries, v.WaitingOld, text.Shell(r.Queue))
	if v.Example[0] != "" {
		line("example", "%s becomes %s", text.Line(v.Example[0]), text.Line(v.Example[1]))
	}
	r.writeRefused(line, v)
	line("mind", "from the first rewritten value on, whoever takes with %s loses what it takes: stop all that offer or take here, also those that only take", r.From)
	if r.Refusal != "" {
		line("but", "without --dry-run this would refuse: %s", r.Refusal)
	}
	line("done", "nothing: a dry run")
}

func (r *Recoding) writeRefused(line func(label, format string, args ...any), v Values) {
	for i, refused := range v.Refused[:min(len(v.Refused), shownReasons)] {
		label := "refused"
		if i > 0 {
			label = ""
		}
		line(label, "%s", refused)
	}
	if more := len(v.Refused) - shownReasons; more > 0 {
		line("", "and for %d more reasons, which --json has", more)
	}
	if v.CountRefused() > 0 {
		line("", "refused values stay of %s: a consumer with %s loses them", r.From, r.To)
	}
	if v.Unreadable > 0 {
		line("unreadable", "%d members of neither layout", v.Unreadable)
	}
}

func (r *Recoding) writeDone(line func(label, format string, args ...any)) {
	d := r.Done
	line("rewritten", "%d members and %d entries, and %d delivered values in %d calls, the longest %.1f ms with the way there and back; %d passes, %.1f s",
		d.Members, d.Entries, d.Waiting, d.Batches, d.LongestMS, d.Passes, d.TookMS/1000)
	if r.After == nil {
		return
	}
	line("after", "%s", *r.After)
	r.writeRefused(line, *r.After)
	if left := r.Left(); left != "" {
		line("left", "%s", left)
	}
}

// String says it in a line.
func (v Values) String() string {
	said := fmt.Sprintf("%d members, %d entries, %d delivered values", v.TimeoutSet, v.PendingList, v.Waiting)
	if n := max(v.Members, v.Entries) + v.WaitingOld; n > 0 {
		said += fmt.Sprintf("; %d to rewrite", n)
	}
	if n := v.CountRefused(); n > 0 {
		said += fmt.Sprintf("; %d refused", n)
	}
	return said
}
