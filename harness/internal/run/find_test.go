package run

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func store(t *testing.T, folder string, seed uint64) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	missing, err := WriteFolder(folder, sampleRun(seed, 10, 1), nil)
	require.NoError(t, err)
	require.NoError(t, missing)
}

// A given link is followed, each run is found once, and a link to a folder within a folder is none of it.
func TestFindFollowsLinks(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	store(t, filepath.Join(root, "r", "1"), 1)
	store(t, filepath.Join(root, "r", "2"), 2)
	store(t, filepath.Join(outside, "3"), 3)
	for link, to := range map[string]string{
		"latest": "r/2", "r/loop": "..", "elsewhere": outside, "one.json": "r/1/run.json", "again": "elsewhere", "gone": "nowhere", "r/up": filepath.Dir(root),
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, filepath.FromSlash(link))))
	}
	find := func(paths ...string) (found []string) {
		for i := range paths {
			paths[i] = filepath.Join(root, paths[i])
		}
		files, err := Find(t.Context(), paths...)
		require.NoError(t, err)
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			require.NoError(t, err)
			found = append(found, filepath.ToSlash(name))
		}
		return found
	}
	require.Equal(t, []string{"r/1/run.json", "r/2/run.json"}, find("."))
	require.Equal(t, []string{"again/3/run.json"}, find("again"))
	require.Equal(t, []string{"r/1/run.json", "r/2/run.json"}, find("r/?"))
	require.Equal(t, []string{"latest/run.json"}, find("latest"))
	require.Equal(t, []string{"one.json"}, find("one.json"))
	require.Equal(t, []string{"one.json"}, find("one.json", "r/1/run.json"), "once, by whichever comes first")
	_, err := Find(t.Context(), filepath.Join(root, "gone"))
	require.ErrorContains(t, err, "there is no such file")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "empty", "too"), 0o755))
	_, err = Find(t.Context(), filepath.Join(root, "empty"))
	require.ErrorContains(t, err, "expected at least one run.json below it")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Find(ended, root)
	require.ErrorIs(t, err, context.Canceled)
}
