//go:build unix

package redis

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

var pauseSignal, resumeSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT

// standsStill reports whether the kernel has stopped a process that was asked to:
// a signal sent is not yet a signal obeyed. Only Linux tells; elsewhere it is believed.
func standsStill(pid int) (bool, error) {
	if runtime.GOOS != "linux" {
		return true, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false, err
	}
	// "pid (name) state …", and the name may hold anything.
	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T ")), nil
}
