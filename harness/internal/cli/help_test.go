package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

const (
	maxHelpLines = 40
	maxExamples  = 3
	// maxFlags is the limit of distinct flags.
	maxFlags = 55
)

// eachCommand calls f with each visible command of our own: completion is cobra's.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			eachCommand(sub, f)
		}
	}
}

func TestHelpFitsAScreen(t *testing.T) {
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			var out bytes.Buffer
			writeHelp(&out, cmd)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			require.LessOrEqual(t, len(lines), maxHelpLines, out.String())
			for _, line := range lines {
				require.LessOrEqual(t, utf8.RuneCountInString(line), helpWidth, line)
			}
			require.LessOrEqual(t, strings.Count(cmd.Example, "\n"), maxExamples-1)
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				_, ok := rowOf(f.Name)
				require.True(t, ok || f.Name == "help", "--%s has no row in flagTable", f.Name)
			})
		})
	})
}

func TestExamplesParse(t *testing.T) {
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			command := line[max(0, strings.Index(line, "dq-bench")):]
			for _, end := range []string{"#", "|", ">"} {
				command, _, _ = strings.Cut(command, " "+end+" ")
			}
			var words []string
			for word := range strings.FieldsSeq(command) {
				words = append(words, strings.Trim(word, "')"))
			}
			if len(words) == 0 || words[0] != "dq-bench" {
				continue
			}
			found, rest, err := newRootCmd().Find(words[1:])
			require.NoError(t, err, line)
			require.NoError(t, found.ParseFlags(rest), line)
			require.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
		}
	})
}

func TestFlagsOnlyGetFewer(t *testing.T) {
	flags := map[string]bool{}
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	})
	delete(flags, "help")
	require.LessOrEqual(t, len(flags), maxFlags)
	for _, row := range flagTable {
		require.True(t, flags[row.name], "no command has --%s", row.name)
	}
}

// reference is docs/reference.md: each command with its text, its examples and its flags, and each flag once.
func reference() string {
	var out strings.Builder
	out.WriteString("# Commands and flags\n\nWritten from the program by `go test ./harness/internal/cli -run Reference -args -update`.\n")
	users := map[string][]string{}
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		var flags []string
		for _, row := range flagTable {
			if cmd.Flags().Lookup(row.name) != nil {
				users[row.name] = append(users[row.name], strings.TrimPrefix(cmd.CommandPath(), "dq-bench "))
				flags = append(flags, "`--"+row.name+"`")
			}
		}
		if !cmd.HasParent() || cmd.Name() == "help" {
			return
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s.\n", cmd.UseLine(), cmd.Short)
		if cmd.Long != "" {
			fmt.Fprintf(&out, "\n%s\n", cmd.Long)
		}
		if cmd.Example != "" {
			fmt.Fprintf(&out, "\n```\n%s\n```\n", cmd.Example)
		}
		if len(flags) > 0 {
			fmt.Fprintf(&out, "\nFlags: %s\n", strings.Join(flags, " "))
		}
	})
	out.WriteString("\n## Flags\n\nThe environment twin of a flag is its default: `DQ_REDIS` for `--redis`. A scenario overrides it, and a flag overrides both.\n\n" +
		"| flag | meaning | commands |\n|---|---|---|\n")
	for _, row := range flagTable {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", strings.TrimSpace("--"+row.name+" "+row.arg), row.help, strings.Join(users[row.name], ", "))
	}
	out.WriteString("\nExit codes: 0 fine; 1 the environment or an input file cannot serve; 2 wrong usage; 99 the thing under test failed.\n")
	return out.String()
}

func TestReferenceIsCurrent(t *testing.T) {
	const path = "../../../docs/reference.md"
	if *updateSchemas {
		require.NoError(t, os.WriteFile(path, []byte(reference()), 0o644))
	}
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, reference(), string(is), "write it by: go test ./harness/internal/cli -run Reference -args -update")
}
