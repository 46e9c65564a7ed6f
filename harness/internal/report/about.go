package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// machines says what the server, the load generator and their machine did meanwhile.
func machines(sets []compare.Set) Table {
	return ofWords("machine", "Server and machine meanwhile", sets, len(sets) > 1, []row{
		{"server", each(serverUse)},
		{"dq-bench", each(func(r *run.Document) string { return usage(r.ToolUsage) })},
		{"program", each(func(r *run.Document) string { return usage(r.ProgramUsage) })},
		{"machine", each(machineUse)},
		{"order", each(orderOf)},
		{"late offers", each(func(r *run.Document) string {
			if o := r.Offers; o != nil && o.LateForSystem+o.LateForMachine+o.LateForTool+o.Unsent > 0 {
				return fmt.Sprintf("%d waited for answers, %d for the machine, %d for the tool; %d were never made", o.LateForSystem, o.LateForMachine, o.LateForTool, o.Unsent)
			}
			return ""
		})},
	})
}

func orderOf(r *run.Document) string {
	switch o := r.Order; {
	case o == nil:
		return ""
	case o.Inversions == 0:
		return "every message in the order of due times"
	default:
		return fmt.Sprintf("%s behind later ones, %d of one producer, at most %s", text.Plural(o.Inversions, "message"), o.OfOneProducer, run.FormatNs(o.LongestNs))
	}
}

func serverUse(r *run.Document) string {
	s := r.ServerStats
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s transfer calls per message, %d commands, %s s CPU%s",
		plan.FormatFloat(s.TransferCallsPerMessage), s.Commands, plan.FormatFloat(s.CPUSeconds), share(s.CPUShare, "a processor"))
}

func usage(u *run.ToolUsage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%.3g s CPU%s, %s in pauses of the collector", u.CPUSeconds, share(u.CPUShare, "its processors"), run.FormatNs(int64(u.GCPauseSeconds*1e9)))
}

// share says how much of something was used while messages were offered.
func share(share float64, of string) string {
	if share == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% of %s during the offers)", 100*share, of)
}

func machineUse(r *run.Document) string {
	var parts []string
	if r.Beside != nil {
		parts = append(parts, fmt.Sprintf("shared by %d sides at the same time", r.Beside.Sides))
	}
	m := r.Machine
	if m == nil {
		return strings.Join(parts, "; ")
	}
	if m.BusyShare > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% busy during the offers", 100*m.BusyShare))
	}
	bound := run.HiccupBound.Milliseconds()
	if h := m.Hiccups; h.Count == 0 {
		parts = append(parts, fmt.Sprintf("no hiccup of %d ms or more", bound))
	} else {
		parts = append(parts, fmt.Sprintf("%s of %d ms or more (longest %s, %.1f %% of the time)", text.Plural(h.Count, "hiccup"), bound, run.FormatNs(h.LongestNs), 100*h.Share))
		switch {
		case m.Late == nil:
		case m.Late.Messages == 0:
			parts = append(parts, fmt.Sprintf("no message came %d ms late", run.LateBound.Milliseconds()))
		default:
			parts = append(parts, fmt.Sprintf("latest messages during a hiccup: %d of %d", m.Late.InHiccups, m.Late.Messages))
		}
	}
	if m.StealSeconds != nil {
		parts = append(parts, fmt.Sprintf("steal %.1f s", *m.StealSeconds))
	}
	return strings.Join(parts, "; ")
}

// setting is the text of a setting of a plan; empty without one.
func setting(f plan.Field, r *run.Document) string {
	if text := f.Text(r.Scenario); text != "0" {
		return text
	}
	return ""
}

// configuration is the request and the servers and programs that ran.
func configuration(sets []compare.Set) Table {
	rows := []row{
		{"implementation", each(func(r *run.Document) string { return r.Driver.String() })},
		{"scenario", each(func(r *run.Document) string { return r.Scenario.Name })},
		{"messages planned", each(func(r *run.Document) string { return strconv.FormatInt(r.Scenario.Messages, 10) })},
	}
	for _, f := range plan.Fields {
		rows = append(rows, row{f.Key, each(func(r *run.Document) string { return setting(f, r) })})
	}
	return ofWords("configuration", "Configuration", sets, true, append(rows, []row{
		{"agents", each(func(r *run.Document) string { return strings.TrimPrefix(strconv.Itoa(r.Agents), "0") })},
		{"server", each((*run.Document).ServerText)},
		{"server address", each((*run.Document).ServerAddress)},
		{"machine", each(func(r *run.Document) string {
			if e := r.Environment; e.OS != "" {
				return fmt.Sprintf("%s/%s, %d CPUs, %s, GOMAXPROCS %d", e.OS, e.Arch, e.CPUs, e.GoVersion, e.GOMAXPROCS)
			}
			return ""
		})},
		{"labels", each(labelsOf)},
		{"tool", each(func(r *run.Document) string { return strings.TrimSpace(r.Tool.Name + " " + r.Tool.Version) })},
		{"started", each(func(r *run.Document) string { return r.Started.UTC().Format(time.DateTime) + " UTC" })},
		{"took", each(func(r *run.Document) string { return plan.FormatFloat(r.ElapsedSeconds) + " s" })},
		{"run", each(func(r *run.Document) string { return r.RunID })},
	}...))
}

// ofWords is perSet for texts.
func ofWords(id, title string, sets []compare.Set, pageOnly bool, rows []row) Table {
	t := perSet(id, title, drawn(sets), rows)
	if t.PageOnly, t.Wraps, t.Words = pageOnly, true, len(t.Head); len(sets) == 1 {
		t.Head[1] = ""
	}
	return t
}

// each has the values of a set's runs.
func each(of func(*run.Document) string) func(compare.Set) Cell {
	return func(s compare.Set) Cell {
		var values []string
		for _, r := range s.Runs {
			if v := of(r); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		return Cell{Text: between(values)}
	}
}
