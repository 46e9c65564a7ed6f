package cli

import (
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/recordings"
)

// build is what this program was made from, as far as the Go tool has noted it, and which
// Redisson releases it knows.
type build struct {
	Schema string `json:"schema"`
	// Version is that of the module: a release, a pseudo-version, or (devel).
	Version string `json:"version"`
	// Commit and Committed, in RFC 3339, are those of the checkout that it was built in;
	// Modified says that there were changes besides. All are missing elsewhere.
	Commit    string `json:"commit,omitempty"`
	Committed string `json:"committed,omitempty"`
	Modified  bool   `json:"modified,omitempty"`
	Go        string `json:"go"`
	Platform  string `json:"platform"`
	// Redisson are the releases that the catalogue knows; Recorded is of how many there are
	// recordings.
	Redisson struct {
		Oldest   string `json:"oldest"`
		Newest   string `json:"newest"`
		Known    int    `json:"known"`
		Recorded int    `json:"recorded"`
	} `json:"redisson"`
}

func thisBuild() build {
	b := build{Schema: "dq-bench/version/v1", Version: tool().Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Committed = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	known := wire.Releases()
	b.Redisson.Oldest, b.Redisson.Newest, b.Redisson.Known = known[0].String(), wire.Newest().String(), len(known)
	recorded, _ := fs.ReadDir(recordings.Files, "redisson") // which is part of the program
	b.Redisson.Recorded = len(recorded)
	return b
}

// String is what 'dq-bench version' prints for people.
func (b build) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "dq-bench  %s\n", b.Version)
	switch {
	case b.Commit == "":
		fmt.Fprintf(&out, "commit    unknown: not built in a checkout\n")
	case b.Modified:
		fmt.Fprintf(&out, "commit    %s of %s, with changes\n", b.Commit, b.Committed)
	default:
		fmt.Fprintf(&out, "commit    %s of %s\n", b.Commit, b.Committed)
	}
	fmt.Fprintf(&out, "go        %s %s\n", b.Go, b.Platform)
	fmt.Fprintf(&out, "redisson  %s to %s: %d releases known, %d recorded\n", b.Redisson.Oldest, b.Redisson.Newest, b.Redisson.Known, b.Redisson.Recorded)
	return out.String()
}

func newVersionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Redisson releases known",
		Long: `Version prints which dq-bench this is: the version of its module, the commit if it was
built in a checkout, and the oldest and the newest Redisson release that it knows.

Exit codes: 0 fine; 2 wrong usage.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), thisBuild())
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document on stdout and nothing else")
	return cmd
}
