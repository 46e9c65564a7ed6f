// Command asynq drives the task queue hibiken/asynq under the driver protocol:
//
//	dq-bench run --driver 'exec:bin/dq-peer-asynq'
//
// Due times are whole seconds, cut down, so that a message may come up to a second early. A forwarder looks every five seconds for due
// tasks, and an idle server every second for pending ones, so that a message may come up to six seconds late. Early deliveries fail the
// run with exit code 99: a finding about asynq, not a fault of the measurement. A message is acknowledged, tried again if its handler
// failed, and given back by a lease if its process died.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
)

const (
	// taskType is the one type of task that is used.
	taskType = "dq-bench"
	// shutdownTimeout is the time for handlers to notice that the queue is closed.
	shutdownTimeout = time.Second
	// pageSize is how many tasks one look reads.
	pageSize = 1000
	// connections is the pool of the one client that a queue uses for everything, and handlers how many tasks it hands out at once.
	connections, handlers = 64, 64
)

func main() {
	if err := serve.Serve(os.Stdin, os.Stdout, asynqDriver{Concurrency: handlers}); err != nil {
		fmt.Fprintln(os.Stderr, "dq-peer-asynq:", err)
		os.Exit(1)
	}
}

// asynqDriver opens asynq queues by a configuration, in which 0 is the library's default.
type asynqDriver asynq.Config

// Identity is asynq, and the version this program was built with.
func (asynqDriver) Identity() driver.Identity {
	version := "unknown" // in a binary that was built without modules
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/hibiken/asynq" {
				version = strings.TrimPrefix(dep.Version, "v")
			}
		}
	}
	return driver.Identity{Name: "asynq", Version: version}
}

// Open starts an asynq server, whose only handler waits for a consumer.
func (d asynqDriver) Open(ctx context.Context, redisURL, name string) (driver.Queue, error) {
	opt, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	opt.PoolSize = max(opt.PoolSize, connections)
	rdb := redis.NewClient(opt)
	q := &queue{
		name: name, rdb: rdb, client: asynq.NewClientFromRedisClient(rdb), inspector: asynq.NewInspectorFromRedisClient(rdb),
		handed: make(chan []byte), closed: make(chan struct{}),
	}
	config := asynq.Config(d)
	config.Queues, config.LogLevel, config.ShutdownTimeout = map[string]int{name: 1}, asynq.FatalLevel, shutdownTimeout
	q.server = asynq.NewServerFromRedisClient(rdb, config)
	if err = rdb.Ping(ctx).Err(); err == nil {
		err = q.server.Start(asynq.HandlerFunc(q.handle))
	}
	if err != nil {
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

	handed  chan []byte // from handlers, each of which waits until its message is taken
	closed  chan struct{}
	closing sync.Once
}

// Offer enqueues a task to be processed after delay. asynq cuts the due time to whole seconds.
func (q *queue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask(taskType, value), asynq.Queue(q.name), asynq.ProcessIn(delay))
	return err
}

// handle waits for a taker. asynq tries a task again that was not taken.
func (q *queue) handle(ctx context.Context, task *asynq.Task) error {
	select {
	case q.handed <- task.Payload():
		return nil
	case <-q.closed:
		return errors.New("the queue was closed before a taker came")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Take waits for a task to be handed out. asynq hears that it is done when this returns.
func (q *queue) Take(ctx context.Context) ([]byte, error) {
	select {
	case value := <-q.handed:
		return value, nil
	case <-q.closed:
		return nil, driver.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// unlessEmpty takes a queue that does not exist for an empty one: asynq makes it with the first task, and its calls differ in their
// errors.
func (q *queue) unlessEmpty(err error) error {
	names, listErr := q.inspector.Queues()
	switch {
	case listErr != nil:
		return errors.Join(err, listErr)
	case slices.Contains(names, q.name):
		return err
	}
	return nil
}

// Held reads the tasks in the order of their lives, so that a task that moves on meanwhile is seen. It counts every state but completed.
func (q *queue) Held(_ context.Context, each func(value []byte)) (int64, error) {
	i := q.inspector
	info, err := i.GetQueueInfo(q.name)
	if err != nil {
		return 0, q.unlessEmpty(err)
	}
	type list func(queue string, opts ...asynq.ListOption) ([]*asynq.TaskInfo, error)
	for _, list := range []list{i.ListScheduledTasks, i.ListPendingTasks, i.ListActiveTasks, i.ListRetryTasks, i.ListArchivedTasks} {
		for page, read := 1, pageSize; read == pageSize; page++ {
			tasks, err := list(q.name, asynq.PageSize(pageSize), asynq.Page(page))
			if err != nil {
				return 0, q.unlessEmpty(err)
			}
			for _, task := range tasks {
				each(task.Payload)
			}
			read = len(tasks)
		}
	}
	return int64(info.Size), nil
}

// Close stops the server, and deletes the queue if it is empty.
func (q *queue) Close() (err error) {
	q.closing.Do(func() {
		close(q.closed)
		defer q.rdb.Close()
		q.server.Shutdown()
		err = q.inspector.DeleteQueue(q.name, false)
		if errors.Is(err, asynq.ErrQueueNotFound) || errors.Is(err, asynq.ErrQueueNotEmpty) {
			err = nil
		}
	})
	return err
}
