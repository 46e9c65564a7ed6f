package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// checkWritable finds out before the work whether a file can be written, and touches none
// that is there. An empty name is no file; a device or a pipe is not looked at.
func checkWritable(flag, name string) error {
	if name == "" {
		return nil
	}
	path := filepath.Clean(name)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return fmt.Errorf("%s: %s cannot be written: it is a folder", flag, name)
		}
		return nil
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".dq-bench-*")
	if err != nil {
		return fmt.Errorf("%s: %s cannot be written: %w", flag, name, errors.Unwrap(err))
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// reports are the files of --report.
type reports []string

// check refuses files that cannot be written, before the work.
func (r reports) check() error {
	for i, name := range r {
		if !slices.Contains(report.Endings, filepath.Ext(name)) {
			return usageError(fmt.Errorf("--report %s: expected a file that ends in %s", name, strings.Join(report.Endings, ", ")))
		}
		if slices.ContainsFunc(r[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }) {
			return usageError(fmt.Errorf("--report %s: this file is named twice", name))
		}
		if err := checkWritable("--report", name); err != nil {
			return err
		}
	}
	return nil
}

// write writes each report, whole or not at all.
func (r reports) write(page report.Page) error {
	var errs []error
	for _, name := range r {
		errs = append(errs, named("--report", page.Save(name)))
	}
	return errors.Join(errs...)
}

// reported adds --report to a command.
func (s flagSet) reported(at *[]string) {
	s.list(at, "report")
	s.more("report", ": "+strings.Join(report.Endings, ", "))
}

// recordingsFolder makes the folder for recordings of the cases, and refuses one that holds
// any of them. The caller calls tidy in the end, which removes the folder if nothing was
// written.
func recordingsFolder(folder string, cases []*conformance.Case) (tidy func(), err error) {
	for _, c := range cases {
		section, _, _ := strings.Cut(c.ID, "/")
		file := filepath.Join(folder, section+".monitor")
		if _, err := os.Lstat(file); err == nil {
			return nil, fmt.Errorf("--out: %s is there already, and is kept; choose another folder, or remove it first", file)
		}
	}
	return run.PrepareFolder(folder)
}
