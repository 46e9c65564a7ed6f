package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// stalling is a virtual clock of a machine that stands still from time to time: what is to wake in a stall wakes at its end.
type stalling struct {
	clock.Clock
	stalls []stall
}

type stall struct{ from, to time.Time }

func (s stalling) NewTimer() clock.Timer { return stallingTimer{s.Clock.NewTimer(), s.stalls} }

type stallingTimer struct {
	clock.Timer
	stalls []stall
}

func (t stallingTimer) Reset(at time.Time) {
	for _, s := range t.stalls {
		if !at.Before(s.from) && at.Before(s.to) {
			at = s.to
		}
	}
	t.Timer.Reset(at)
}

// stallsOf stand still for a length each, a time after now.
func stallsOf(lengths map[time.Duration]time.Duration) stalling {
	s := stalling{Clock: clock.Runtime()}
	now := time.Now()
	for after, length := range lengths {
		s.stalls = append(s.stalls, stall{now.Add(after), now.Add(after + length)})
	}
	return s
}

func TestTheMeterSeesWhenTheMachineStoodStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := stallsOf(map[time.Duration]time.Duration{
			100 * time.Millisecond: 30 * time.Millisecond, 500 * time.Millisecond: 5 * time.Millisecond,
			900*time.Millisecond + 500*time.Microsecond: time.Millisecond, // the wake in it is 0.5 ms late only
		})
		start := time.Now()
		m := startMeter(k, program.NewEpoch())
		time.Sleep(time.Second)
		soFar := []run.Interval{{Second: .12}}
		m.spread(soFar, start.UnixNano())
		require.Equal(t, int64(20*time.Millisecond), soFar[0].HiccupNs, "a page shows it while the run lasts")
		m.end()
		m.end()
		seen := m.seen()
		require.EqualValues(t, 2, seen.Count)
		require.Equal(t, 35*time.Millisecond, time.Duration(seen.TotalNs))
		require.Equal(t, 30*time.Millisecond, time.Duration(seen.LongestNs))
		require.InDelta(t, .035, seen.Share, 1e-9)
		// Of 500 instants 15 fell into the longest one, of which 5 had more than 20 ms to wait.
		require.InDelta(t, float64(20*time.Millisecond), float64(seen.P99Ns), float64(meterStep+time.Millisecond))
		at := func(after time.Duration) int64 { return start.Add(after).UnixNano() }
		require.Equal(t, []span{
			{at(100 * time.Millisecond), at(130 * time.Millisecond)}, {at(500 * time.Millisecond), at(505 * time.Millisecond)},
		}, m.hiccups)
		seconds := []run.Interval{{Second: .1}, {Second: .12}, {Second: 1}}
		m.spread(seconds, start.UnixNano())
		require.Equal(t, []run.Interval{
			{Second: .1}, {Second: .12, HiccupNs: int64(20 * time.Millisecond)}, {Second: 1, HiccupNs: int64(15 * time.Millisecond)},
		}, seconds)
	})
}

func TestCPUTimesReadsProcStat(t *testing.T) {
	before := parseCPUTimes("cpu  100 2 30 400 5 6 7 80 9 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	require.Equal(t, cpuTimes{total: 630, idle: 405, steal: 80}, before)
	after := parseCPUTimes("cpu  110 2 30 410 5 6 7 95 9 1\n")
	require.Equal(t, cpuTimes{total: 35, idle: 10, steal: 15}, after.since(before))
}

// A kernel that tells less, or something else, tells nothing.
func TestCPUTimesThatAreNotTold(t *testing.T) {
	for _, stat := range []string{"", "cpu", "cpu 1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "\ncpu 1 2 3 4 5 6 7 8"} {
		require.Zero(t, parseCPUTimes(stat), stat)
	}
}

func FuzzCPUTimes(f *testing.F) {
	f.Add("cpu  100 2 30 400 5 6 7 80 9 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	f.Add("cpu -1 9223372036854775807 9223372036854775807 4 5 6 7 8")
	f.Fuzz(func(_ *testing.T, stat string) { _ = parseCPUTimes(stat) })
}
