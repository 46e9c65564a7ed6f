package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
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
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		writeCommands(w, cmd, group.ID)
	}
	if len(cmd.Groups()) == 0 {
		writeCommands(w, cmd, "")
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
		text := f.Usage
		if def := strings.Trim(f.DefValue, "[]"); def != "" && def != "false" && def != "0s" && !strings.Contains(text, "(default") && !strings.HasPrefix(text, def) {
			text += " (default " + def + ")"
		}
		fmt.Fprint(w, head, columns(fmt.Sprintf("%-8s %-21s ", title, strings.TrimSpace(name+" "+row.arg)), text))
		head = ""
	}
	if !cmd.HasParent() {
		fmt.Fprint(w, "\nAn environment twin gives the default of a flag: DQ_REDIS for --redis.\n"+
			"Exit codes: 0 fine; 1 environment or input file; 2 wrong usage; 99 the thing under test failed.\n")
	}
}

// writeCommands lists the commands of a group.
func writeCommands(w io.Writer, cmd *cobra.Command, group string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.GroupID == group {
			fmt.Fprint(w, columns(fmt.Sprintf("  %-10s ", sub.Name()), sub.Short))
		}
	}
}

// columns puts a text behind its head, with each further line below the first.
func columns(head, text string) string {
	var out strings.Builder
	line := head
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+len([]rune(word)) > helpWidth {
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", len(head))
		}
		line += word + " "
	}
	out.WriteString(strings.TrimRight(line, " ") + "\n")
	return out.String()
}
