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
	var from, to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "releases",
		Short: "Tell what changes between two Redisson releases",
		Long: `Releases tells what changes for a queue when a service goes from one Redisson
release to another, forwards or back: what it means for messages that wait, which
scripts have another text, which behaviour only one of the two has, how the commands
that the server sees differ, and the steps to take. It needs no server.

All of it follows from the catalogue of scripts, the conformance cases, the recordings
of real releases, and the specification, docs/spec, whose statements each change cites.
A release that is not recorded is stood for by the nearest one that sends the same
scripts; the text says which.

Exit codes: 0; 2 no such release.`,
		Example: `  dq-bench releases --from 3.16.6 --to 4.7.0
  dq-bench releases --from 3.21.0 --to 3.21.1 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return usageError(errors.New("expected two releases, --from 3.16.6 --to 4.7.0"))
			}
			a, err1 := wire.LookupRelease(from)
			b, err2 := wire.LookupRelease(to)
			if err := errors.Join(named("--from", err1), named("--to", err2)); err != nil {
				return usageError(err)
			}
			if a == b {
				return usageError(fmt.Errorf("expected two different releases, got %s twice", a))
			}
			sections, err := conformance.Load(scenarios.Conformance, "conformance")
			if err != nil {
				return err
			}
			recorded := upgrade.Recordings{Files: recordings.Files, Dir: "redisson", Lateness: "lateness"}
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
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "the release that runs (required)")
	flags.StringVar(&to, "to", "", "the release to go to (required)")
	flags.BoolVar(&asJSON, "json", false, "print one JSON document on stdout and nothing else")
	return cmd
}
