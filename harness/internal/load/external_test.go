package load

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Logged reads how many values a lateness.hlog has.
func Logged(log []byte) (values int64) {
	lines := hdr.NewHistogramLogReader(bytes.NewReader(log))
	for h, err := lines.NextIntervalHistogram(); h != nil && err == nil; h, err = lines.NextIntervalHistogram() {
		values += h.TotalCount()
	}
	return values
}

// A real Redisson runs each plan by itself. The first time fetches it, so only where DQ_REQUIRE asks for that.
func TestRunOnARealRedisson(t *testing.T) {
	for name, tc := range map[string]struct {
		driver string
		change func(p *plan.Plan)
	}{
		"plain":              {"redisson:3.16.6", func(*plan.Plan) {}},
		"many queues":        {"redisson:3.16.6", func(p *plan.Plan) { p.Producers, p.Queues = 2, 4 }},
		"polling":            {"redisson:3.16.6", func(p *plan.Plan) { p.Poll = 5 * time.Millisecond }},
		"the oldest release": {"redisson:2.15.2", func(*plan.Plan) {}},
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Redisson(t, strings.TrimPrefix(tc.driver, "redisson:"))
			d, err := spec.Parse(tc.driver)
			require.NoError(t, err)
			p := testPlan()
			p.Consumers, p.Rate, p.Duration, p.Warmup, p.Queue = 8, 100, time.Second, 500*time.Millisecond, "own"
			tc.change(&p)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			o := Options{Plan: p, Driver: d, Notice: func(line string) { t.Log(line) }}
			client := OnRedis(t, redistest.Redis(t), &o)
			result, err := Run(ctx, o)
			if err != nil && strings.Contains(err.Error(), "Subscribe timeout") { // seen of Redisson 3.16.6 on a busy machine
				result, err = Run(ctx, o)
			}
			require.NoError(t, err)
			r := result.Report
			require.True(t, r.Judge(nil).Passed, r.Verdict.Text)
			require.EqualValues(t, 100, r.Counts.Delivered)
			require.Equal(t, tc.driver, r.Driver.String())
			require.Positive(t, r.ServerStats.TransferCalls)
			require.NotNil(t, r.Machine.Late, "the program tells when the latest came")
			require.Empty(t, r.Notes)
			requireNoKeys(t, client)
		})
	}
}

// The real Redisson is interrupted as dq is: no more offers, what is due soon is
// drained, the rest is pending, and there is a report.
func TestInterruptedRedissonStillReports(t *testing.T) {
	redistest.Redisson(t, "4.7.0")
	d, err := spec.Parse("redisson:4.7.0")
	require.NoError(t, err)
	p := testPlan()
	p.Rate, p.Duration, p.Warmup, p.Queue, p.DrainTimeout = 200, time.Hour, 500*time.Millisecond, "own", time.Second
	p.Delay = plan.Between(10*time.Millisecond, 20*time.Second)
	deadline, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ctx, interrupt := context.WithCancel(deadline)
	defer interrupt()
	o := Options{Plan: p, Driver: d, Progress: func(p Progress) {
		if p.Phase == plan.Measured && p.Delivered > 0 {
			interrupt()
		}
	}}
	client := OnRedis(t, redistest.Redis(t), &o)
	result, err := Run(ctx, o)
	require.NoError(t, err)
	r := result.Report
	require.True(t, r.Interrupted)
	require.True(t, r.Judge(nil).Passed, r.Verdict.Text)
	require.Positive(t, r.Counts.NotDue)
	require.Positive(t, r.Counts.Delivered)
	require.Equal(t, r.Counts.Delivered, Logged(result.Log.Bytes()))
	held, err := client.ZCard(t.Context(), "redisson_delay_queue_timeout:{own}").Result()
	require.NoError(t, err)
	require.Zero(t, held, "the run's own queue goes with it")
}
