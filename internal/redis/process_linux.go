package redis

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

const pauseSignal, resumeSignal = syscall.SIGSTOP, syscall.SIGCONT

// starter runs functions on one OS thread that lives as long as this process. Linux sends the parent-death signal at the end of the
// thread that forked, not of the process, and Go ends idle threads.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go runOnThread(work)
	return work
})

func runOnThread(work <-chan func()) {
	runtime.LockOSThread()
	for f := range work {
		f()
	}
}

// startTied starts a command that dies with this process, however that ends.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	done := make(chan error, 1)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

// hasStopped returns an error until the kernel has stopped a process after a signal.
func hasStopped(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// "pid (name) state …"; the name may hold anything.
	if err == nil && !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T ")) {
		err = errors.New("it runs")
	}
	return err
}
