package cli

import "github.com/spf13/cobra"

// subcommands lists every subcommand, in the order help shows them.
func subcommands() []*cobra.Command {
	return []*cobra.Command{
		withAccess(newRunCmd()),
		newScenariosCmd(),
		newCompareCmd(),
		newHistoryCmd(),
		newServeCmd(),
		newMergeCmd(),
		withAccess(newVerifyCmd()),
		withAccess(newRecordCmd()),
		newAdoptCmd(),
		newMatrixCmd(),
		withAccess(newReplayCmd()),
		newDiffCmd(),
		newReleasesCmd(),
		newCodecCmd(),
		withAccess(newInspectCmd()),
		withAccess(newMigrateCmd()),
		withAccess(newBridgeCmd()),
		withAccess(newAnalyzeCmd()),
		newVersionCmd(),
		newCompletionCmd(),
		newManCmd(),
		newServeDriverCmd(),
	}
}
