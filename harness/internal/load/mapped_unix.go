//go:build unix

package load

import (
	"os"
	"syscall"
)

// mapShared maps a file into memory that is shared with it.
func mapShared(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}
