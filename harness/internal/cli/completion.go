package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/scenario"
)

// completions are the words that the shell offers for the value of a flag of which some is typed.
var completions = map[string]func(cmd *cobra.Command, usage, typed string) []string{
	"driver": func(_ *cobra.Command, usage, typed string) []string {
		if !strings.Contains(typed, ":") {
			return helpWords(usage)
		}
		return append(releaseWords("dq:"), releaseWords("redisson:")...)
	},
	"redis":    func(_ *cobra.Command, usage, _ string) []string { return helpWords(usage) },
	"level":    func(_ *cobra.Command, usage, _ string) []string { return helpWords(usage) },
	"progress": func(_ *cobra.Command, usage, _ string) []string { return helpWords(usage) },
	"file":     func(*cobra.Command, string, string) []string { return scenarioWords() },
	"variant":  func(cmd *cobra.Command, _, _ string) []string { return variantWords(cmd) },
	"slo":      func(*cobra.Command, string, string) []string { return run.Metrics() },
	"release":  func(*cobra.Command, string, string) []string { return releaseWords("") },
	"to": func(*cobra.Command, string, string) []string {
		return append(releaseWords(""), wire.LayoutBc0Lc0.String(), wire.LayoutDLc0.String())
	},
}

// completeFlags has the shell complete the values of a command's flags, and offer no files where the command takes none.
func completeFlags(cmd *cobra.Command) {
	if !strings.Contains(cmd.Use, " ") && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		words, ok := completions[f.Name]
		if !ok {
			return
		}
		// It fails for a flag that is registered already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			all := slices.DeleteFunc(words(cmd, f.Usage, typed), func(word string) bool { return !strings.HasPrefix(word, typed) })
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

// releaseWords are all releases behind a prefix, the newest first.
func releaseWords(prefix string) (words []string) {
	for _, r := range slices.Backward(wire.Releases()) {
		words = append(words, prefix+r.String())
	}
	return words
}

func scenarioWords() (words []string) {
	all, _ := scenario.Stored() // which are part of the program
	for _, s := range all {
		words = append(words, described(s.Name, s.About))
	}
	return words
}

// variantWords are the variants of the scenarios that are given already.
func variantWords(cmd *cobra.Command) (words []string) {
	files, _ := cmd.Flags().GetStringArray("file") // which every command with variants has
	slices.Sort(files)                             // cobra reads the flags twice here
	for _, file := range slices.Compact(files) {
		s, err := scenario.Find(cmd.Context(), file)
		if err != nil {
			continue // the run will say so
		}
		for _, v := range s.Variants {
			if v.Name != "" {
				words = append(words, described(v.Name, v.About))
			}
		}
	}
	return words
}

// described is a word with a text that the shell shows beside it.
func described(word, about string) string {
	return word + "\t" + strings.Join(strings.Fields(about), " ")
}
