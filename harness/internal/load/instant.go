package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// epoch turns instants into Unix time by the monotonic clock, so that a step of
// the wall clock during a run shifts no lateness.
type epoch struct{ zero time.Time }

// newEpoch looks at the clocks several times: time.Now reads the wall clock and
// then the monotonic one, and a goroutine that is held up in between pairs a
// wall clock that is too old, which would make every delivery look early.
func newEpoch() epoch {
	e := epoch{time.Now()}
	for range 20 {
		if now := time.Now(); e.drift(now) > 0 {
			e.zero = now
		}
	}
	return e
}

// drift is how far the wall clock has moved against the monotonic one.
func (e epoch) drift(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - e.wall(now))
}

// wall returns the Unix time of t in ns.
func (e epoch) wall(t time.Time) int64 { return e.zero.UnixNano() + int64(t.Sub(e.zero)) }

// instant is the reverse of wall.
func (e epoch) instant(ns int64) time.Time { return e.zero.Add(time.Duration(ns - e.zero.UnixNano())) }

// instant is the latest of several Unix times in ns, 0 if there was none.
type instant struct{ ns atomic.Int64 }

func (i *instant) raise(ns int64) {
	for {
		old := i.ns.Load()
		if ns <= old || i.ns.CompareAndSwap(old, ns) {
			return
		}
	}
}

// firstError keeps the first of many errors, which usually names the cause.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// text is that of the error, empty if there was none.
func (f *firstError) text() string {
	if err := f.get(); err != nil {
		return err.Error()
	}
	return ""
}
