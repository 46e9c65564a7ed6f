package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ReadSide reads the runs that path names: a run file, a folder that holds
// run.json files at any depth, or a glob of either. The runs come in the order
// of their paths.
func ReadSide(path string) ([]*Run, error) {
	paths, err := sidePaths(path)
	if err != nil {
		return nil, err
	}
	var runs []*Run
	var errs []error
	for _, p := range paths {
		r, err := ReadFile(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		runs = append(runs, r)
	}
	return runs, errors.Join(errs...)
}

func sidePaths(path string) ([]string, error) {
	matches := []string{path}
	if _, err := os.Stat(path); err != nil {
		if matches, err = filepath.Glob(path); err != nil || !strings.ContainsAny(path, "*?[") {
			return nil, fmt.Errorf("%s: expected a run file, a folder of run files or a glob; there is no such file", path)
		}
	}
	var files []string
	for _, match := range matches {
		err := filepath.WalkDir(match, func(p string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (p == match || entry.Name() == RunFile) {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: expected at least one %s below it, found none", path, RunFile)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
