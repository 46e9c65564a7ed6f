package load_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// wrongClock has the clock of the process that takes be an hour ahead in the middle of a run,
// where at any instant something is due and some hundred messages are not.
func wrongClock(t *testing.T, driverSpec string, warmup time.Duration) (*run.Document, error) {
	t.Helper()
	d, err := spec.Parse(driverSpec)
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup = false, warmup
	p.Producers, p.Consumers, p.Rate, p.Duration = 5, 3, 400, 1500*time.Millisecond
	p.Delay, p.Queue = plan.Between(100*time.Millisecond, 2*time.Second), "own"
	p.Fleet = []plan.Member{{Offers: true}, {Takes: true}}
	at := 600 * time.Millisecond
	p.Faults = []plan.Fault{{Kind: plan.WrongClock, Member: 2, By: time.Hour, At: plan.Span{Min: at, Max: at}, For: 800 * time.Millisecond}}
	o := load.Options{Plan: p, Driver: d, RunID: 7, OwnQueue: true, Serve: []string{os.Args[0], "serve"}}
	onRedis(t, &o)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	result, err := load.Run(ctx, o)
	for range 2 { // a member that stood still while its clock was wrong did not follow it
		if err != nil || result.Report.Histograms.Lateness.Max() < int64(time.Second) {
			break
		}
		result, err = load.Run(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	require.Empty(t, result.Report.AgentFaults)
	require.Empty(t, result.Report.Faults.Events[0].Error)
	require.Less(t, result.Report.Histograms.Lateness.Max(), int64(time.Minute), "the harness counts by a clock that is right")
	return result.Report, nil
}

// By a clock that is ahead all is due, as Redisson's format has it: who follows it has that come
// early. What is offered after comes in time, and nothing is lost.
func TestAMemberWhoseClockIsWrong(t *testing.T) {
	t.Parallel()
	r, err := wrongClock(t, "dq:4.7.0,faithful", 0)
	require.NoError(t, err)
	c := r.Counts
	require.Zero(t, c.Lost+c.Duplicate+c.Pending+c.OfferErrors)
	require.EqualValues(t, 600, c.Delivered)
	require.Positive(t, c.Early, "what was pending when the clock moved")
	require.Less(t, c.Early, int64(600))
}

// dq asks the server, whose clock is right.
func TestAMemberThatDoesNotFollowAWrongClock(t *testing.T) {
	t.Parallel()
	r, err := wrongClock(t, "dq", 0)
	require.NoError(t, err)
	require.Equal(t, run.Counts{Offered: 600, Delivered: 600}, r.Counts)
}

// A real Redisson follows its clock.
func TestARedissonWhoseClockIsWrong(t *testing.T) {
	redistest.Redisson(t, "4.7.0")
	if _, err := (program.ClockFile{}).Environment(); err != nil && !redistest.Required("faketime") {
		t.Skip(err)
	}
	r, err := wrongClock(t, "redisson:4.7.0", 5*time.Second) // a JVM does everything slowly once
	require.NoError(t, err)
	require.Zero(t, r.Counts.Lost+r.Counts.Duplicate+r.Counts.Pending)
	require.GreaterOrEqual(t, r.Counts.Early, int64(100))
	require.Less(t, r.Counts.Early, int64(600))
}

// Who asks no clock that could be moved is refused before anything is offered.
func TestWhoCannotBeGivenAClock(t *testing.T) {
	_, err := wrongClock(t, "redis-list", 0)
	var lacks *driver.CapabilityError
	require.ErrorAs(t, err, &lacks)
	require.Equal(t, "be given another clock", lacks.Need)
}
