package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// completions returns the words that the shell offers for the value of a flag of which some is typed.
func completions(cmd *cobra.Command, f *pflag.Flag, typed string) (words []string) {
	releases := func(prefix string) {
		for _, r := range slices.Backward(wire.Releases()) { // the newest first
			words = append(words, prefix+r.String())
		}
	}
	described := func(word, about string) { words = append(words, word+"\t"+strings.Join(strings.Fields(about), " ")) }
	switch f.Name {
	case "driver":
		if strings.Contains(typed, ":") {
			releases("dq:")
			releases("redisson:")
			break
		}
		fallthrough
	case "redis", "level", "progress":
		return helpWords(f.Usage)
	case "release":
		releases("")
	case "to":
		releases("")
		words = append(words, wire.LayoutBc0Lc0.String(), wire.LayoutDLc0.String())
	case "slo":
		return run.Metrics()
	case "file":
		all, _ := series.StoredScenarios() // which are part of the program
		for _, s := range all {
			described(s.Name, s.About)
		}
	}
	return words
}

// completeFlags has the shell complete the values of a command's flags, and offer no files where the command takes none.
func completeFlags(cmd *cobra.Command) {
	if !strings.Contains(cmd.Use, " ") && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	completed := []string{"driver", "redis", "level", "progress", "release", "to", "slo", "file"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(completed, f.Name) {
			return
		}
		// It fails for a flag that is registered already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			all := slices.DeleteFunc(completions(cmd, f, typed), func(word string) bool { return !strings.HasPrefix(word, typed) })
			directive := cobra.ShellCompDirectiveKeepOrder
			if f.Name != "file" || len(all) > 0 {
				directive |= cobra.ShellCompDirectiveNoFileComp
			}
			if f.Name == "slo" || slices.ContainsFunc(all, func(word string) bool { return strings.HasSuffix(word, ":") || strings.HasSuffix(word, "/") }) {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return all, directive
		})
	})
	if cmd.Flags().Lookup("out") != nil {
		_ = cmd.MarkFlagDirname("out") // there is such a flag
	}
}

// helpWords are the values that the help of a flag lists, up to what a user fills in: in brackets, in capitals, or dots.
func helpWords(usage string) (words []string) {
	_, list, found := strings.Cut(usage, ": ")
	if !found {
		list = usage
	}
	for word := range strings.FieldsSeq(list) {
		word, _, _ = strings.Cut(strings.TrimRight(word, ",…"), "[")
		if word = strings.TrimRight(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ…"); word != "" && word != "or" {
			words = append(words, word)
		}
	}
	return words
}
