package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// writeBeside prints what stood beside the implementation: the server, the processes
// that made the load, and their machine.
func writeBeside(out *bytes.Buffer, r *run.Document) {
	lines := 0
	for _, part := range []struct{ of, text string }{
		{"server", join(", ", serverText(r), slowText(r))},
		{"dq-bench", usageText(r.ToolUsage)},
		{"program", usageText(r.ProgramUsage)},
		{"machine", join("; ", sharedText(r), busyText(r), hiccupText(r), lateText(r), stealText(r))},
	} {
		if part.text != "" {
			fmt.Fprintf(out, "%s: %s\n", part.of, part.text)
			lines++
		}
	}
	if lines > 0 {
		out.WriteByte('\n')
	}
}

// besideFields are the same in the table of the page.
var besideFields = []configField{
	{"Beside it", "server", slowText},
	{"", "dq-bench", func(r *run.Document) string { return usageText(r.ToolUsage) }},
	{"", "program", func(r *run.Document) string { return usageText(r.ProgramUsage) }},
	{"", "machine", func(r *run.Document) string { return join("; ", sharedText(r), busyText(r), hiccupText(r)) }},
	{"", "late messages", lateText},
	{"", "steal", stealText},
}

// The texts are empty where the run does not tell.

func serverText(r *run.Document) string {
	s := r.ServerStats
	switch {
	case s == nil:
		return ""
	default:
		return fmt.Sprintf("%s transfer calls per message, %d commands, %s s CPU%s",
			run.FormatFloat(s.TransferCallsPerMessage), s.Commands, run.FormatFloat(s.CPUSeconds), shareText(s.CPUShare, "a processor"))
	}
}

func slowText(r *run.Document) string {
	if r.ServerStats == nil || r.ServerStats.SlowCommands == nil {
		return ""
	}
	return plural(*r.ServerStats.SlowCommands, "slow command")
}

func usageText(u *run.ToolUsage) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("%.3g s CPU%s, %s in pauses of the collector",
		u.CPUSeconds, shareText(u.CPUShare, "its processors"), run.FormatNs(int64(u.GCPauseSeconds*1e9)))
	if u.SchedulingP99 > 0 {
		text += ", scheduling p99 " + run.FormatNs(u.SchedulingP99)
	}
	return text
}

// shareText is how much of something was used while messages were offered.
func shareText(share float64, of string) string {
	if share == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% of %s during the offers)", 100*share, of)
}

func sharedText(r *run.Document) string {
	if r.Beside == nil {
		return ""
	}
	return fmt.Sprintf("shared by %d sides at the same time", r.Beside.Sides)
}

func busyText(r *run.Document) string {
	if r.Machine == nil || r.Machine.BusyShare == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %% busy during the offers", 100*r.Machine.BusyShare)
}

func hiccupText(r *run.Document) string {
	switch {
	case r.Machine == nil:
		return ""
	case r.Machine.Hiccups.Count == 0:
		return fmt.Sprintf("no hiccup of %d ms or more", run.HiccupBound.Milliseconds())
	default:
		h := r.Machine.Hiccups
		return fmt.Sprintf("%s of %d ms or more (longest %s, %.1f %% of the time)",
			plural(h.Count, "hiccup"), run.HiccupBound.Milliseconds(), run.FormatNs(h.LongestNs), 100*h.Share)
	}
}

// lateText is empty too where there was no hiccup to be held up by.
func lateText(r *run.Document) string {
	switch {
	case r.Machine == nil || r.Machine.Late == nil || r.Machine.Hiccups.Count == 0:
		return ""
	case r.Machine.Late.Messages == 0:
		return fmt.Sprintf("no message came %d ms late", run.LateBound.Milliseconds())
	default:
		return fmt.Sprintf("%d of the latest %s came in one", r.Machine.Late.InHiccups, plural(r.Machine.Late.Messages, "message"))
	}
}

func stealText(r *run.Document) string {
	if r.Machine == nil || r.Machine.StealSeconds == nil {
		return ""
	}
	return fmt.Sprintf("steal %.1f s", *r.Machine.StealSeconds)
}

// plural is a number of things.
func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// join leaves out what is empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}
