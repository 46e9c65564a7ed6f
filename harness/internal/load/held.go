package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// values is what holders tell by the values that they hold.
type values struct {
	part    plan.Part
	epoch   epoch
	holders []driver.Holder
}

func (v values) held(ctx context.Context) (int64, error) {
	total := int64(0)
	for _, h := range v.holders {
		held, err := h.Held(ctx)
		if err != nil {
			return 0, err
		}
		total += held
	}
	return total, nil
}

func (v values) sets(ctx context.Context, phase plan.Phase) (held, notDue []byte, err error) {
	p := v.part.Plan
	n := p.Phase(phase).Schedule.Messages()
	held, notDue = make([]byte, (n+7)/8), make([]byte, (n+7)/8)
	now := v.epoch.wall(time.Now())
	for _, holder := range v.holders {
		err := holder.Values(ctx, func(value []byte) {
			h, ok := plan.FindPayload(value)
			i := int64(h.Seq)*int64(p.Producers) + int64(h.Producer)
			if !ok || h.RunID != v.part.RunID || h.Phase != phase || int(h.Producer) >= p.Producers || i >= n {
				return
			}
			held[i/8] |= 1 << (i % 8)
			if h.Due > now {
				notDue[i/8] |= 1 << (i % 8)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return held, notDue, nil
}

// stores are what the implementations of a run keep of one queue.
type stores []driver.Store

// stores looks at one queue beside all members. Redis must not be nil.
func (o Options) stores(queue string) stores {
	var all stores
	seen := map[string]bool{}
	for _, d := range o.drivers() {
		store, kind := d.Store(o.Redis.Client, queue), d.Identity().String()
		if _, ok := store.(driver.Keys); ok {
			kind = "redisson"
		}
		if store != nil && !seen[kind] {
			seen[kind] = true
			all = append(all, store)
		}
	}
	return all
}

// Held adds up.
func (s stores) Held(ctx context.Context) (int64, error) {
	total := int64(0)
	for _, store := range s {
		held, err := store.Held(ctx)
		if err != nil {
			return 0, err
		}
		total += held
	}
	return total, nil
}

// Values reads one after the other.
func (s stores) Values(ctx context.Context, each func(value []byte)) error {
	for _, store := range s {
		if err := store.Values(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// Clear clears all, whatever fails.
func (s stores) Clear(ctx context.Context) error {
	var errs []error
	for _, store := range s {
		if err := store.Clear(ctx); err != nil {
			errs = append(errs, fmt.Errorf("clean up: %w", err))
		}
	}
	return errors.Join(errs...)
}
