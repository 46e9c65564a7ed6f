package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/redistest"
)

// BenchmarkHandled handles messages that are there, each under a lease, by a dq.Worker and by asynq in turn on servers of their
// own, and reports the rates and their ratio.
//
//	DQ_REDIS=process go test ./asynq -run '^$' -bench Handled -benchtime 1x
func BenchmarkHandled(b *testing.B) {
	const n = 20_000
	for _, handlers := range []int{1, 8, 100} {
		b.Run(fmt.Sprint(handlers), func(b *testing.B) {
			for range b.N {
				ours, theirs := byWorker(b, n, handlers), byAsynq(b, n, handlers)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ours, "dq-msg/s")
				b.ReportMetric(theirs, "asynq-msg/s")
				b.ReportMetric(ours/theirs, "ratio")
			}
		})
	}
}

func byWorker(b *testing.B, n, handlers int) float64 {
	b.Helper()
	rdb := redistest.Start(b)
	client, err := dq.NewClient(rdb)
	require.NoError(b, err)
	defer client.Close()
	queue, err := dq.NewQueue(client, "orders", codec.String{})
	require.NoError(b, err)
	_, err = rdb.Pipelined(b.Context(), func(p goredis.Pipeliner) error {
		for i := range n {
			p.RPush(b.Context(), "orders", fmt.Sprint(i))
		}
		return nil
	})
	require.NoError(b, err)
	worker := dq.NewWorker(client, dq.WorkerOptions{Concurrency: handlers})
	ctx, cancel := context.WithCancel(b.Context())
	var handled atomic.Int64
	dq.Handle(worker, queue, func(context.Context, *dq.Message[string]) error {
		if handled.Add(1) == int64(n) {
			cancel()
		}
		return nil
	})
	began := time.Now()
	require.NoError(b, worker.Run(ctx))
	return float64(n) / time.Since(began).Seconds()
}

func byAsynq(b *testing.B, n, handlers int) float64 {
	b.Helper()
	rdb := redistest.Start(b)
	client := asynq.NewClientFromRedisClient(rdb)
	for i := range n {
		_, err := client.EnqueueContext(b.Context(), asynq.NewTask("order", []byte(fmt.Sprint(i))))
		require.NoError(b, err)
	}
	server := asynq.NewServerFromRedisClient(rdb, asynq.Config{Concurrency: handlers, LogLevel: asynq.FatalLevel})
	all := make(chan struct{})
	var handled atomic.Int64
	began := time.Now()
	require.NoError(b, server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if handled.Add(1) == int64(n) {
			close(all)
		}
		return nil
	})))
	<-all
	took := time.Since(began)
	server.Shutdown()
	return float64(n) / took.Seconds()
}
