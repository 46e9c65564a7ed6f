package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/recordings"
)

// Packing a release that is packed already changes no byte.
func TestFoldIsStable(t *testing.T) {
	root := filepath.Join(t.TempDir(), "redisson")
	newest, recorded := recordings.Redisson(), fstest.MapFS{}
	names, err := fs.Glob(newest, "4.7.0/*.monitor")
	require.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(newest, name)
		require.NoError(t, err)
		text = bytes.ReplaceAll(text, []byte(`"echo" "case:`), []byte(`"ECHO" "case:`)) // as record writes it
		recorded[path.Base(name)] = &fstest.MapFile{Data: text}
	}
	require.NoError(t, fold(root, "4.7.0", recorded))
	packed := os.DirFS(root)
	count := 0
	require.NoError(t, fs.WalkDir(packed, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		want, err := recordings.Files.ReadFile("redisson/" + name)
		require.NoError(t, err)
		got, err := fs.ReadFile(packed, name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
		return nil
	}))
	require.Greater(t, count, 50)
	require.ErrorContains(t, fold(root, "4.8.0", os.DirFS(t.TempDir())), "expected recordings")
}
