package faketime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// variable names the file for libfaketime, and for FromEnvironment.
const variable = "FAKETIME_TIMESTAMP_FILE"

// File says how far a wall clock is ahead.
type File struct{ path string }

// NewFile makes one in folder, by which the clock is right.
func NewFile(folder, name string) (File, error) {
	f := File{filepath.Join(folder, name)}
	return f, f.Set(0)
}

// Set has the clock be ahead by so much from now on, behind if it is below 0. To whoever reads
// the file it is the old one or the new.
func (f File) Set(ahead time.Duration) error {
	next := f.path + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.9f\n", ahead.Seconds()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.path)
}

// ahead reads it.
func (f File) ahead() (time.Duration, error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	return time.Duration(seconds * float64(time.Second)), err
}

// Ours are the variables for a program of ours.
func (f File) Ours() []string { return []string{variable + "=" + f.path} }

// Environment are the variables for a program that asks libc for the time. It fails where
// libfaketime is not installed.
func (f File) Environment() ([]string, error) {
	library, err := library()
	if err != nil {
		return nil, err
	}
	return append(f.Ours(), "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "LD_PRELOAD="+library), nil
}

// places are where the packages of Linux distributions have the library for programs of
// several threads.
var places = []string{"/usr/lib/*-linux-gnu*/faketime", "/usr/lib64/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime"}

func library() (string, error) {
	var found []string
	for _, place := range places {
		files, err := filepath.Glob(filepath.Join(place, "libfaketimeMT.so.1"))
		if err != nil {
			return "", err
		}
		found = append(found, files...)
	}
	// A machine may have those of other architectures.
	native := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	slices.SortStableFunc(found, func(a, b string) int {
		return bytes.Count([]byte(b), []byte(native)) - bytes.Count([]byte(a), []byte(native))
	})
	if len(found) == 0 {
		return "", errors.New("a program's clock is moved by libfaketime, which is not there: apt-get install libfaketime")
	}
	return found[0], nil
}
