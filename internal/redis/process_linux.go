package redis

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starter runs functions on one OS thread that lives as long as this process. Linux delivers the parent-death signal when the
// thread that forked ends, not the process, and Go ends idle threads as it likes.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go runOnThread(work)
	return work
})

// runOnThread runs functions for as long as this process lives.
func runOnThread(work <-chan func()) {
	runtime.LockOSThread()
	for f := range work {
		f()
	}
}

// startTied starts cmd so that it dies with this process, however that ends.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	done := make(chan error, 1)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

// standsStill reports whether the kernel has stopped a process that was asked to: a signal sent is not yet obeyed.
func standsStill(pid int) (bool, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// "pid (name) state …", and the name may hold anything.
	return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T ")), err
}
