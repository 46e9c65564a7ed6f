package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// stores are what the implementations of a fleet keep of one queue.
type stores []driver.Store

// stores looks at one queue beside all members. Redis must not be nil.
func (o Options) stores(queue string) stores {
	var all stores
	seen := map[string]bool{}
	for _, m := range o.Plan.fleet() {
		d := m.Driver
		if d == nil {
			d = o.Driver
		}
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
