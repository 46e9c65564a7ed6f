package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
