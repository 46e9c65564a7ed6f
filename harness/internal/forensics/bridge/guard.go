package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// guardClock has the bridge go by a clock that does not follow one that is set wrong, until end is called: what a
// bridge delivers comes early, or late, to everybody.
func (b *Bridge) guardClock(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	under := b.options.Clock
	if under == nil {
		under = clock.System()
	}
	guard := clock.NewStepFilter(ctx, under, b.serverTime, func(s clock.StepEvent) { b.notice("%s", stepText(s)) })
	b.clock = guard
	return func() {
		cancel()
		guard.Wait()
	}
}

// serverTime asks any server: members have no clock of their own.
func (b *Bridge) serverTime(ctx context.Context) (time.Time, error) {
	limit, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	now, err := redis.Time(limit, b.client)
	if redis.HasErrorPrefix(err, "NOPERM") || err != nil && strings.Contains(err.Error(), "unknown command") {
		return now, fmt.Errorf("%w: %w", clock.ErrCannotTell, err)
	}
	return now, err
}

// stepText says what became of a clock that was set.
func stepText(s clock.StepEvent) string {
	text := fmt.Sprintf("the clock of this machine was set by %v", s.By.Round(time.Millisecond))
	switch {
	case errors.Is(s.Err, clock.ErrCannotTell):
		return fmt.Sprintf("%s, which is followed, for the server does not tell its own: %v", text, s.Err)
	case s.Followed:
		return text + ", which is followed: that of the server is nearer to it now"
	}
	return text + ", which is not followed: that of the server is nearer to what it was"
}
