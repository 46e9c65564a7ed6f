//go:build !unix

package redis

import "os"

// No signals stop and continue a process here.
var pauseSignal, resumeSignal os.Signal

func standsStill(int) (bool, error) { return false, nil }
