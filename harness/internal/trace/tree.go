package trace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadTree reads the recording at path or, where path is a folder, every *.monitor file below it. The keys are
// slash-separated paths relative to the folder; a single file has the key ".". A folder without recordings is an error.
func ReadTree(ctx context.Context, path string) (map[string]*Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be read: %w", err)
	}
	recordings := make(map[string]*Recording)
	if !info.IsDir() {
		recordings["."], err = ReadFile(ctx, path)
		return recordings, err
	}
	err = fs.WalkDir(os.DirFS(path), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".monitor") {
			recordings[name], err = ReadFile(ctx, filepath.Join(path, name))
		}
		return err
	})
	if err == nil && len(recordings) == 0 {
		err = fmt.Errorf("%s: expected recordings, found no *.monitor file below it", path)
	}
	return recordings, err
}
