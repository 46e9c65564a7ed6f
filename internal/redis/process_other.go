//go:build !linux

package redis

import (
	"os/exec"
	"syscall"
)

// The signals as macOS and the BSDs number them. Windows has none, and says so.
const pauseSignal, resumeSignal = syscall.Signal(17), syscall.Signal(19)

// startTied starts a command. Only Linux ties a child's life to its parent's; elsewhere a server outlives a killed parent, and
// Server.Close stops it.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }

// hasStopped trusts the signal: only Linux shows the state.
func hasStopped(int) error { return nil }
