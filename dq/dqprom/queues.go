package dqprom

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// scrapeTimeout bounds what one scrape asks the server for.
const scrapeTimeout = 2 * time.Second

// Queues asks a server for the counts of queues at each scrape: six reads a queue, in one pipeline, no one
// of which depends on the counts. Use NewQueues.
type Queues struct {
	client redis.UniversalClient
	queues []string
}

var (
	waiting = describe("dq_waiting", "Messages that wait for their time.")
	ready   = describe("dq_ready", "Messages that wait for a consumer.")
	overdue = describe("dq_overdue_seconds", "How long the earliest message that waits has been due.")
	held    = describe("dq_held", "Messages that Workers hold.")
	dead    = describe("dq_dead", "Dead letters of Workers.")
)

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"queue"}, nil)
}

// NewQueues returns a collector for destination queues, of which names may be given in any order, each once.
func NewQueues(client redis.UniversalClient, queues ...string) *Queues {
	return &Queues{client: client, queues: queues}
}

// Describe implements prometheus.Collector.
func (q *Queues) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waiting, ready, overdue, held, dead} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A queue that cannot be asked makes the scrape an error.
func (q *Queues) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for _, name := range q.queues {
		if err := q.collect(ctx, name, to); err != nil {
			to <- prometheus.NewInvalidMetric(waiting, fmt.Errorf("queue %q: %w", name, err))
		}
	}
}

func (q *Queues) collect(ctx context.Context, name string, to chan<- prometheus.Metric) error {
	names, leases := wire.NamesOf(name), scripts.LeaseNamesOf(name)
	var counts [5]*redis.IntCmd
	var head *redis.ZSliceCmd
	var now *redis.TimeCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		counts = [...]*redis.IntCmd{p.ZCard(ctx, names.TimeoutSet), p.LLen(ctx, names.Destination), p.ZCard(ctx, leases.Leases), p.ZCard(ctx, leases.Dead), p.LLen(ctx, leases.Staged)}
		// A score below zero is never due: it is no head.
		head = p.ZRangeByScoreWithScores(ctx, names.TimeoutSet, &redis.ZRangeBy{Min: "0", Max: "+inf", Count: 1})
		now = p.Time(ctx)
		return nil
	})
	if err != nil {
		return err
	}
	late := 0.
	if first := head.Val(); len(first) > 0 {
		late = max(0, float64(now.Val().UnixMilli())-first[0].Score) / 1000
	}
	counts[1].SetVal(counts[1].Val() + counts[4].Val()) // a Worker has staged these, and may be gone
	for i, desc := range []*prometheus.Desc{waiting, ready, held, dead} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(counts[i].Val()), label(name))
	}
	to <- prometheus.MustNewConstMetric(overdue, prometheus.GaugeValue, late, label(name))
	return nil
}

// label is a name as Prometheus takes it, which is UTF-8: others are quoted.
func label(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strconv.Quote(name)
}
