//go:build !linux

package clock

func newSystemTimer() Timer { return newRuntimeTimer() }
