package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The commit is told where the Go tool noted it, and that it is not known elsewhere.
func TestVersionNamesTheCommit(t *testing.T) {
	b := thisBuild()
	b.Version, b.Commit, b.Committed, b.Modified = "v1.2.3", "8cd4409", "2026-11-22T08:57:01Z", true
	require.Contains(t, b.String(), "dq-bench  v1.2.3\ncommit    8cd4409 of 2026-11-22T08:57:01Z, with changes\ngo        go")
	b.Modified = false
	require.Contains(t, b.String(), "commit    8cd4409 of 2026-11-22T08:57:01Z\n")
	b.Commit = ""
	require.Contains(t, b.String(), "commit    unknown: not built in a checkout\n")
}
