package serve_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/driver/baseline"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// servedEnv makes the test binary a driver program for the queue in memory. It is set for all programs that tests start.
const servedEnv = "DQ_TEST_SERVE"

// endsBadly is the argument that has such a program end with a failure.
const endsBadly = "ends badly"

func TestMain(m *testing.M) {
	if os.Getenv(servedEnv) == "" {
		if err := os.Setenv(servedEnv, "1"); err != nil {
			panic(err)
		}
		redistest.Main(m)
	}
	if err := serve.Serve(os.Stdin, os.Stdout, baseline.NewMemory()); err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		os.Exit(1)
	}
	if slices.Contains(os.Args, endsBadly) {
		os.Exit(1)
	}
}

// client talks to a Serve in this process.
type client struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	ended chan error
}

func start(t *testing.T) *client {
	t.Helper()
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	c := &client{t: t, in: in, lines: bufio.NewScanner(out), ended: make(chan error, 1)}
	c.lines.Buffer(nil, 16<<20)
	go func() {
		c.ended <- serve.Serve(requests, answers, baseline.NewMemory())
		requests.Close()
		answers.Close()
	}()
	t.Cleanup(func() { in.Close() })
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.t, err)
}

// next returns the next line that is no event.
func (c *client) next() map[string]any {
	c.t.Helper()
	for c.lines.Scan() {
		var line map[string]any
		require.NoError(c.t, json.Unmarshal(c.lines.Bytes(), &line))
		if line["event"] == nil {
			return line
		}
	}
	c.t.Fatal("no answer")
	return nil
}

func TestServeIntroducesTheDriver(t *testing.T) {
	c := start(t)
	c.send(`{"id":"7","op":"hello"}`)
	answer := c.next()
	require.EqualValues(t, 7, answer["id"])
	require.Equal(t, true, answer["ok"])
	result, _ := answer["result"].(map[string]any)
	require.Equal(t, "memory", result["name"])
	require.EqualValues(t, program.Protocol, result["protocol"])
	require.NoError(t, c.in.Close())
	require.NoError(t, <-c.ended)
}

func TestServeAnswersErrors(t *testing.T) {
	for name, test := range map[string]struct{ request, class, message string }{
		"an op it has not": {`{"id":1,"op":"dq.offer"}`, "unsupported", `op "dq.offer"`},
		"an op of a load":  {`{"id":1,"op":"load.fly","handle":"load-1"}`, "*errors.errorString", "not open"},
		"no queues":        {`{"id":1,"op":"load.open","run_id":"0000abcd","senders":1,"most_senders":1}`, "*errors.errorString", "queues"},
		"no run id":        {`{"id":1,"op":"load.open","queues":["q"],"senders":1,"most_senders":1}`, "*errors.errorString", "run_id"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			c.send(test.request)
			answer := c.next()
			require.Equal(t, false, answer["ok"])
			failure, _ := answer["error"].(map[string]any)
			require.Equal(t, test.class, failure["class"])
			require.Contains(t, failure["message"], test.message)
		})
	}
}

func TestServeEndsAtALineThatIsNoRequest(t *testing.T) {
	for _, line := range []string{"hello", `{"op":"hello"}`, `{"id":[],"op":"hello"}`, `{"id":"x","op":"hello"}`} {
		require.Error(t, serve.Serve(strings.NewReader(line+"\n"), io.Discard, baseline.NewMemory()), line)
	}
}

// An agent offers and takes as it is told, and each item has one answer.
func TestServeIsAnAgent(t *testing.T) {
	c := start(t)
	c.send(`{"id":1,"op":"load.open","queues":["q"],"run_id":"0000abcd","payload_size":49,"senders":2,"most_senders":2}`)
	counts := map[agent.Kind]int{}
	answered := map[string]bool{}
	read := func(until func() bool) {
		for !until() {
			require.True(t, c.lines.Scan())
			var line map[string]any
			require.NoError(t, json.Unmarshal(c.lines.Bytes(), &line))
			encoded, isSamples := line["samples"].(string)
			if !isSamples {
				require.Equal(t, true, line["ok"], line)
				answered[fmt.Sprint(line["id"])] = true
				continue
			}
			samples, err := base64.StdEncoding.DecodeString(encoded)
			require.NoError(t, err)
			require.NoError(t, agent.DecodeSamples(samples, func(s agent.Sample) error {
				counts[s.Kind]++
				return nil
			}))
		}
	}
	read(func() bool { return answered["1"] })
	var items []byte
	for i := range 10 {
		items = agent.AppendItem(items, agent.Item{Index: uint32(i), At: time.Now().UnixNano()})
	}
	for i := range 5 {
		items = agent.AppendItem(items, agent.Item{Index: uint32(10 + i), At: time.Now().Add(time.Hour).UnixNano()})
	}
	c.send(fmt.Sprintf(`{"id":2,"op":"load.offer","handle":"load-1","items":%q}`, base64.StdEncoding.EncodeToString(items)))
	c.send(`{"id":3,"op":"load.take","handle":"load-1","consumers":[0]}`)
	read(func() bool { return counts[agent.Offered] == 10 && counts[agent.Taken] == 10 })
	c.send(`{"id":4,"op":"load.halt","handle":"load-1"}`)
	read(func() bool { return counts[agent.Skipped] == 5 })
	c.send(`{"id":5,"op":"load.end","handle":"load-1"}`)
	read(func() bool { return answered["5"] })
	require.Equal(t, map[agent.Kind]int{agent.Offered: 10, agent.Taken: 10, agent.Skipped: 5}, counts)
}

