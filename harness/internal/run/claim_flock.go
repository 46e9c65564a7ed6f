//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package run

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// claim locks a folder for itself and those above it against being claimed, so that of two that are in each other one is. It leaves
// nothing in them. Where a file system has no locks, and above where a folder cannot be opened, nothing is claimed, and
// that is no error.
func claim(folder string) (release func(), err error) {
	folder, err = filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return nil, err
	}
	var held []*os.File
	release = func() {
		for _, dir := range held {
			_ = dir.Close()
		}
	}
	lock := func(name string, how int) error {
		dir, err := os.Open(name)
		if err != nil {
			return err
		}
		held = append(held, dir)
		if err := syscall.Flock(int(dir.Fd()), how|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
			return errClaimed
		}
		return nil
	}
	err = lock(folder, syscall.LOCK_EX)
	for above := filepath.Dir(folder); err == nil && above != folder; folder, above = above, filepath.Dir(above) {
		if e := lock(above, syscall.LOCK_SH); errors.Is(e, errClaimed) {
			err = e
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}
