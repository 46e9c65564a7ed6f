package dq

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// sweeper puts back what was held too long, until Close.
func (q *ReliableQueue[T]) sweeper() {
	defer close(q.swept)
	release, err := q.client.hold()
	if err != nil {
		return
	}
	defer release()
	cursor := "0"
	var retry backoff
	for wait := time.Duration(0); pause(q.ctx, wait) == nil; {
		next, rest, err := q.sweep(q.ctx, cursor)
		switch {
		case q.ctx.Err() != nil:
			return
		case err != nil:
			wait = retry.next()
			q.options.Failed(in("sweep", q.dest.Name(), err))
			continue
		}
		retry.reset()
		cursor, wait = next, rest
	}
}

// sweep runs the script once, and returns where its look for old counts goes on, and after how long it
// is to run again.
func (q *ReliableQueue[T]) sweep(ctx context.Context, cursor string) (next string, rest time.Duration, err error) {
	n := q.names
	reply, err := q.client.runOwn(ctx, callLane, sweepScript,
		[]string{q.dest.Name(), n.Moved, n.MovedBefore, n.Held, n.Attempts, n.Dead},
		strconv.Itoa(q.options.MaxAttempts), strconv.FormatInt(movedGrace.Milliseconds(), 10), strconv.Itoa(sweepBatch),
		cursor, strconv.FormatInt(attemptsKept.Milliseconds(), 10))
	if err != nil {
		return "", 0, err
	}
	items, ok := reply.([]any)
	if !ok || len(items) != 4 {
		return "", 0, fmt.Errorf("script sweep: expected 4 items from the server, got %.80q", fmt.Sprint(reply))
	}
	returned, _ := items[0].(int64)
	buried, _ := items[1].(int64)
	rest = min(max(q.options.Visibility/10, leastSweepEvery), mostSweepEvery)
	if left, ok := items[2].(int64); ok {
		rest = min(rest, max(time.Duration(left)*time.Millisecond, time.Millisecond))
	}
	if returned+buried >= sweepBatch {
		rest = 0
	}
	if next, ok = items[3].(string); !ok {
		next = "0"
	}
	return next, rest, nil
}
