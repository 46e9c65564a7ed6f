package cli

import "github.com/spf13/cobra"

// commandTable has each command, by its group, in the order of help and docs/reference.md.
var commandTable = []struct {
	group string
	make  func() *cobra.Command
}{
	{"Measure", func() *cobra.Command { return withAccess(newRunCmd()) }},
	{"Measure", newAgentCmd},
	{"Measure", newCompareCmd},
	{"Measure", newServeCmd},
	{"Judge", func() *cobra.Command { return withAccess(newVerifyCmd()) }},
	{"Judge", func() *cobra.Command { return withAccess(newRecordCmd()) }},
	{"Judge", func() *cobra.Command { return withAccess(newReplayCmd()) }},
	{"Judge", newDiffCmd},
	{"Operate", func() *cobra.Command { return withAccess(newInspectCmd()) }},
	{"Operate", func() *cobra.Command { return withAccess(newBridgeCmd()) }},
	{"Operate", func() *cobra.Command { return withAccess(newAnalyzeCmd()) }},
	{"Upgrade", newReleasesCmd},
	{"Upgrade", func() *cobra.Command { return withAccess(newMigrateCmd()) }},
	{"Upgrade", newCodecCmd},
	{"", newServeDriverCmd},
}

// addCommands adds the commands and their groups to the root.
func addCommands(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	for _, row := range commandTable {
		if row.group != "" && !root.ContainsGroup(row.group) {
			root.AddGroup(&cobra.Group{ID: row.group, Title: row.group})
		}
		cmd := row.make()
		cmd.GroupID = row.group
		root.AddCommand(cmd)
	}
	root.AddGroup(&cobra.Group{ID: "Set up", Title: "Set up"})
	root.SetHelpCommand(newHelpCmd())
	root.SetHelpCommandGroupID("Set up")
	root.SetCompletionCommandGroupID("Set up")
	root.InitDefaultCompletionCmd()
	if own, _, err := root.Find([]string{"completion"}); err == nil {
		own.Args, own.RunE = noCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
}

// newHelpCmd prints the help of a command.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the flags of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				of, rest = cmd.Root(), args
			}
			if len(rest) > 0 {
				return seeHelp(of, noCommand(of, rest))
			}
			writeHelp(cmd.OutOrStdout(), of)
			return nil
		},
	}
}
