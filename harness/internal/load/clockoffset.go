package load

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// ClockOffset is how far the clock of a server is ahead of this machine's.
type ClockOffset struct {
	// Ahead is server minus machine, Error the most that it may be wrong by: half
	// the round trip of the quickest answer.
	Ahead, Error time.Duration
}

// String is the offset in one line.
func (c ClockOffset) String() string {
	return fmt.Sprintf("clock: the server's is %+d µs to this machine's, ±%d µs (not corrected for)", c.Ahead.Microseconds(), c.Error.Microseconds())
}

// clockSamples is how often the server's clock is asked.
const clockSamples = 16

// ClockOffset asks the server for TIME several times and believes the answer that
// came quickest, as Cristian's algorithm does. In a cluster it asks the master of
// the queue's slot.
func (r *Redis) ClockOffset(ctx context.Context) (ClockOffset, error) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, master, err := r.Conn.MasterOf(asking, r.Queue)
	if err != nil {
		return ClockOffset{}, fmt.Errorf("master of queue %q: %w", r.Queue, err)
	}
	var best ClockOffset
	for i := range clockSamples {
		before := time.Now()
		server, err := redis.Time(asking, master)
		took := time.Since(before)
		if err != nil {
			return ClockOffset{}, fmt.Errorf("TIME: %w", err)
		}
		// The answer is in whole microseconds, cut down.
		sample := ClockOffset{Ahead: server.Sub(before.Round(0).Add(took / 2)), Error: took/2 + time.Microsecond}
		if i == 0 || sample.Error < best.Error {
			best = sample
		}
	}
	return best, nil
}
