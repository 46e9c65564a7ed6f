package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/internal/text"
)

// helpWidth is the widest line of help, in columns.
const helpWidth = 100

// writeHelp prints the help of a command: text, usage, examples, and flags by group.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n", cmd.Short)
	if cmd.Long != "" {
		for paragraph := range strings.SplitSeq(cmd.Long, "\n\n") {
			fmt.Fprint(w, "\n", columns("", paragraph))
		}
	}
	usage := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		usage = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(w, "\nUsage:  %s\n", usage)
	for i, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if sub.GroupID != "" && (i == 0 || sub.GroupID != cmd.Commands()[i-1].GroupID) {
			fmt.Fprintf(w, "\n%s\n", sub.GroupID)
		}
		fmt.Fprint(w, columns(fmt.Sprintf("  %-10s ", sub.Name()), sub.Short))
	}
	if cmd.Example != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.Example)
	}
	head := "\n"
	group := ""
	for _, row := range flagTable {
		f := cmd.Flags().Lookup(row.name)
		if f == nil {
			continue
		}
		title := ""
		if row.group != group {
			title, group = row.group, row.group
		}
		name := "--" + row.name
		if row.short != "" {
			name = "-" + row.short + ", " + name
		}
		usage := f.Usage
		if def := strings.Trim(f.DefValue, "[]"); def != "" && def != "false" && def != "0s" && !strings.Contains(usage, "(default") && !strings.HasPrefix(usage, def) {
			usage += " (default " + def + ")"
		}
		fmt.Fprint(w, head, columns(fmt.Sprintf("%-8s %-21s ", title, strings.TrimSpace(name+" "+row.arg)), usage))
		head = ""
	}
	if !cmd.HasParent() {
		fmt.Fprint(w, "\nAn environment twin gives the default of a flag: DQ_REDIS for --redis.\n"+
			"Exit codes: 0 fine; 1 environment or input file; 2 wrong usage; 99 the thing under test failed.\n")
	}
}

// columns puts a text behind its head, with each further line below the first.
func columns(head, words string) string {
	var out strings.Builder
	text.WrapAt(&out, helpWidth, len(head), head, strings.Join(strings.Fields(words), " "))
	return out.String()
}
