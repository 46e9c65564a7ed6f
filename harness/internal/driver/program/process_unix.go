//go:build unix

package program

import (
	"os/exec"
	"syscall"
)

// Shell is the command that runs a command line.
func Shell(line string) []string { return []string{"sh", "-c", "exec " + line} }

// ownGroup gives the program a process group of its own, so that it can be ended
// with everything it starts, and so that Ctrl-C reaches it only through us.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the program's process group. An error means it is gone.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// cpuSeconds is the processor time that this process has used.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}
