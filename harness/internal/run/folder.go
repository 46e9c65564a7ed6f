package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NewFolder is ClaimFolder for a whole output, and refuses a folder that holds runs at any
// depth: they would be overwritten, or be counted with the new ones by whoever reads the
// folder.
func NewFolder(folder string) (tidy func(), err error) {
	tidy, err = ClaimFolder(folder)
	if err != nil {
		return nil, err
	}
	// Only now: another process may have written runs, and have ended, up to the claim.
	where := folder
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		where = resolved // a walk does not follow a link, be it the folder itself
	}
	if used := firstRun(where); used != "" {
		tidy()
		return nil, fmt.Errorf("output folder %s is used, and an earlier run is kept: it holds %s; choose another with --out, or remove it first", folder, used)
	}
	if above := runAbove(where); above != "" {
		tidy()
		return nil, fmt.Errorf("output folder %s lies in that of an earlier run, %s, and would be counted with it; choose another with --out", folder, above)
	}
	return tidy, nil
}

// runAbove is the run file of a folder that this one lies in, empty if there is none.
func runAbove(folder string) string {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return ""
	}
	for above := filepath.Dir(folder); above != folder; folder, above = above, filepath.Dir(above) {
		file := filepath.Join(above, File)
		if _, err := os.Lstat(file); err == nil {
			return file
		}
	}
	return ""
}

// ClaimFolder is PrepareFolder, and refuses a folder that is claimed: what two write at a time would be
// mixed. A claim ends with tidy, or with the process however that ends.
func ClaimFolder(folder string) (tidy func(), err error) {
	remove, err := PrepareFolder(folder)
	if err != nil {
		return nil, err
	}
	release, err := claim(folder)
	if err != nil {
		remove()
		return nil, fmt.Errorf("output folder %s: %w; choose another with --out", folder, err)
	}
	return func() {
		remove() // while nobody else has claimed it
		release()
	}, nil
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

// errClaimed says that another process writes to a folder.
var errClaimed = errors.New("another process that runs now writes there, or above or below it")

// CheckUnused refuses a folder that has a run file, before another run is written there: the last guard
// where folders cannot be claimed.
func CheckUnused(folder string) error {
	file := filepath.Join(folder, File)
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already, of another run, and is kept", file)
	}
	return nil
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
