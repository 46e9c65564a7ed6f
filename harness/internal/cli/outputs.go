package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
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

// checkPage refuses to write a page in place of a file that is none, such as a run file that is read. An empty one is no loss.
func checkPage(name string) error {
	if err := checkWritable("--html", name); err != nil || name == "" {
		return err
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil //nolint:nilerr // there is no file yet
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	if bytes.HasPrefix(data, []byte("<!doctype html>")) && bytes.Contains(data, []byte("dq-bench")) {
		return nil
	}
	return usageError(fmt.Errorf("--html: expected a new file or a page of dq-bench, got %s, which is neither, and is kept; choose another name", name))
}

// recordingsFolder makes the folder for recordings of the cases, and refuses one that holds
// any of them, or that another process writes to. The caller calls tidy in the end, which removes the folder if nothing was
// written.
func recordingsFolder(folder string, cases []*conformance.Case) (tidy func(), err error) {
	for _, c := range cases {
		section, _, _ := strings.Cut(c.ID, "/")
		file := filepath.Join(folder, section+".monitor")
		if _, err := os.Lstat(file); err == nil {
			return nil, fmt.Errorf("--out: %s is there already, and is kept; choose another folder, or remove it first", file)
		}
	}
	return run.ClaimFolder(folder)
}
