package load

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Start is when the workers of a run begin: an instant that all are told, or a
// time after the first of them asks the server. By the server's clock.
type Start struct {
	At    time.Time
	After time.Duration
}

// ParseStart reads an RFC 3339 time, or +5s.
func ParseStart(text string) (Start, error) {
	if len(text) > 0 && text[0] == '+' {
		d, err := time.ParseDuration(text[1:])
		if err == nil && d > 0 {
			return Start{After: d}, nil
		}
	} else if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return Start{At: at}, nil
	}
	return Start{}, fmt.Errorf("start-at: expected a time such as 2026-01-31T12:00:00Z, or +5s, got %q", text)
}

// SharedID is a run id that all workers of a run come to by themselves. A plan
// whose queue is still to be named has none.
func SharedID(p plan.Plan, workers int, start time.Time) uint32 {
	return uint32(planHash(p, workers, start))
}

func planHash(p plan.Plan, workers int, start time.Time) uint64 {
	h := fnv.New64a()
	// A plan of texts and numbers always encodes.
	data, _ := json.Marshal(plan.Part{Plan: p})
	fmt.Fprintf(h, "%s %s %d %d", p.Name, data, workers, start.UnixNano())
	return h.Sum64()
}

// Resolve returns the instant by the server's clock, or without a client by this
// machine's.
func (s Start) Resolve(ctx context.Context, client redis.UniversalClient) (time.Time, error) {
	switch {
	case !s.At.IsZero():
		return s.At, nil
	case client == nil:
		return time.Now().Add(s.After), nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	now, err := client.Time(asking).Result()
	if err != nil {
		return now, fmt.Errorf("start-at: TIME: %w", err)
	}
	return now.Add(s.After), nil
}

// Meet agrees with the other workers on the start, and refuses a worker that is
// there already. The workers of a run find each other by the plan: two runs of
// the same plan need different queues, or one after the other.
func Meet(ctx context.Context, client redis.UniversalClient, p plan.Plan, w plan.Worker, s Start) (time.Time, error) {
	meeting, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	key := fmt.Sprintf("dq-bench:start:%016x", planHash(p, w.Count, s.At))
	at, err := s.Resolve(meeting, client)
	if err != nil {
		return at, err
	}
	worker := "worker:" + strconv.Itoa(w.Number%w.Count)
	var first *redis.BoolCmd
	var agreed *redis.StringCmd
	_, err = client.TxPipelined(meeting, func(tx redis.Pipeliner) error {
		tx.HSetNX(meeting, key, "at", at.UnixMicro())
		first = tx.HSetNX(meeting, key, worker, 1)
		agreed = tx.HGet(meeting, key, "at")
		tx.PExpire(meeting, key, max(time.Until(at), time.Second))
		return nil
	})
	if err != nil {
		return at, fmt.Errorf("meet the other workers: %w", err)
	}
	if !first.Val() {
		return at, fmt.Errorf("worker %s of this run is there already; give each worker a number of its own", w)
	}
	us, err := agreed.Int64()
	if err != nil {
		return at, fmt.Errorf("meet the other workers: expected a time at key %q, got %q", key, agreed.Val())
	}
	return time.UnixMicro(us).UTC(), nil
}
