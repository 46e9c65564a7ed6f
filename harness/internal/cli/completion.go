package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/scenario"
)

// completions are those of the values of flags, by the flags' names in whichever command.
var completions = map[string]func(cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective){
	"driver":   completeDriver,
	"redis":    completeRedis,
	"file":     completeScenario,
	"variant":  completeVariant,
	"slo":      fixed(cobra.ShellCompDirectiveNoSpace, run.Metrics()...),
	"release":  fixed(0, newestFirst()...),
	"to":       completeTo,
	"level":    fixed(0, string(conformance.Wire), string(conformance.Exchange), string(conformance.State)),
	"progress": fixed(0, "auto", "plain", "none"),
	"out": func(*cobra.Command, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	},
}

// completeFlags has the shell complete the values of flags, of a command and those below it.
// What is offered begins with what was typed, in the order of its list. A command without
// arguments is offered no files for them.
func completeFlags(cmd *cobra.Command) {
	if !strings.Contains(cmd.Use, " ") && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete, ok := completions[f.Name]
		if !ok {
			return
		}
		// It fails on no such flag, and on one that is registered already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			words, directive := complete(cmd, typed)
			words = slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
			return words, directive | cobra.ShellCompDirectiveKeepOrder
		})
	})
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}

// fixed completes by a list, and by no file.
func fixed(directive cobra.ShellCompDirective, words ...string) func(*cobra.Command, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, string) ([]string, cobra.ShellCompDirective) {
		return slices.Clone(words), directive | cobra.ShellCompDirectiveNoFileComp
	}
}

func newestFirst() []string {
	var releases []string
	for _, r := range slices.Backward(wire.Releases()) {
		releases = append(releases, r.String())
	}
	return releases
}

// mentioned are the words that the help of a flag of this command has.
func mentioned(cmd *cobra.Command, flag string, words ...string) []string {
	usage := cmd.Flag(flag).Usage
	return slices.DeleteFunc(words, func(word string) bool { return !strings.Contains(usage, word) })
}

// completeDriver offers releases once what has them is chosen.
func completeDriver(cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective) {
	name, _, chosen := strings.Cut(typed, ":")
	if !chosen {
		return mentioned(cmd, "driver", "dq", "redisson:", "memory", "redis-list", "redis-zset", "exec:"),
			cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	if name == "dq" || name == "redisson" {
		for _, release := range newestFirst() {
			words = append(words, name+":"+release)
		}
	}
	if name == "dq" && strings.Contains(typed, ",") {
		for i, word := range words {
			words[i] = word + ",faithful"
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func completeRedis(cmd *cobra.Command, _ string) ([]string, cobra.ShellCompDirective) {
	return mentioned(cmd, "redis", "auto", "container", "process", "embedded", "redis://", "rediss://", "redis+cluster://", "redis+sentinel://", "unix:///"),
		cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// completeScenario offers the stored scenarios, and files where none begins so.
func completeScenario(*cobra.Command, string) ([]string, cobra.ShellCompDirective) {
	all, _ := scenario.Stored() // which are part of the program
	var words []string
	for _, s := range all {
		words = append(words, described(s.Name, s.About))
	}
	return words, cobra.ShellCompDirectiveDefault
}

// completeVariant offers those of the scenarios that are given already.
func completeVariant(cmd *cobra.Command, _ string) ([]string, cobra.ShellCompDirective) {
	files, _ := cmd.Flags().GetStringArray("file") // which every command with variants has
	slices.Sort(files)                             // cobra reads the flags twice here
	var words []string
	for _, file := range slices.Compact(files) {
		s, err := scenario.Find(file)
		if err != nil {
			continue // the run will say so
		}
		for _, v := range s.Variants {
			if v.Name != "" {
				words = append(words, described(v.Name, v.About))
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeTo offers what a queue is migrated to, or which release to go to.
func completeTo(cmd *cobra.Command, _ string) ([]string, cobra.ShellCompDirective) {
	layouts := mentioned(cmd, "to", wire.LayoutBc0Lc0.String(), wire.LayoutDLc0.String())
	return append(layouts, newestFirst()...), cobra.ShellCompDirectiveNoFileComp
}

// described is a completion with a text that the shell shows beside it.
func described(word, about string) string {
	return fmt.Sprintf("%s\t%s", word, strings.Join(strings.Fields(about), " "))
}
