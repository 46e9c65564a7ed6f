package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/upgrade"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

func newReleasesCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "releases FROM TO",
		Short: "Show what changes between two Redisson releases",
		Long: `Prints what an upgrade, or a roll-back, from one Redisson release to another means for waiting messages,
scripts, behaviour and commands, and the steps to take. It needs no server. Each change cites a statement
of docs/spec. For a release without recordings, the nearest release with the same scripts is used and named.`,
		Example: `  dq-bench releases 3.16.6 4.7.0
  dq-bench releases 3.21.0 3.21.1 --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err1 := wire.LookupRelease(args[0])
			b, err2 := wire.LookupRelease(args[1])
			if err := errors.Join(err1, err2); err != nil {
				return usageError(err)
			}
			if a == b {
				return usageError(fmt.Errorf("expected two different releases, got %s twice", a))
			}
			sections, err := conformance.Load(scenarios.Conformance, "conformance")
			if err != nil {
				return err
			}
			recorded := upgrade.Recordings{Commands: recordings.Redisson(), Lateness: recordings.Files}
			changes, err := upgrade.Between(a, b, conformance.Select(sections, nil), recorded)
			if err != nil {
				return err
			}
			if asJSON {
				return changes.WriteJSON(cmd.OutOrStdout())
			}
			_, err = io.WriteString(cmd.OutOrStdout(), changes.Text())
			return err
		},
	}
	flagsOf(cmd).yes(&asJSON, "json")
	return cmd
}
