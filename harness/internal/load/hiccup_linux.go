package load

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// ticker is a kernel timer that expires at each step: of all ways to sleep a millisecond
// to some ten microseconds, the one that costs the least. Nobody sets it anew.
type ticker struct {
	file *os.File
	next time.Time
}

// newSleeper falls back to the clock's timer where the kernel gives no descriptor.
func newSleeper() sleeper {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newTimerSleeper(clock.System())
	}
	t := &ticker{file: os.NewFile(uintptr(fd), "timerfd"), next: time.Now().Add(meterStep)}
	step := unix.NsecToTimespec(int64(meterStep))
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: step, Interval: step}, nil); err != nil {
		t.stop()
		return newTimerSleeper(clock.System())
	}
	return t
}

// sleep reads how many steps have ended since the last read. The first of them was the
// one to wake at.
func (t *ticker) sleep() (due, woke time.Time, ok bool) {
	var expirations [8]byte
	if _, err := t.file.Read(expirations[:]); err != nil {
		return t.next, t.next, false // closed
	}
	due, woke = t.next, time.Now()
	t.next = due.Add(time.Duration(binary.NativeEndian.Uint64(expirations[:])) * meterStep)
	return due, woke, true
}

func (t *ticker) stop() { _ = t.file.Close() }
