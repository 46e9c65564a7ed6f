package dqprom_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/dqprom"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// A service that cancels unpaid orders: three handlers, retries, dead letters, metrics, and a clean end by SIGTERM.
func Example_service() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := redis.Start(ctx, "embedded", nil) // in your program: goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:6379"})
	if err != nil {
		log.Fatal(err) //nolint:gocritic // the example ends anyway
	}
	defer server.Close()
	rdb, err := redis.NewClient(server.URL())
	if err != nil {
		log.Fatal(err)
	}
	defer rdb.Close()
	if err := serve(ctx, rdb); err != nil {
		log.Fatal(err)
	}
	// Output:
	// order 7 is cancelled
	// order 8 is dead: order 8 is unknown
}

type timeout struct{ Order int }

func serve(ctx context.Context, rdb goredis.UniversalClient) error {
	metrics, dead := dqprom.NewMetrics(), make(chan dq.Dead, 10)
	prometheus.NewRegistry().MustRegister(metrics, dqprom.NewQueues(rdb, "order-timeouts")) // served by promhttp
	client, err := dq.NewClient(rdb, dq.WithObserver(metrics.Observe), dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(dq.Dead); ok {
			dead <- e
		}
	}))
	if err != nil {
		return err
	}
	defer client.Close()
	timeouts, err := dq.NewQueue(client, "order-timeouts", codec.JSON[timeout]{})
	if err != nil {
		return err
	}
	worker := dq.NewWorker(client, dq.WorkerOptions{Concurrency: 3, MaxAttempts: 2, Backoff: func(int) time.Duration { return 10 * time.Millisecond }})
	dq.Handle(worker, timeouts, func(_ context.Context, m *dq.Message[timeout]) error { return cancelOrder(m.Value.Order) })
	running := make(chan error, 1)
	go func() { running <- worker.Run(ctx) }()

	for _, order := range []int{7, 8} { // in the handler of POST /orders
		if _, err := timeouts.Offer(ctx, timeout{order}, time.Duration(order-6)*50*time.Millisecond); err != nil {
			return err
		}
	}
	go func() {
		fmt.Println("order 8 is dead:", (<-dead).Reason)
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM) // as the platform does
		}
	}()

	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(worker.Shutdown(ending), <-running)
}

func cancelOrder(order int) error {
	if order != 7 {
		return fmt.Errorf("order %d is unknown", order)
	}
	fmt.Println("order", order, "is cancelled")
	return nil
}
