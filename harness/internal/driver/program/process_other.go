//go:build !unix

package program

import "os/exec"

// Shell is the command that runs a command line.
func Shell(line string) []string { return []string{"cmd", "/c", line} }

// ownGroup does nothing: this system has no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup kills only the program. An error means it is gone.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// cpuSeconds is not known here.
func cpuSeconds() float64 { return 0 }
