//go:build !unix

package redis

import "syscall"

// No signals stop and continue a process here: to send one is an error.
const pauseSignal, resumeSignal = syscall.Signal(19), syscall.Signal(18)
