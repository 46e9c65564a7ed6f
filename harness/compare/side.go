package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// ReadSide reads the runs that path names: a run file, a folder that holds
// run.json files at any depth, or a glob of either. The runs come in the order
// of their paths.
func ReadSide(path string) ([]*run.Document, error) {
	paths, err := sidePaths(path)
	if err != nil {
		return nil, err
	}
	var runs []*run.Document
	var errs []error
	for _, p := range paths {
		r, err := run.ReadFile(p)
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
			if err == nil && !entry.IsDir() && (p == match || entry.Name() == run.File) {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: expected at least one %s below it, found none", path, run.File)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// unfit says why a run can be compared with nothing; empty if it can.
func unfit(r *run.Document) string {
	name := "run " + r.RunID + " of " + r.Started.Format(time.RFC3339)
	switch {
	case r.Interrupted:
		return name + ": it was interrupted"
	case !r.Valid():
		return name + ": it is invalid: " + strings.Join(r.Validity.Reasons, "; ")
	case r.Worker != nil:
		return name + ": it is that of one of several workers; merge them first"
	}
	return ""
}

// CountRuns counts runs in words.
func CountRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
