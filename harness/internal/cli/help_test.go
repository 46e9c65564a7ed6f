package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/series"
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

// reference is docs/reference.md: each command with its exit codes, each flag once, the schemas, and what a scenario file has.
func reference(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("# Commands, flags and files\n\nWritten from the program by `go test ./harness/internal/cli -run Reference -args -update`. " +
		"`dq-bench help COMMAND` explains a command.\n\n" +
		"Exit codes: 0 success; 99 the system under test failed; 1 the environment or an input file is broken; 2 wrong usage; 130 a second interrupt.\n" +
		"An interrupted run is judged by its measurements: 0 or 99. `compare` exits with 99 if NEW is worse, `run` does not.\n\n" +
		"|command||\n|-|-|\n")
	users := map[string][]string{}
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		for _, row := range flagTable {
			if cmd.Flags().Lookup(row.name) != nil {
				if user := strings.Fields(cmd.CommandPath())[min(1, strings.Count(cmd.CommandPath(), " "))]; !slices.Contains(users[row.name], user) {
					users[row.name] = append(users[row.name], user) // "queue" for all commands of queue
				}
			}
		}
		if cmd.HasParent() && cmd.Name() != "help" {
			fmt.Fprintf(&out, "|`%s`|%s|\n", tableCell(strings.TrimSuffix(strings.TrimPrefix(cmd.UseLine(), "dq-bench "), " [flags]")), cmd.Short)
		}
	})
	out.WriteString("\n## Flags\n\nThe environment twin of a flag is its default: `DQ_REDIS` for `--redis`. A scenario overrides it, and a flag overrides both. " +
		"`--yes`, `--force`, `--list`, `--allow-changes`, and `--all` and `--where` of `queue` have no twin.\n\n" +
		"|flag|meaning|commands|\n|-|-|-|\n")
	for _, row := range flagTable {
		fmt.Fprintf(&out, "|`%s`|%s|%s|\n", strings.TrimSpace("--"+row.name+" "+row.arg), tableCell(row.help), strings.Join(users[row.name], ", "))
	}
	out.WriteString("\n## JSON documents\n\n`--json` prints one document and nothing else. Names end in the unit (`_ms`, `_ns`); times are RFC 3339, due times Unix ms. " +
		"A later version of a schema only adds fields.\n\n|command|schema|\n|-|-|\n")
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		fmt.Fprintf(&out, "|%s|[%s](schemas/%s)|\n", documents[name].command, name, schemaFile(name))
	}
	out.WriteString("\n## Scenarios\n\n`dq-bench run --list` shows their variants, and `dq-bench run -f NAME` runs one.\n\n|scenario|shows|\n|-|-|\n")
	all, err := series.StoredScenarios()
	require.NoError(t, err)
	for _, s := range all {
		fmt.Fprintf(&out, "|`%s`|%s|\n", s.Name, tableCell(s.About))
	}
	out.WriteString("\n## Keys of a scenario file\n\n`dq-bench run -f my.yaml` runs your own. A key named like a flag of `run`, such as `payload_size`, means the same; " +
		"the flag wins. Other keys are these; an unknown key is an error with its line.\n\n" +
		"|key|meaning|\n|-|-|\n" +
		"|`about`, `source`|what the scenario shows (required); its origin|\n" +
		"|`scale`|factor for all scaled times, at most 1; divides the rate. `--set scale=1` overrides it|\n" +
		"|`expect`|objectives on known faults of the system: each must hold, and its count is no failure|\n" +
		"|`variants`|a list of runs with `name`, `about` and changed keys; `full: true` runs on demand only|\n")
	for _, f := range plan.Fields {
		row, _ := rowOf(f.Flag())
		if f.FlagOnly || row.help == f.Help {
			continue
		}
		scaled := ""
		if f.Scaled {
			scaled = " (scaled)"
		}
		fmt.Fprintf(&out, "|`%s`|%s%s|\n", f.Key, tableCell(f.Help), scaled)
	}
	out.WriteString("\n## Faults\n\nA fault is `{kind, at, for, …}`; `at` counts from the first offer, and a range is drawn by `seed`. One fault acts at a time. " +
		"Commands are names, `offer` or `take`.\n\n|kind|what breaks|needs|may lose|\n|-|-|-|-|\n")
	for _, k := range plan.FaultKinds {
		var needs []string
		if k.Reach != plan.Network {
			needs = append(needs, string(k.Reach))
		}
		for _, key := range slices.Concat(k.Needs, k.May) {
			needs = append(needs, "`"+key+"`")
		}
		loss := k.Loss
		if loss == plan.NoLoss {
			loss = ""
		}
		fmt.Fprintf(&out, "|`%s`|%s|%s|%s|\n", k.Kind, k.Help, strings.Join(needs, ", "), loss)
	}
	return out.String()
}

// tableCell is text in a cell of a Markdown table.
func tableCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func TestReferenceIsCurrent(t *testing.T) {
	const path = "../../../docs/reference.md"
	if *updateSchemas {
		require.NoError(t, os.WriteFile(path, []byte(reference(t)), 0o644))
	}
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, reference(t), string(is), "write it by: go test ./harness/internal/cli -run Reference -args -update")
}

// docker/release.sh keeps the pages in the folder DQ_MAN.
func TestManPages(t *testing.T) {
	folder := cmp.Or(os.Getenv("DQ_MAN"), t.TempDir())
	require.NoError(t, doc.GenManTree(newRootCmd(), &doc.GenManHeader{Section: "1", Source: tool().Version}, folder))
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		require.FileExists(t, filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
	})
}
