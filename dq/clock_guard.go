package dq

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

// timeTimeout bounds the question for the server's clock.
const timeTimeout = 2 * time.Second

// guardClock chooses the clock of a new Client.
func (c *Client) guardClock() {
	guarded := c.clock == nil
	if guarded {
		c.clock = clock.System()
	}
	if c.guarded != nil {
		guarded = *c.guarded
	}
	if !guarded || c.conn.Strict {
		return
	}
	c.guard = clock.NewStepFilter(c.ctx, c.clock, c.serverTime, func(s clock.StepEvent) { c.tell(ClockSet{s}) })
	c.clock = c.guard
}

// serverTime asks a server what time it is. Any will do, for members have no clock of their own.
func (c *Client) serverTime(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, timeTimeout)
	defer cancel()
	reply := c.conns.Send(ctx, conn.Request{Lane: conn.Background, Commands: [][]any{{"TIME"}}})[0]
	if err, ok := reply.(error); ok {
		if forbidden(err) || strings.HasPrefix(err.Error(), "ERR ") && !passes(err) {
			return time.Time{}, fmt.Errorf("%w: %w", clock.ErrCannotTell, err)
		}
		return time.Time{}, err
	}
	var seconds, micros int64
	if _, err := fmt.Sscanf(fmt.Sprint(reply), "[%d %d]", &seconds, &micros); err != nil {
		return time.Time{}, fmt.Errorf("%w: expected two numbers, got %v", clock.ErrCannotTell, reply)
	}
	return time.Unix(seconds, micros*int64(time.Microsecond)), nil
}
