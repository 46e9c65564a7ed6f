package main

import "github.com/spf13/cobra"

// subcommands lists every subcommand, in the order help shows them.
func subcommands() []*cobra.Command {
	return []*cobra.Command{
		withPasswordFile(newRunCmd()),
		newScenariosCmd(),
		newCompareCmd(),
		newHistoryCmd(),
		newServeCmd(),
		newMergeCmd(),
		withPasswordFile(newVerifyCmd()),
		withPasswordFile(newRecordCmd()),
		newAdoptCmd(),
		newMatrixCmd(),
		withPasswordFile(newReplayCmd()),
		newDiffCmd(),
		newReleasesCmd(),
		newCodecCmd(),
		withPasswordFile(newInspectCmd()),
		withPasswordFile(newMigrateCmd()),
		withPasswordFile(newBridgeCmd()),
		withPasswordFile(newAnalyzeCmd()),
		newVersionCmd(),
		newCompletionCmd(),
		newManCmd(),
		newServeDriverCmd(),
	}
}
