package series

import (
	"context"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Share is what makes a run one of several workers. The zero value is a run of its
// own that begins as soon as it can.
type Share struct {
	Worker plan.Worker
	// Start may be nil for a run of its own.
	Start *load.Start
}

// ParseShare reads a worker as i/n, and an instant to start at, which may be empty. Its
// error is wrong usage.
func ParseShare(worker, startAt string) (Share, error) {
	w, err := plan.ParseWorker(worker)
	if err != nil || startAt == "" {
		return Share{Worker: w}, err
	}
	start, err := load.ParseStart(startAt)
	return Share{w, &start}, err
}

// Check refuses a share that the cases and the server cannot have. Its error is
// wrong usage.
func (s Share) Check(cases []Case, repeat int, server string) error {
	if s.Start == nil && !s.Worker.Shared() {
		return nil
	}
	switch {
	case len(cases) != 1 || len(cases[0].Sides) != 1 || repeat > 1:
		return errors.New("start-at and worker: expected one run, of one --driver and one --variant without --repeat")
	case !s.Worker.Shared():
		return nil
	case s.Start == nil:
		return errors.New("worker: expected --start-at, so that all workers begin at one instant, such as 2026-01-31T12:00:00Z or +10s")
	case !redis.External(server):
		return fmt.Errorf("worker: expected --redis with the address of a server that all workers share, got %q, which each would start for itself", server)
	}
	return s.Worker.Check(cases[0].Plan)
}

// apply agrees with the other workers on start, run id and queue.
func (s Share) apply(ctx context.Context, o *load.Options, planned plan.Plan) error {
	if s.Start == nil {
		return nil
	}
	var err error
	if !s.Worker.Shared() {
		if o.Redis == nil {
			o.StartAt, err = s.Start.Resolve(ctx, nil)
		} else {
			o.StartAt, err = s.Start.Resolve(ctx, o.Redis.Client)
		}
		return err
	}
	if o.Redis == nil {
		return fmt.Errorf("worker: expected a driver whose messages are on a server that all workers share, got %s", o.Driver.Identity())
	}
	if o.StartAt, err = load.Meet(ctx, o.Redis.Client, planned, s.Worker, *s.Start); err != nil {
		return err
	}
	o.Worker, o.RunID = s.Worker, load.SharedID(planned, s.Worker.Count, o.StartAt)
	if o.OwnQueue {
		o.Plan.Queue = ownQueue(o.RunID)
		o.Redis.Queue = o.Plan.Queue
	}
	return nil
}

// ownQueue is the queue of a run whose plan names none.
func ownQueue(runID uint32) string { return fmt.Sprintf("dq-bench:%08x", runID) }
