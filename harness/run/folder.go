package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NewFolder is PrepareFolder for a whole output, and refuses a folder that holds runs at any
// depth: they would be overwritten, or be counted with the new ones by whoever reads the
// folder.
func NewFolder(folder string) (tidy func(), err error) {
	if used := firstRun(folder); used != "" {
		return nil, fmt.Errorf("output folder %s is used, and an earlier run is kept: it holds %s; choose another with --out, or remove it first", folder, used)
	}
	return PrepareFolder(folder)
}

// firstRun is a run file in the folder or below it, empty if there is none. What cannot be
// read, such as the lost+found of a volume, is passed over.
func firstRun(folder string) (found string) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() == File {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// PrepareFolder creates folder and proves that files can be written to it. It is
// called before a load starts, so that no run is in vain. The caller calls tidy in the end,
// which removes the folders that were made and are empty still: those of a run that could not
// start.
func PrepareFolder(folder string) (tidy func(), err error) {
	made := missing(folder)
	remove := func() {
		for _, dir := range made {
			_ = os.Remove(dir) // which fails where something is in it
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		remove()
		return nil, fmt.Errorf("output folder %s cannot be created: %w; choose another with --out", folder, err)
	}
	probe, err := os.CreateTemp(folder, ".writable-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		remove()
		return nil, fmt.Errorf("output folder %s is not writable: %w; choose another with --out", folder, err)
	}
	return remove, nil
}

// missing are the folders that have to be made for this one, the innermost first.
func missing(folder string) []string {
	var dirs []string
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}
