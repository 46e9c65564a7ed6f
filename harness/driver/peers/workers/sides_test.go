package workers

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

type ours struct {
	client *dq.Client
	queue  *dq.Queue[string]
}

func newDQ(addr string) *ours {
	client := must(dq.NewClient(goredis.NewClient(&goredis.Options{Addr: addr})))
	return &ours{client, must(dq.NewQueue(client, "orders", codec.String{}))}
}

func (s *ours) work(ctx context.Context, _ string, handlers int, handle func(id string) error) (func(), error) {
	w := dq.NewWorker(s.client, dq.WorkerOptions{Concurrency: handlers, Lease: lease})
	dq.Handle(w, s.queue, func(_ context.Context, m *dq.Message[string]) error { return handle(m.Value) })
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() { _ = w.Shutdown(ctx); <-ended; _ = s.client.Close() }, nil
}

func (s *ours) enqueue(ctx context.Context, ids ...string) error {
	_, err := s.queue.OfferAll(ctx, 0, ids...)
	return err
}

func (s *ours) open(ctx context.Context) (waiting, dead int, err error) {
	n, err := s.queue.Counts(ctx)
	return n.Waiting + n.Ready + n.Held, n.Dead, err
}

// asynqSide is hibiken/asynq, whose lease is always 30 s.
type asynqSide struct{ rdb *goredis.Client }

func (s *asynqSide) work(_ context.Context, _ string, handlers int, handle func(id string) error) (func(), error) {
	server := asynq.NewServerFromRedisClient(s.rdb, asynq.Config{
		Concurrency: handlers, LogLevel: asynq.FatalLevel, TaskCheckInterval: 100 * time.Millisecond,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Second },
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error { return handle(string(task.Payload())) }))
	return server.Shutdown, err
}

func (s *asynqSide) enqueue(ctx context.Context, ids ...string) error {
	client := asynq.NewClientFromRedisClient(s.rdb)
	for _, id := range ids {
		if _, err := client.EnqueueContext(ctx, asynq.NewTask("order", []byte(id))); err != nil {
			return err
		}
	}
	return nil
}

func (s *asynqSide) open(context.Context) (waiting, dead int, err error) {
	info, err := asynq.NewInspectorFromRedisClient(s.rdb).GetQueueInfo("default")
	if err != nil {
		return 0, 0, err
	}
	return info.Pending + info.Active + info.Scheduled + info.Retry, info.Archived, nil
}

// riverSide is riverqueue/river on PostgreSQL: jobs of a dead process are rescued after 15 s, as often as river looks.
type riverSide struct{ pool *pgxpool.Pool }

type order struct {
	ID string `json:"id"`
}

func (order) Kind() string { return "order" }

type orderWorker struct {
	river.WorkerDefaults[order]
	handle func(id string) error
}

func (w *orderWorker) Work(_ context.Context, job *river.Job[order]) error {
	return w.handle(job.Args.ID)
}

func newRiver(addr string) *riverSide {
	return &riverSide{must(pgxpool.New(context.Background(), "postgres://postgres@"+addr+"/postgres?sslmode=disable"))}
}

func (s *riverSide) config() *river.Config {
	return &river.Config{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), JobTimeout: 10 * time.Second, RescueStuckJobsAfter: lease,
	}
}

func (s *riverSide) work(ctx context.Context, _ string, handlers int, handle func(id string) error) (func(), error) {
	o := s.config()
	o.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: handlers}}
	o.Workers = river.NewWorkers()
	river.AddWorker(o.Workers, &orderWorker{handle: handle})
	client, err := river.NewClient(riverpgxv5.New(s.pool), o)
	if err != nil {
		return nil, err
	}
	return func() { _ = client.StopAndCancel(context.WithoutCancel(ctx)); s.pool.Close() }, client.Start(context.WithoutCancel(ctx))
}

func (s *riverSide) enqueue(ctx context.Context, ids ...string) error {
	client, err := river.NewClient(riverpgxv5.New(s.pool), s.config())
	if err != nil {
		return err
	}
	all := make([]river.InsertManyParams, len(ids))
	for i, id := range ids {
		all[i] = river.InsertManyParams{Args: order{id}}
	}
	_, err = client.InsertMany(ctx, all)
	return err
}

func (s *riverSide) open(ctx context.Context) (waiting, dead int, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state NOT IN ('completed', 'discarded', 'cancelled')),
		count(*) FILTER (WHERE state = 'discarded') FROM river_job`).Scan(&waiting, &dead)
	return waiting, dead, err
}

// postgres starts a PostgreSQL with river's tables.
func postgres(t *testing.T) (addr string) {
	t.Helper()
	bin, err := exec.LookPath("initdb")
	if err != nil {
		redistest.Missing(t, "postgres", err)
	}
	folder := must(os.MkdirTemp("", "river"))
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	addr = l.Addr().String()
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(addr)
	as := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() == 0 { // which PostgreSQL refuses
		as.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		require.NoError(t, os.Chown(folder, 65534, 65534))
	}
	data := filepath.Join(folder, "data")
	program := func(name string, args ...string) *exec.Cmd {
		p := exec.Command(filepath.Join(filepath.Dir(bin), name), args...) //nolint:noctx // ended below
		p.Dir, p.SysProcAttr = folder, as
		return p
	}
	said, err := program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N").CombinedOutput()
	require.NoError(t, err, "%s", said)
	var log strings.Builder
	server := program("postgres", "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200")
	server.Stderr = &log
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGQUIT); _ = server.Wait() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	pool := newRiver(addr).pool
	defer pool.Close()
	for {
		err := pool.Ping(ctx)
		if err == nil {
			break
		}
		require.NoError(t, ctx.Err(), "%s", &log)
		time.Sleep(50 * time.Millisecond)
	}
	migrator := must(rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}))
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	return addr
}

// must is for what fails only on a broken machine.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
