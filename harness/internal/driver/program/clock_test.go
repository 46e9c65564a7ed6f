package program

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A timer of a moved clock fires by that clock, also when it was set before the clock moved.
func TestTimersFollowTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newMoved(clock.Runtime())
		timer := c.NewTimer()
		defer timer.Close()
		after := func(elapsed time.Duration) {
			t.Helper()
			<-timer.C()
			require.Equal(t, elapsed, time.Since(began))
		}
		timer.Reset(c.Now().Add(time.Hour))
		c.move(59 * time.Minute)
		after(time.Minute)
		timer.Reset(c.Now().Add(time.Hour))
		c.move(-time.Minute)
		after(time.Minute + 2*time.Hour)
		require.Equal(t, began.Add(2*time.Hour), c.Now())

		timer.Reset(c.Now().Add(time.Hour))
		timer.Stop()
		c.move(8 * time.Hour)
		time.Sleep(time.Hour)
		select {
		case <-timer.C():
			t.Fatal("a timer that was stopped has fired")
		default:
		}
	})
}

// A process of ours sees what the file says, at once and after a change.
func TestAProcessHasTheClockOfItsFile(t *testing.T) {
	f, err := NewClockFile(t.TempDir(), "clock")
	require.NoError(t, err)
	require.NoError(t, f.Set(-90*time.Minute))
	t.Setenv(clockVariable, f.path)
	c := ClockOfEnvironment()
	is := func(ahead time.Duration) {
		t.Helper()
		require.Eventually(t, func() bool { return (time.Until(c.Now()) - ahead).Abs() < time.Second }, 10*time.Second, time.Millisecond)
	}
	is(-90 * time.Minute)
	require.NoError(t, f.Set(time.Hour))
	is(time.Hour)
	require.NoError(t, os.Remove(f.path))
	is(time.Hour)
}

// A program of libc has it too.
func TestAProgramHasTheClockOfItsFile(t *testing.T) {
	f, err := NewClockFile(t.TempDir(), "clock")
	require.NoError(t, err)
	require.NoError(t, f.Set(1000*24*time.Hour))
	environment, err := f.Environment()
	if err != nil && !redistest.Required("faketime") {
		t.Skipf("%v", err)
	}
	require.NoError(t, err)
	date := exec.CommandContext(t.Context(), "date", "+%s")
	date.Env = append(os.Environ(), environment...)
	out, err := date.Output()
	require.NoError(t, err)
	at, err := time.Parse("2006", "1970")
	require.NoError(t, err)
	seconds, err := time.ParseDuration(string(bytes.TrimSpace(out)) + "s")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(1000*24*time.Hour), at.Add(seconds), time.Minute)
}
