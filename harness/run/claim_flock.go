//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package run

import (
	"errors"
	"os"
	"syscall"
)

// claim locks a folder, which leaves nothing in it. Where a file system has no locks the folder is
// not claimed, and no error.
func claim(folder string) (release func(), err error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	release = func() { _ = dir.Close() }
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		release()
		return nil, errClaimed
	}
	return release, nil
}
