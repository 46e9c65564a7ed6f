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
	folder := ""
	remove = func() { _ = os.RemoveAll(folder) }
	for i, path := range args {
		if name, ok := strings.CutPrefix(path, recordedPrefix); ok {
			if folder == "" {
				folder, err = os.MkdirTemp("", "dq-bench-")
			}
			if err == nil {
				path, err = unpackOne(filepath.Join(folder, fmt.Sprint(i)), name)
			}
			if err != nil {
				remove()
				return nil, remove, err
			}
		}
		paths = append(paths, path)
	}
	return paths, remove, nil
}

func unpackOne(folder, name string) (string, error) {
	release, id, _ := strings.Cut(name, "/")
	files, err := fs.Sub(recordings.Redisson(), release)
	if err == nil {
		_, err = fs.Stat(files, ".")
	}
	if err != nil {
		entries, _ := fs.ReadDir(recordings.Redisson(), ".") // which is part of the program
		var known []string
		for _, e := range entries {
			known = append(known, e.Name())
		}
		return "", usageError(fmt.Errorf("%s%s: no recordings of this release%s", recordedPrefix, name, text.DidYouMean(release, known)))
	}
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
