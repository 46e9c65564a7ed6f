package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newManCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write a manual page for each command",
		Long: `Man writes a page of section 1 for dq-bench and for each of its commands into a folder,
which is made if it is not there. 'man -l FOLDER/dq-bench-run.1' shows one; in a folder man1 below one
of 'manpath' they are found by name. SOURCE_DATE_EPOCH is their date, today's if it is not set.

Exit codes: 0 fine; 1 the folder cannot be written; 2 wrong usage.`,
		Example: `  dq-bench man ~/.local/share/man/man1 && man dq-bench-verify`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("folder for manual pages: %w", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "DQ-BENCH", Section: "1", Manual: "dq-bench", Source: "dq-bench"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("manual pages in %s: %w", args[0], err)
			}
			return nil
		},
	}
}
