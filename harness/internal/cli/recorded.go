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

// unpacks is does with files: the recordings that arguments name are written into a temporary folder.
func (c *call) unpacks(run func(paths []string) error) *call {
	return c.does(func(args []string) error {
		folder, err := os.MkdirTemp("", "dq-bench-")
		defer os.RemoveAll(folder)
		for i, path := range args {
			if name, ok := strings.CutPrefix(path, recordedPrefix); ok && err == nil {
				args[i], err = unpackOne(filepath.Join(folder, fmt.Sprint(i)), name)
			}
		}
		if err != nil {
			return err
		}
		return run(args)
	})
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
