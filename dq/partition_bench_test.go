package dq_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// BenchmarkPartitions has one Worker handle one logical queue of six partitions on a Redis Cluster of 1, 3 and 6 masters, and
// reports the largest and the smallest share of a master in the processor time of all: a third and a sixth are even.
func BenchmarkPartitions(b *testing.B) {
	const n, partitions = 30_000, 6
	for _, masters := range []int{1, 3, 6} {
		b.Run(fmt.Sprint(masters), func(b *testing.B) {
			for range b.N {
				s := redistest.Cluster(b, masters, 0)
				client, err := dq.NewClient(clusterClient(b, s))
				require.NoError(b, err)
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				worker := dq.NewWorker(client, dq.WorkerOptions{Concurrency: 50})
				queues := make([]*dq.Queue[string], partitions)
				var handled atomic.Int64
				for i := range queues {
					queues[i], err = dq.NewQueue(client, dq.PartitionName("orders", i), codec.String{})
					require.NoError(b, err)
					dq.Handle(worker, queues[i], func(context.Context, *dq.Message[string]) error {
						if handled.Add(1) == n {
							cancel()
						}
						return nil
					})
				}
				before := processorTimes(b, s)
				values := make([]string, n/partitions)
				for i := range values {
					values[i] = fmt.Sprint("order ", i)
				}
				for _, q := range queues {
					_, err := q.OfferAll(ctx, 0, values...)
					require.NoError(b, err)
				}
				began := time.Now()
				require.NoError(b, worker.Run(ctx))
				rate := n / time.Since(began).Seconds()
				var all, most float64
				least := 1e9
				for i, used := range processorTimes(b, s) {
					used -= before[i]
					all, most, least = all+used, max(most, used), min(least, used)
				}
				require.NoError(b, client.Close())
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(rate, "msg/s")
				b.ReportMetric(100*most/all, "most-%")
				b.ReportMetric(100*least/all, "least-%")
			}
		})
	}
}

// processorTimes returns what each server has used, in seconds.
func processorTimes(b *testing.B, s *redistest.ClusterSet) (all []float64) {
	b.Helper()
	for _, n := range s.Nodes() {
		info, err := connect(b, n.URL()).Info(b.Context(), "cpu").Result()
		require.NoError(b, err)
		used := 0.0
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "used_cpu_user" || name == "used_cpu_sys" {
				seconds, err := strconv.ParseFloat(value, 64)
				require.NoError(b, err)
				used += seconds
			}
		}
		all = append(all, used)
	}
	return all
}
