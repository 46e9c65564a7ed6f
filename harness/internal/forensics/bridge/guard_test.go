package bridge_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
)

// wallClock is a clock that can be set.
type wallClock struct {
	clock.Clock
	ahead atomic.Int64
}

func (c *wallClock) Now() time.Time {
	return c.Clock.Now().Round(0).Add(time.Duration(c.ahead.Load()))
}

func (c *wallClock) NewTimer() clock.Timer { return wallTimer{c.Clock.NewTimer(), c} }

// wallTimer is set by the clock as it is then.
type wallTimer struct {
	clock.Timer
	wall *wallClock
}

func (t wallTimer) Reset(at time.Time) { t.Timer.Reset(at.Add(-time.Duration(t.wall.ahead.Load()))) }

// By a clock that is set an hour ahead all is due: a bridge that followed it would deliver to everybody what is not.
func TestAClockThatIsSetWrongIsNotFollowed(t *testing.T) {
	b := setup(t)
	due := time.Now().Add(1500 * time.Millisecond)
	b.offer(dLc0, due, "a")
	wall := &wallClock{Clock: clock.System()}
	_, end := b.start(bridge.Options{Queues: []string{"orders"}, Clock: wall})
	b.eventually(b.noticed("bridged"), "it runs")
	wall.ahead.Store(int64(time.Hour))
	b.offer(bc0Lc0, due.Add(-time.Millisecond), "b")
	b.eventually(b.noticed("set by 1h0m0s, which is not followed: that of the server is nearer"), "the server is asked")
	b.eventually(func() bool { return len(b.delivered()) == 2 }, "they come")
	require.False(t, time.Now().Before(due.Truncate(time.Millisecond)), "they are early")
	require.Equal(t, []string{"b", "a"}, b.delivered())
	end()
}

// A user who may not ask the server follows the clock, and is told.
func TestAClockIsFollowedWhereTheServerDoesNotTell(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", "-time").Err())
	wall := &wallClock{Clock: clock.System()}
	b.start(bridge.Options{Queues: []string{"orders"}, Clock: wall})
	b.eventually(b.noticed("bridged"), "it runs")
	wall.ahead.Store(int64(time.Hour))
	b.offer(bc0Lc0, time.Now().Add(time.Minute), "a")
	b.eventually(b.noticed("which is followed, for the server does not tell its own: "), "it is told")
	b.eventually(func() bool { return len(b.delivered()) == 1 }, "it is due by that clock")
}
