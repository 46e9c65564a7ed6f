package dq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
)

// The clock of a machine goes wrong by an hour: the server's does not, and nothing comes early, nor
// is anything offered for another time.
func TestAClockThatIsSetWrongIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, set := newShiftedClock(), make(chan dq.ClockSet, 1)
			b := setup(t, dq.WithClock(clock), dq.WithClockStepDetection(true), on(func(e dq.ClockSet) { set <- e }))
			ctx, d := deadline(t), b.delayed(t)
			due := time.Now().Add(500 * time.Millisecond)
			require.NoError(t, d.Offer(ctx, "before", 500*time.Millisecond))
			clock.shift(by)
			require.NoError(t, d.Offer(ctx, "after", time.Hour))
			require.Equal(t, []string{"before"}, takeAll(t, deadline(t), b.queue, 1))
			require.WithinRange(t, time.Now(), due.Add(-10*time.Millisecond), due.Add(time.Minute))
			e := <-set
			require.False(t, e.Followed)
			require.InDelta(t, by, e.By, float64(time.Second))

			members, err := b.redis.ZRangeWithScores(ctx, b.names.TimeoutSet, 0, -1).Result()
			require.NoError(t, err)
			require.Len(t, members, 1)
			require.InDelta(t, due.Add(time.Hour).UnixMilli(), members[0].Score, 60_000)

			clock.shift(-by)
			require.NoError(t, d.Offer(ctx, "put right", time.Hour))
			require.True(t, (<-set).Followed)
		})
	}
}

// Redisson's clients follow the wall clock, and so does one that may not ask the server.
func TestAClockThatNobodyCanJudgeIsFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options []dq.Option
		rights  string
	}{
		"without the right to TIME": {[]dq.Option{dq.WithClockStepDetection(true)}, "-time"},
		"strict":                    {[]dq.Option{dq.WithClockStepDetection(true), dq.WithRedissonCommands()}, "+time"},
		"a clock of one's own":      {nil, "+time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newShiftedClock()
			b := setup(t, append(c.options, dq.WithClock(clock))...)
			ctx := deadline(t)
			require.NoError(t, b.redis.Do(ctx, "ACL", "SETUSER", "default", c.rights).Err())
			d := b.delayed(t)
			require.NoError(t, d.Offer(ctx, "in an hour", time.Hour))
			clock.shift(2 * time.Hour)
			require.NoError(t, d.Offer(ctx, "now", 0))
			require.ElementsMatch(t, []string{"in an hour", "now"}, takeAll(t, deadline(t), b.queue, 2))
		})
	}
}
