//go:build !linux

package load

import "github.com/dq-bench/dq-bench/dq/clock"

func newSleeper() sleeper { return newTimerSleeper(clock.System()) }
