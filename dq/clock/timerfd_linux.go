package clock

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerfd is a Timer on a kernel timer. Its descriptor sits in the runtime's poller like any socket, and one goroutine reads it.
type timerfd struct {
	c    chan struct{}
	file *os.File
}

// newSystemTimer falls back to Go's own timer if the kernel gives no descriptor, for example at the limit of open files.
func newSystemTimer() Timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newRuntimeTimer()
	}
	t := &timerfd{c: make(chan struct{}, 1), file: os.NewFile(uintptr(fd), "timerfd")}
	go t.read()
	return t
}

// read ends when Close closes the file.
func (t *timerfd) read() {
	var expirations [8]byte
	for {
		if _, err := t.file.Read(expirations[:]); err != nil {
			return
		}
		wake(t.c)
	}
}

func (t *timerfd) C() <-chan struct{} { return t.c }

// Reset counts by the monotonic clock, as Go's own timers do. A zero value would disarm the timer.
func (t *timerfd) Reset(at time.Time) { t.set(max(time.Until(at), 1)) }

func (t *timerfd) Stop() { t.set(0) }

// set goes through the raw connection, so that the descriptor cannot be closed, and its number used again, in between.
func (t *timerfd) set(wait time.Duration) {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.TimerfdSettime(int(fd), 0, &spec, nil)
	})
}

func (t *timerfd) Close() { _ = t.file.Close() }
