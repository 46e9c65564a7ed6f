package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// A page takes the place of a page, and of no run file.
func TestPagesReplaceNoRunFile(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, run.WriteFolder(folder, runtest.Sample(1, 100, 1), nil))
	file := filepath.Join(folder, run.File)
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	do := func(args ...string) error {
		cmd := newRootCmd()
		cmd.SetArgs(args)
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		return cmd.Execute()
	}
	for _, args := range [][]string{{"history", folder}, {"compare", "--force", file, file}} {
		require.ErrorContains(t, do(append(args, "--html", file)...), "expected a new file or a page of dq-bench")
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, do("history", folder, "--html", page))
	require.NoError(t, do("history", folder, "--html", page))
}