// The load engine runs a plan inside a program and makes a run file of it.
func TestLoadRunsThePlanInsideAProgram(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Consumers, p.Queue = 5, 2, "q"
	p.Rate, p.Duration, p.Warmup = 500, time.Second, 300*time.Millisecond
	p.Delay = plan.Delay{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}
	var phases []plan.Phase
	result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: d, RunID: 0xabcd, Progress: func(p load.Progress) {
		if p.Last {
			phases = append(phases, p.Phase)
			require.Equal(t, p.Planned, p.Offered)
			require.Equal(t, p.Planned, p.Delivered)
		}
	}})
	require.NoError(t, err)
	r := result.Report
	require.True(t, r.Judge(nil).Passed, r.Verdict.Text)
	require.Equal(t, "memory", r.Driver.String())
	require.EqualValues(t, 500, r.Counts.Delivered)
	require.Equal(t, "0000abcd", r.RunID)
	require.EqualValues(t, 500, r.Scenario.Messages)
	require.NotEmpty(t, r.Intervals)
	require.NotNil(t, r.Machine.Late)
	seconds, values := runtest.Logged(result.Log.Bytes())
	require.Equal(t, len(r.Intervals), seconds, "an interval of the log for each of the run's")
	require.EqualValues(t, 500, values)
	require.Equal(t, []plan.Phase{plan.Warmup, plan.Measured}, phases)
	_, err = r.Encode()
	require.NoError(t, err)
}

// What a program has measured stands, though the run fails for a program that ends with a failure.
func TestAProgramThatEndsBadlyFailsTheRun(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("exec:'" + os.Args[0] + "' '" + endsBadly + "'")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Consumers, p.Queue = 5, 2, "q"
	p.Rate, p.Duration, p.Warmup, p.Delay = 500, 100*time.Millisecond, 0, plan.Fixed(0)
	result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: d, RunID: 0xabcd})
	require.NoError(t, err)
	require.False(t, result.Report.Judge(nil).Passed)
	require.EqualValues(t, 50, result.Report.Counts.Delivered)
	require.Equal(t, run.InProgram, result.Report.Measured)
	require.Contains(t, result.Report.Verdict.Text, "has ended: exit status")
}

// The first interrupt ends the offers of a program too; what is due is drained,
// and the rest is pending.
func TestInterruptedProgramStillReports(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Consumers, p.Queue = 5, 2, "q"
	p.Rate, p.Duration, p.Warmup, p.DrainTimeout = 500, time.Hour, 0, 300*time.Millisecond
	p.Delay = plan.Delay{Min: 10 * time.Millisecond, Max: 5 * time.Second}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	result, err := load.Run(ctx, load.Options{Plan: p, Driver: d, RunID: 0xabcd, Progress: func(load.Progress) { interrupt() }})
	require.NoError(t, err)
	r := result.Report
	require.True(t, r.Interrupted)
	require.True(t, r.Judge(nil).Passed, r.Verdict.Text)
	require.Positive(t, r.Counts.Delivered)
	require.Positive(t, r.Counts.NotDue)
	require.Zero(t, r.Counts.Lost)
	require.Less(t, r.Counts.Offered, int64(5000), "the offers ended")
}

func TestLoadTellsWhyAProgramRefused(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("exec:'" + os.Args[0] + "' with arguments")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Queue, p.Delay = "q", plan.Delay{Min: 1500 * time.Microsecond, Max: 1500 * time.Microsecond}
	_, err = load.Run(t.Context(), load.Options{Plan: p, Driver: d})
	require.ErrorContains(t, err, "whole milliseconds")
	_, err = spec.Parse("exec:")
	require.ErrorContains(t, err, "expected a program")
	d, err = spec.Parse("exec:/no/such/program")
	require.NoError(t, err)
	p.Delay = plan.Delay{}
	_, err = load.Run(t.Context(), load.Options{Plan: p, Driver: d})
	require.ErrorContains(t, err, "/no/such/program")
}

func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"op":"hello"}`)
	f.Add(`{"id":1,"op":"load.open","plan":{"run_id":"0000abcd"}}`)
	f.Add(`{"id":1,"op":"cancel","target":"1"}`)
	f.Fuzz(func(_ *testing.T, line string) {
		if strings.Contains(line, "producers") {
			return // a valid plan would run
		}
		_ = serve.Serve(strings.NewReader(line), io.Discard, baseline.NewMemory())
	})
}
