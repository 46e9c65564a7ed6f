package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFolderThatHoldsRunsIsRefused(t *testing.T) {
	root := t.TempDir()
	for folder, file := range map[string]string{"single": "run.json", "several": "dq/3/run.json"} {
		out := filepath.Join(root, folder)
		earlier := filepath.Join(out, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(earlier), 0o755))
		require.NoError(t, os.WriteFile(earlier, []byte("{}"), 0o600))
		_, err := NewFolder(out)
		require.ErrorContains(t, err, "it holds "+earlier)
		require.ErrorContains(t, err, "choose another with --out, or remove it first")
	}
	// Whatever else is there is no run.
	other := filepath.Join(root, "other")
	require.NoError(t, os.MkdirAll(filepath.Join(other, "notes"), 0o755))
	_, err := NewFolder(other)
	require.NoError(t, err)
}

// What was made for a run that did not start goes, and nothing else.
func TestFoldersWithoutARunAreRemoved(t *testing.T) {
	root := t.TempDir()
	mine := filepath.Join(root, "mine")
	require.NoError(t, os.Mkdir(mine, 0o755))
	tidy, err := NewFolder(filepath.Join(mine, "a", "b"))
	require.NoError(t, err)
	require.DirExists(t, filepath.Join(mine, "a", "b"))
	tidy()
	require.NoDirExists(t, filepath.Join(mine, "a"))
	require.DirExists(t, mine, "which was there before")

	tidy, err = NewFolder(filepath.Join(mine, "c"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(mine, "c", File), []byte("{}"), 0o600))
	tidy()
	require.FileExists(t, filepath.Join(mine, "c", File))
}

func TestFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := PrepareFolder(filepath.Join(file, "below"))
	require.ErrorContains(t, err, file)
}

// What a link leads to is the folder, and one within an earlier run's would be counted with it.
func TestAFolderThatIsALinkOrWithinARunIsRefused(t *testing.T) {
	root := t.TempDir()
	used := filepath.Join(root, "used")
	require.NoError(t, os.MkdirAll(used, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(used, File), []byte("{}"), 0o600))
	link := filepath.Join(root, "link")
	require.NoError(t, os.Symlink("used", link))
	self := filepath.Join(root, "self")
	require.NoError(t, os.Symlink(".", self))
	for _, folder := range []string{link, self, filepath.Join(used, "new"), filepath.Join(link, "deep", "new")} {
		_, err := NewFolder(folder)
		require.ErrorContains(t, err, File, folder)
		require.ErrorContains(t, err, "choose another with --out")
	}
	require.NoDirExists(t, filepath.Join(used, "new"))
	require.NoDirExists(t, filepath.Join(used, "deep"))
	tidy, err := NewFolder(filepath.Join(root, "beside"))
	require.NoError(t, err)
	tidy()
}
