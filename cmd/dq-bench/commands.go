package main

import "github.com/spf13/cobra"

// subcommands lists every subcommand, in the order help shows them.
func subcommands() []*cobra.Command {
	return []*cobra.Command{
		newRunCmd(),
		newScenariosCmd(),
		newCompareCmd(),
		newMergeCmd(),
		newVerifyCmd(),
		newRecordCmd(),
		newAdoptCmd(),
		newMatrixCmd(),
		newReplayCmd(),
		newDiffCmd(),
		newReleasesCmd(),
		newInspectCmd(),
		newMigrateCmd(),
		newAnalyzeCmd(),
		newServeCmd(),
	}
}
