package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/driver"
)

const (
	module = "github.com/hibiken/asynq"
	// taskType is the one type of task that is used.
	taskType = "dq-bench"
	// shutdownTimeout is what handlers get to notice that the queue is closed.
	shutdownTimeout = time.Second
	// pageSize is how many tasks one look reads.
	pageSize = 1000
)

// asynqDriver opens asynq queues, with the library's defaults if a field is 0.
type asynqDriver struct {
	// Check is asynq's TaskCheckInterval, 1 s by default: how often an idle server looks for pending tasks.
	Check time.Duration
	// Forward is asynq's DelayedTaskCheckInterval, 5 s by default: how often scheduled tasks that are due become pending.
	Forward time.Duration
	// Handlers is asynq's Concurrency: how many tasks may be handed out at once.
	Handlers int
}

// Identity is asynq, the version this program was built with, and the intervals that are not the default.
func (d asynqDriver) Identity() driver.Identity {
	version := moduleVersion(module)
	if d.Check > 0 {
		version += ",check=" + d.Check.String()
	}
	if d.Forward > 0 {
		version += ",forward=" + d.Forward.String()
	}
	return driver.Identity{Name: "asynq", Version: version}
}

// Open starts an asynq server for each name.
func (d asynqDriver) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(name string) (driver.Queue, error) { return d.open(ctx, target, name) })
}

// open starts an asynq server whose only handler waits for a taker.
func (d asynqDriver) open(ctx context.Context, target driver.Target, name string) (driver.Queue, error) {
	rdb, err := connect(ctx, target.RedisURL)
	if err != nil {
		return nil, err
	}
	q := &queue{
		name: name, rdb: rdb, client: asynq.NewClientFromRedisClient(rdb), inspector: asynq.NewInspectorFromRedisClient(rdb),
		handover: newHandover(),
	}
	q.server = asynq.NewServerFromRedisClient(rdb, asynq.Config{
		Concurrency: d.Handlers, TaskCheckInterval: d.Check, DelayedTaskCheckInterval: d.Forward,
		Queues: map[string]int{name: 1}, LogLevel: asynq.FatalLevel, ShutdownTimeout: shutdownTimeout,
	})
	if err := q.server.Start(asynq.HandlerFunc(q.handle)); err != nil {
		rdb.Close()
		return nil, fmt.Errorf("asynq: %w", err)
	}
	return q, nil
}

// queue is one asynq queue with a server on it.
type queue struct {
	name      string
	rdb       *redis.Client
	client    *asynq.Client
	server    *asynq.Server
	inspector *asynq.Inspector
	handover  *handover
}

// Offer enqueues a task to be processed after delay. asynq cuts the due time to whole seconds.
func (q *queue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask(taskType, value), asynq.Queue(q.name), asynq.ProcessIn(delay))
	return err
}

// handle has a task taken. asynq tries a task again if no taker arrived.
func (q *queue) handle(ctx context.Context, task *asynq.Task) error {
	return q.handover.give(ctx, task.Payload())
}

// Take waits for a task to be handed out. asynq hears that it is done when this returns.
func (q *queue) Take(ctx context.Context) ([]byte, error) { return q.handover.take(ctx) }

// Held counts the tasks in every state but completed.
func (q *queue) Held(context.Context) (int64, error) {
	info, err := q.inspector.GetQueueInfo(q.name)
	if err != nil {
		return 0, q.unlessEmpty(err)
	}
	return int64(info.Size), nil
}

// unlessEmpty takes a queue that does not exist for an empty one: asynq makes it
// with the first task. Not every call of asynq says so in the same way.
func (q *queue) unlessEmpty(err error) error {
	names, listErr := q.inspector.Queues()
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, name := range names {
		if name == q.name {
			return err
		}
	}
	return nil
}

// Values reads the tasks in the order of their lives, so that one that moves on meanwhile is seen.
func (q *queue) Values(_ context.Context, each func(value []byte)) error {
	i := q.inspector
	type list func(queue string, opts ...asynq.ListOption) ([]*asynq.TaskInfo, error)
	for _, list := range []list{i.ListScheduledTasks, i.ListPendingTasks, i.ListActiveTasks, i.ListRetryTasks, i.ListArchivedTasks} {
		for page := 1; ; page++ {
			tasks, err := list(q.name, asynq.PageSize(pageSize), asynq.Page(page))
			if err != nil {
				return q.unlessEmpty(err)
			}
			for _, task := range tasks {
				each(task.Payload)
			}
			if len(tasks) < pageSize {
				break
			}
		}
	}
	return nil
}

// Close stops the server, and deletes the queue if nothing is left in it.
func (q *queue) Close() error {
	if !q.handover.close() {
		return nil
	}
	defer q.rdb.Close()
	q.server.Shutdown()
	err := q.inspector.DeleteQueue(q.name, false)
	if errors.Is(err, asynq.ErrQueueNotFound) || errors.Is(err, asynq.ErrQueueNotEmpty) {
		return nil
	}
	return err
}
