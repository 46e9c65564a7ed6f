package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// guardDocument is the document of `guard --json`.
type guardDocument struct {
	Schema string            `json:"schema"`
	Queues []ops.GuardCounts `json:"queues"`
}

func newGuard() *call {
	c := newCall("guard", nil)
	var all bool
	var length time.Duration
	o := ops.GuardOptions{Interval: 500 * time.Millisecond}
	c.live(guardRights)
	c.yes(&all, "all")
	c.span(&o.Ahead, "ahead", 5*time.Second)
	c.span(&o.Stalled, "when-stalled", 5*time.Second)
	c.span(&length, "for", 0)
	c.str(&c.listen, "listen", "")
	c.prints(false)
	c.check = func(queues []string) error {
		const most = 10 * time.Minute
		o.Queues, o.AlwaysAhead, o.Log = queues, c.given("ahead"), c.ErrOrStderr()
		switch err := c.checkQueues(&all, queues, true); {
		case err != nil:
			return err
		case o.Ahead < 100*time.Millisecond || o.Ahead > most:
			return fmt.Errorf("--ahead %v: expected 100ms to %v", o.Ahead, most)
		case o.Stalled < 0 || o.Stalled > most:
			return fmt.Errorf("--when-stalled %v: expected 0s to %v", o.Stalled, most)
		case length < 0:
			return fmt.Errorf("--for %v: expected a time, or 0 to go on until interrupted", length)
		}
		return c.checkListen()
	}
	return c.does(func(queues []string) error {
		return c.onServer(func(_ *redis.Server, conn redis.Conn) error {
			for _, queue := range queues { // one that is to come may be named
				if err := ops.Exists(c.Context(), conn, queue, c.redis); err != nil {
					c.notice("dq-bench: %v", err)
				}
			}
			return c.guard(ops.NewGuard(conn, o), length)
		})
	})
}

func (c *call) guard(guard *ops.Guard, length time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Context(), cmp.Or(length, math.MaxInt64))
	defer cancel()
	at, done, err := c.served(nil, guard)
	if err != nil {
		return err
	}
	defer done() //nolint:errcheck // the guard has ended
	if at != "" {
		c.notice(`{"did":"serves metrics","at":%q}`, at+"metrics")
	}
	c.notice(`{"did":"starts","until":%q}`, cmp.Or(strings.TrimPrefix(length.String(), "0s"), "interrupted"))
	wrong, counts := guard.Run(ctx), guard.Counts()
	if wrong != nil && len(counts) == 0 {
		return wrong
	}
	for _, q := range counts {
		switch {
		case wrong != nil:
		case q.Error != "":
			wrong = fmt.Errorf("queue %q: %s", q.Queue, q.Error)
		case q.Aside > 0:
			wrong = fmt.Errorf("queue %q: unreadable members were set aside: %d", q.Queue, q.Aside)
		}
	}
	document := guardDocument{"dq-bench/guard/v1", counts}
	return cmp.Or(c.says(document, form("guard.tmpl", document)), failed(wrong != nil, "%w", wrong))
}
