//go:build unix

package run

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A FIFO by the name of a run file is told, not waited for; so is a link to nowhere.
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
	_, err = ReadFile(files[1])
	require.ErrorContains(t, err, "expected a regular file")
	_, err = ReadFile(files[2])
	require.ErrorIs(t, err, os.ErrNotExist)
}
