package load_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// A lie changes what a program says: a sample of the kind, once, half a second into the run.
var lies = map[string]struct {
	kind program.Kind
	tell func(s program.Sample) []program.Sample
	says string
}{
	"a start an hour off":    {program.Offered, one(func(s *program.Sample) { s.A -= int64(time.Hour) }), "a.a: expected"},
	"an end that is to come": {program.Offered, one(func(s *program.Sample) { s.B += int64(time.Hour) }), "expected an instant in the past"},
	"an end before its start": {program.Offered, one(func(s *program.Sample) { s.B = s.A - 1 }),
		"a.b: expected"},
	"an index never sent":  {program.Taken, one(func(s *program.Sample) { s.Index = 1 << 20 }), "t.index: expected a message that was handed out, got 1048576"},
	"the same offer twice": {program.Offered, func(s program.Sample) []program.Sample { return []program.Sample{s, s} }, "expected one answer to each offer"},
	"another due instant":  {program.Taken, one(func(s *program.Sample) { s.A += 5e6 }), "expected due = sent + its delay"},
	"a removal of nothing": {program.Taken, one(func(s *program.Sample) { s.Kind = program.Removed }), "expected a message that was to be cancelled"},
	"no such kind":         {program.Taken, one(func(s *program.Sample) { s.Kind = '?' }), "kind: expected"},
}

func one(change func(*program.Sample)) func(program.Sample) []program.Sample {
	return func(s program.Sample) []program.Sample {
		change(&s)
		return []program.Sample{s}
	}
}

// deeds are what a program does against the protocol, half a second into the run, with the lines that it writes.
var deeds = map[string]struct {
	do   func(out io.Writer, line []byte)
	says string
}{
	"dies":             {func(io.Writer, []byte) { os.Exit(3) }, "has ended: exit status 3"},
	"stops answering":  {func(io.Writer, []byte) { select {} }, "stopped answering"},
	"says no JSON":     {func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":2,"event":"samples","samples":NaN}`) }, "it broke the protocol on stdout"},
	"answers nobody":   {func(out io.Writer, line []byte) { fmt.Fprintf(out, "%s\n{\"id\":999,\"ok\":true}\n", line) }, "expected one answer to each request, got one to 999"},
	"answers twice":    {func(out io.Writer, line []byte) { fmt.Fprintf(out, "%s\n{\"id\":1,\"ok\":true}\n", line) }, "expected one answer to each request, got one to 1"},
	"tears a sample":   {func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":2,"event":"samples","samples":"YWE="}`) }, "records of 25 bytes"},
	"exits with 3":     {nil, "has ended: exit status 3"},
	"refuses to close": {nil, "load.close: busy"},
}

// adversary serves the memory driver, and does one thing against the protocol.
func adversary(fault string) {
	lines, out := io.Pipe()
	in, requests := io.Pipe()
	var closes atomic.Uint64 // the request that closes
	go func() {
		asked := bufio.NewScanner(os.Stdin)
		asked.Buffer(nil, 1<<20)
		for asked.Scan() {
			var head struct {
				ID uint64
				Op string
			}
			if json.Unmarshal(asked.Bytes(), &head) == nil && head.Op == "load.close" {
				closes.Store(head.ID)
			}
			_, _ = fmt.Fprintf(requests, "%s\n", asked.Bytes())
		}
		_ = requests.Close()
	}()
	go func() {
		_ = serve.Serve(in, out, spec.Memory{})
		_ = out.Close()
	}()
	began, done := time.Time{}, false
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Bytes()
		var head struct {
			ID      uint64
			Samples []byte
		}
		if err := json.Unmarshal(line, &head); err != nil {
			panic(err)
		}
		if len(head.Samples) > 0 && began.IsZero() {
			began = time.Now()
		}
		due := !done && !began.IsZero() && time.Since(began) > 500*time.Millisecond
		lie, lying := lies[fault]
		switch deed := deeds[fault]; {
		case due && lying && len(head.Samples) > 0:
			var told []byte
			_ = program.Decode(head.Samples, func(s program.Sample) error {
				all := []program.Sample{s}
				if s.Kind == lie.kind && !done {
					all, done = lie.tell(s), true
				}
				for _, s := range all {
					told = program.Append(told, s)
				}
				return nil
			})
			fmt.Printf("{\"id\":%d,\"event\":\"samples\",\"samples\":%q}\n", head.ID, base64.StdEncoding.EncodeToString(told))
		case due && deed.do != nil:
			done = true
			deed.do(os.Stdout, line)
		case fault == "refuses to close" && closes.Load() == head.ID && head.ID != 0:
			fmt.Printf("{\"id\":%d,\"ok\":false,\"error\":{\"class\":\"busy\",\"message\":\"\"}}\n", head.ID)
		default:
			fmt.Printf("%s\n", line)
		}
	}
	if fault == "exits with 3" {
		os.Exit(3)
	}
}

// Whatever a program does, the run is kept, what was delivered is counted, and it fails by a sentence that says what
// the program did.
func TestAdversaries(t *testing.T) {
	t.Parallel()
	says := map[string]string{}
	for name, lie := range lies {
		says[name] = lie.says
	}
	for name, deed := range deeds {
		says[name] = deed.says
	}
	for name, want := range says {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := spec.Parse(fmt.Sprintf("exec:'%s' adversary '%s'", os.Args[0], name))
			require.NoError(t, err)
			p := plan.DefaultPlan()
			p.WarmupEnds, p.Warmup, p.Producers, p.Consumers, p.Rate, p.Duration = false, 0, 5, 2, 200, time.Second
			p.Delay, p.Queue, p.DrainTimeout = plan.Fixed(100*time.Millisecond), "q", time.Second
			result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: d, RunID: 7, Silence: 3 * time.Second})
			require.NoError(t, err, "the run is kept")
			r := result.Report
			r.ToolUsage, r.Machine, r.Offers = nil, nil, nil // of this process, in which other tests run as well
			require.False(t, r.Judge(nil).Passed)
			require.True(t, r.Valid(), r.Verdict.Text)
			require.Contains(t, r.Verdict.Text, want)
			c := r.Counts
			require.Positive(t, c.Delivered)
			require.Zero(t, c.Lost, "what is not known is not lost: %+v", c)
			require.Equal(t, c.Offered, c.Delivered+c.Pending+c.Unknown)
			require.Equal(t, c.Delivered, r.Histograms.Lateness.Count())
			_, err = r.Encode()
			require.NoError(t, err)
		})
	}
}
