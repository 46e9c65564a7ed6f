package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// clockVariable names the file for libfaketime, and for ClockOfEnvironment, which sees a change within clockEvery.
const (
	clockVariable = "FAKETIME_TIMESTAMP_FILE"
	clockEvery    = 5 * time.Millisecond
)

// ClockFile says how far the wall clock of a program is ahead of the machine's. A program that is started with its Environment has
// that clock from each time the file is Set: one in C, or on a JVM, by libfaketime, and one of ours, whose Go runtime asks the
// kernel by itself, by ClockOfEnvironment. The monotonic clock stays as it is, by which the harness counts.
type ClockFile struct{ path string }

// NewClockFile makes one in folder, by which the clock is right.
func NewClockFile(folder, name string) (*ClockFile, error) {
	f := &ClockFile{filepath.Join(folder, name)}
	return f, f.Set(0)
}

// Set has the clock be ahead by so much from now on, behind if it is below 0. A reader sees the old file or the new one.
func (f ClockFile) Set(ahead time.Duration) error {
	next := f.path + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.9f\n", ahead.Seconds()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.path)
}

// Ours are the variables for a program of ours.
func (f ClockFile) Ours() []string { return []string{clockVariable + "=" + f.path} }

// Environment are the variables for a program that asks libc for the time. It fails without libfaketime.
func (f ClockFile) Environment() ([]string, error) {
	var found []string
	for _, place := range []string{"/usr/lib/*-linux-gnu*/faketime", "/usr/lib64/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime"} {
		files, _ := filepath.Glob(place + "/libfaketimeMT.so.1")
		found = append(found, files...)
	}
	if len(found) == 0 {
		return nil, errors.New("a program's clock is moved by libfaketime, which is not there: apt-get install libfaketime")
	}
	native := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] // a machine may have libraries for other architectures
	at := max(0, slices.IndexFunc(found, func(file string) bool { return strings.Contains(file, native) }))
	return append(f.Ours(), "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "LD_PRELOAD="+found[at]), nil
}

// ClockOfEnvironment returns the clock of this process: the machine's, or with a ClockFile in its environment the one that this says,
// for as long as the process lives.
func ClockOfEnvironment() clock.Clock {
	path := os.Getenv(clockVariable)
	if path == "" {
		return clock.System()
	}
	c := &moved{Clock: clock.System()}
	go func() {
		for ; ; time.Sleep(clockEvery) {
			text, err := os.ReadFile(path)
			seconds, wrong := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
			if err == nil && wrong == nil { // a file that is gone changes nothing
				c.move(time.Duration(seconds * float64(time.Second)))
			}
		}
	}()
	return c
}

// moved is a clock that is ahead of another. When it is moved its timers wake whoever waits, to look at the clock again.
type moved struct {
	clock.Clock
	timers sync.Map // of Clock

	mu    sync.Mutex
	ahead time.Duration
}

func (c *moved) move(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ahead == ahead {
		return
	}
	c.ahead = ahead
	c.timers.Range(func(_, timer any) bool {
		timer.(clock.Timer).Reset(c.Clock.Now()) //nolint:forcetypeassert // only NewTimer stores
		return true
	})
}

// Now loses the monotonic reading, which would hide that the wall clock was moved.
func (c *moved) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Now().Round(0).Add(c.ahead)
}

func (c *moved) NewTimer() clock.Timer {
	t := movedTimer{c.Clock.NewTimer(), c}
	c.timers.Store(t, t.Timer)
	return t
}

type movedTimer struct {
	clock.Timer
	clock *moved
}

func (t movedTimer) Reset(at time.Time) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.Timer.Reset(at.Add(-t.clock.ahead))
}

func (t movedTimer) Close() {
	t.clock.timers.Delete(t)
	t.Timer.Close()
}

// Epoch turns instants into Unix time by the monotonic clock, so that a step of the wall clock during a run shifts no lateness.
type Epoch struct{ zero time.Time }

// NewEpoch looks at the clocks several times: time.Now reads the wall clock and then the monotonic one, and a goroutine that is
// held up in between pairs a wall clock that is too old, which would make every delivery look early.
func NewEpoch() Epoch {
	e := Epoch{time.Now()}
	for range 20 {
		if now := time.Now(); e.Drift(now) > 0 {
			e.zero = now
		}
	}
	return e
}

// Drift is how far the wall clock has moved against the monotonic one.
func (e Epoch) Drift(now time.Time) time.Duration { return time.Duration(now.UnixNano() - e.Wall(now)) }

// Wall returns the Unix time of t in ns.
func (e Epoch) Wall(t time.Time) int64 { return e.zero.UnixNano() + int64(t.Sub(e.zero)) }

// Instant is the reverse of Wall.
func (e Epoch) Instant(ns int64) time.Time { return e.zero.Add(time.Duration(ns - e.zero.UnixNano())) }

// Since compares the epoch with one that is made now: by how much the wall clock was set since.
func (e Epoch) Since() time.Duration { return -NewEpoch().Drift(e.zero) }

// Pause waits, and reports whether ctx let it.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
