//go:build unix

package run

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A FIFO by the name of a run file is told, not waited for; so is a link to nowhere. The rest
// is read.
func TestWhatIsNoRunFileIsNotOpened(t *testing.T) {
	root := t.TempDir()
	store(t, filepath.Join(root, "1"), 1)
	store(t, filepath.Join(root, "4"), 4)
	for _, folder := range []string{"2", "3"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, folder), 0o755))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "2", File), 0o600))
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(root, "3", File)))
	files, err := Find(t.Context(), root)
	require.NoError(t, err)
	require.Len(t, files, 4)
	runs, errs, err := ReadFiles(t.Context(), files)
	require.NoError(t, err)
	require.NotNil(t, runs[0])
	require.ErrorContains(t, errs[1], "expected a regular file, got a pipe")
	require.ErrorIs(t, errs[2], os.ErrNotExist)
	require.NotNil(t, runs[3])
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = ReadFiles(ended, files)
	require.ErrorIs(t, err, context.Canceled)
}
