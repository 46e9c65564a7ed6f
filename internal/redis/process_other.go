//go:build !linux

package redis

import "os/exec"

// startTied starts cmd. Only Linux can tie a child's life to its parent's; here a server outlives a killed parent, and only
// Server.Close stops it.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }

// standsStill believes that a signal was obeyed: only Linux tells.
func standsStill(int) (bool, error) { return true, nil }
