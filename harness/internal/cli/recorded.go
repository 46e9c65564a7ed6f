package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
)

// recordedPrefix begins an argument that stands for a recording of this program:
// recorded:RELEASE for all sections of a Redisson release, recorded:RELEASE/SECTION or
// recorded:RELEASE/CASE for one of them.
const recordedPrefix = "recorded:"

// unpackRecorded writes the recordings that arguments name into a temporary folder and
// returns the arguments as paths. The function that it returns removes the folder.
func unpackRecorded(args []string) (paths []string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "dq-bench-")
	remove = func() { _ = os.RemoveAll(folder) }
	for i, path := range args {
		if name, ok := strings.CutPrefix(path, recordedPrefix); ok && err == nil {
			path, err = unpackOne(filepath.Join(folder, fmt.Sprint(i)), name)
		}
		paths = append(paths, path)
	}
	if err != nil {
		remove()
	}
	return paths, remove, err
}

func unpackOne(folder, name string) (string, error) {
	release, id, _ := strings.Cut(name, "/")
	if _, err := fs.Stat(recordings.Redisson(), release); err != nil {
		known, _ := fs.Glob(recordings.Redisson(), "*") // a right pattern
		return "", usageError(fmt.Errorf("%s%s: no recordings of this release%s", recordedPrefix, name, text.DidYouMean(release, known)))
	}
	files, _ := fs.Sub(recordings.Redisson(), release) // which is there
	folder = filepath.Join(folder, recordedPrefix+release)
	section, _, ofCase := strings.Cut(id, "/")
	whole, err := fs.ReadFile(files, section+".monitor")
	switch {
	case id == "":
		return folder, os.CopyFS(folder, files)
	case err == nil && !ofCase:
		return filepath.Join(folder, section+".monitor"), os.CopyFS(folder, files)
	}
	_, order, cases := recordings.Split(whole)
	if err != nil || cases[id] == nil {
		return "", usageError(fmt.Errorf("%s%s: Redisson %s was not recorded with this case%s", recordedPrefix, name, release, text.DidYouMean(id, order)))
	}
	file := filepath.Join(folder, filepath.FromSlash(id)+".monitor")
	return file, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, append(recordings.Head(section, release), cases[id]...), 0o644))
}
