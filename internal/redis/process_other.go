//go:build !linux

package redis

import "os/exec"

// startTied starts a command. Only Linux ties a child's life to its parent's; elsewhere a server outlives a killed parent, and
// Server.Close stops it.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }

// hasStopped trusts the signal: only Linux shows the state.
func hasStopped(int) error { return nil }
