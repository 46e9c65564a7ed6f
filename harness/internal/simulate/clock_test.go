package simulate_test

import (
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// skewed is a client's clock: ahead of the server's, and stepped. Timers that run are not
// moved by a step, as those of the kernel's monotonic clock are not.
type skewed struct {
	ahead atomic.Int64
}

func (s *skewed) Now() time.Time { return time.Now().Add(s.offset()) }

func (s *skewed) NewTimer() clock.Timer { return skewedTimer{clock.Runtime().NewTimer(), s} }

func (s *skewed) offset() time.Duration { return time.Duration(s.ahead.Load()) }

func (s *skewed) step(d time.Duration) { s.ahead.Add(int64(d)) }

type skewedTimer struct {
	clock.Timer
	clock *skewed
}

func (t skewedTimer) Reset(at time.Time) { t.Timer.Reset(at.Add(-t.clock.offset())) }
