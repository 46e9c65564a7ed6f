//go:build unix

package redis

import "syscall"

const pauseSignal, resumeSignal = syscall.SIGSTOP, syscall.SIGCONT
