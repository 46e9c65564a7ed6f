// Masters measures one logical queue, a dq.Partitioned, as its Cluster grows from 1 to 3 and 6 masters, by dq-bench's
// own load with the driver dq,partitions=6, and writes recordings/MASTERS.md.
//
//	make masters
//
// On a machine with fewer processors than servers throughput does not grow with the masters. What each of them has to
// do of the same load is what is shown: its processor time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/server"
)

const (
	// longest is the delay of the latest message; from then on as many come as are offered.
	longest = 3 * time.Second
	// idle is how long a cluster is watched that does nothing.
	idle = 3 * time.Second
	// grace bounds a measurement, beyond the time of its load.
	grace = 2 * time.Minute
	queue = "orders"
)

// rows are what is measured: the same queue on more and more masters, and an ordinary one before that.
var rows = []struct{ masters, partitions int }{{1, 1}, {1, 6}, {3, 6}, {6, 6}}

func main() {
	out := flag.String("out", "recordings", "the folder of MASTERS.md")
	rate := flag.Float64("rate", 2000, "messages a second, in each row")
	length := flag.Duration("for", 30*time.Second, "how long messages are offered, in each row")
	flag.Parse()
	if err := report(context.Background(), *out, *rate, *length); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// seen is what one row came to.
type seen struct {
	document *run.Document
	version  string
	idle     []float64 // of each master, the share of a processor that it takes without a load
	share    []float64 // and under it, once as many messages come as are offered
}

func report(ctx context.Context, out string, rate float64, length time.Duration) error {
	if length <= 2*longest {
		return fmt.Errorf("-for: expected more than %s, got %s", 2*longest, length)
	}
	var b strings.Builder
	var invalid []string
	for i, row := range rows {
		fmt.Fprintf(os.Stderr, "%d partitions on %d masters\n", row.partitions, row.masters)
		s, err := measure(ctx, row.masters, row.partitions, rate, length)
		if err != nil {
			return fmt.Errorf("%d partitions on %d masters: %w", row.partitions, row.masters, err)
		}
		if i == 0 {
			head(&b, s.version, rate, length)
		}
		if v := s.document.Validity; v != nil && !v.Valid {
			invalid = append(invalid, fmt.Sprintf("\n%d partitions on %d masters: invalid, %s\n", row.partitions, row.masters, strings.Join(v.Reasons, "; ")))
		}
		s.row(&b, row.masters, row.partitions, length)
	}
	b.WriteString(strings.Join(invalid, ""))
	return run.WriteWhole(filepath.Join(out, "MASTERS.md"), []byte(b.String()))
}

func head(b *strings.Builder, version string, rate float64, length time.Duration) {
	fmt.Fprintf(b, "# One queue on several masters\n\nBy `make masters`, %s UTC, on Redis %s, %d processors, %s/%s, %s. [The guide](../docs/guides/partitions.md) has what a partition is.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04"), version, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(b, "%.0f messages a second, of 100 bytes, due after 1 to 3 s, for %s, to one logical queue of so many partitions, in a Redis Cluster of so many masters, all on this machine: "+
		"what shows is how the masters share the load, not how much more they carry. A master's load is the processor time that it took, of a second, while as many messages came as were offered.\n\n", rate, length)
	b.WriteString("| masters | partitions | messages/s | past due p50, p99 | server time a message | load of each master | idle | the busiest's share |\n|---|---|---|---|---|---|---|---|\n")
}

// row writes a row of the table.
func (s seen) row(b *strings.Builder, masters, partitions int, length time.Duration) {
	d := s.document
	total, each := 0., make([]string, 0, masters)
	for _, share := range s.share {
		total += share
		each = append(each, fmt.Sprintf("%.1f %%", 100*share))
	}
	rate := float64(d.Counts.Delivered) / length.Seconds()
	fmt.Fprintf(b, "| %d | %d | %.0f | %s, %s | %s | %s | %.1f %% | %.0f %% |\n", masters, partitions, rate,
		run.FormatNs(d.Histograms.PastDue.Quantile(.5)), run.FormatNs(d.Histograms.PastDue.Quantile(.99)),
		run.FormatNs(int64(total/rate*1e9)), strings.Join(each, ", "), 100*slices.Max(s.idle), 100*slices.Max(s.share)/total)
}

// measure runs the load on a cluster of its own.
func measure(ctx context.Context, masters, partitions int, rate float64, length time.Duration) (s seen, err error) {
	ctx, cancel := context.WithTimeout(ctx, length+grace)
	defer cancel()
	c, err := server.StartClusterSet(ctx, server.ClusterOptions{Masters: masters})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s.version = c.Version
	if s.idle, err = watch(ctx, c, idle); err != nil {
		return s, err
	}
	d, err := spec.Parse("dq,partitions=" + strconv.Itoa(partitions))
	if err != nil {
		return s, err
	}
	client := c.NewClient()
	defer client.Close()
	p := plan.DefaultPlan()
	p.Producers, p.Rate, p.Duration, p.Queue = 16, plan.Rate(rate), length, queue
	p.Delay = plan.Delay{Min: time.Second, Max: longest}
	p.Warmup, p.WarmupEnds = longest, false
	var watched error
	result, err := load.Run(ctx, load.Options{
		Plan: p, Driver: d, RedisURL: c.DriverURL(), RunID: uint32(time.Now().Unix()), OwnQueue: true,
		Redis: &load.Redis{Client: client, Queue: queue},
		Meanwhile: func(ctx context.Context, start time.Time) {
			if watched = until(ctx, start.Add(longest)); watched == nil {
				s.share, watched = watch(ctx, c, time.Until(start.Add(length)))
			}
		},
	})
	if err := errors.Join(err, watched); err != nil {
		return s, err
	}
	s.document = result.Report
	if counts := s.document.Counts; counts.Delivered != counts.Offered || counts.Duplicate > 0 {
		return s, fmt.Errorf("of %d messages %d came, %d of them twice", counts.Offered, counts.Delivered, counts.Duplicate)
	}
	return s, nil
}

func until(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch returns for each node the share of a processor that it takes for so long.
func watch(ctx context.Context, c *server.ClusterSet, length time.Duration) ([]float64, error) {
	before, err := processorTimes(ctx, c)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := until(ctx, began.Add(length)); err != nil {
		return nil, err
	}
	after, err := processorTimes(ctx, c)
	took := time.Since(began).Seconds()
	for i := range before {
		after[i] = (after[i] - before[i]) / took
	}
	return after, err
}

// processorTimes asks each node, in seconds.
func processorTimes(ctx context.Context, c *server.ClusterSet) ([]float64, error) {
	all := make([]float64, len(c.Nodes()))
	for i, n := range c.Nodes() {
		client := n.NewClient()
		info, err := client.InfoMap(ctx, "cpu").Result()
		_ = client.Close()
		if err != nil {
			return all, err
		}
		for _, field := range []string{"used_cpu_sys", "used_cpu_user"} {
			seconds, err := strconv.ParseFloat(info["CPU"][field], 64)
			if err != nil {
				return all, fmt.Errorf("INFO cpu of %s: %w", n, err)
			}
			all[i] += seconds
		}
	}
	return all, nil
}
