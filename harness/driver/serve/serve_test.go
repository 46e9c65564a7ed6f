package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// servedEnv makes the test binary a driver program for the queue in memory. It is set for all programs that tests start.
const servedEnv = "DQ_TEST_SERVE"

// makesNone is the argument that has such a program make no load.
const makesNone = "makes no load"

func TestMain(m *testing.M) {
	if os.Getenv(servedEnv) == "" || slices.Contains(os.Args, "-test.fuzzworker") {
		if err := os.Setenv(servedEnv, "1"); err != nil {
			panic(err)
		}
		redistest.Main(m)
	}
	if slices.Contains(os.Args, makesNone) {
		_ = shelves(map[string]*shelf{}).Serve(os.Stdin, os.Stdout)
		return
	}
	_ = serve.Serve(os.Stdin, os.Stdout, spec.Memory{})
}

// link links to an implementation that is served in this process.
func link(t *testing.T, run func(in io.Reader, out io.Writer) error) *program.Link {
	t.Helper()
	l, err := program.Local(t.Context(), "served", run)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// memory serves the queue in memory.
func memory(in io.Reader, out io.Writer) error { return serve.Serve(in, out, spec.Memory{}) }

// asked calls an op with arguments in JSON, and returns the result, or the error's class and text.
func asked(t *testing.T, l *program.Link, op, arguments string) (result string) {
	t.Helper()
	answer, err := l.Call(t.Context(), op, json.RawMessage(arguments))
	if failure, ok := errors.AsType[*program.RemoteError](err); ok {
		return failure.Error()
	}
	require.NoError(t, err)
	return string(answer)
}

func TestServeAnswersErrorsAndEndsAtALineThatIsNoRequest(t *testing.T) {
	l := link(t, memory)
	for _, wrong := range [][3]string{
		{"dq.offer", `{}`, `^unsupported: op "dq.offer"`},
		{"load.fly", `{"handle":"load-1"}`, `^\*errors.errorString: .* not open`},
		{"load.open", `{"run_id":"0000abcd","senders":1,"most_senders":1}`, `^\*errors.errorString: .* queues`},
		{"load.open", `{"queues":["q"],"senders":1,"most_senders":1}`, `^\*errors.errorString: .* run_id`},
	} {
		require.Regexp(t, wrong[2], asked(t, l, wrong[0], wrong[1]))
	}
	for _, line := range []string{"hello", `{"op":"hello"}`, `{"id":[],"op":"hello"}`, `{"id":"x","op":"hello"}`} {
		require.Error(t, memory(strings.NewReader(line+"\n"), io.Discard), line)
	}
}

// An agent follows its orders, and each item has one answer. A plan of 300 queues with names of 4,000 bytes is one line.
func TestServeIsAnAgent(t *testing.T) {
	l := link(t, memory)
	samples := make(chan program.Sample, 100)
	setup := program.Setup{Queues: slices.Repeat([]string{strings.Repeat("q", 4000)}, 300), RunID: "0000abcd", PayloadSize: program.HeaderSize, Senders: 2, MostSenders: 2}
	_, err := l.CallEvents(t.Context(), "load.open", setup, func(line json.RawMessage) {
		var event struct{ Samples []byte }
		require.NoError(t, json.Unmarshal(line, &event))
		require.NoError(t, program.Decode(event.Samples, func(s program.Sample) error { samples <- s; return nil }))
	})
	require.NoError(t, err)
	counts := map[program.Kind]int{}
	read := func(until func() bool) {
		for !until() {
			counts[(<-samples).Kind]++
		}
	}
	var items []byte
	for i := range uint32(15) {
		item := program.Item{Index: i * 300, At: time.Now().UnixNano()} // all to the first queue
		if i >= 10 {
			item.At += int64(time.Hour)
		}
		items = program.Append(items, item)
	}
	handle := map[string]any{"handle": "load-1", "items": items, "consumers": []int{0}}
	call := func(op string) {
		result, err := l.Call(t.Context(), op, handle)
		require.NoError(t, err)
		require.Equal(t, "null", string(result))
	}
	call("load.offer")
	call("load.take")
	read(func() bool { return counts[program.Offered] == 10 && counts[program.Taken] == 10 })
	call("load.halt")
	read(func() bool { return counts[program.Skipped] == 5 })
	call("load.end")
	call("load.close")
	require.Empty(t, samples)
}

// loadPlan is a short load of 50 messages.
func loadPlan() plan.Plan {
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup, p.Producers, p.Consumers = false, 0, 5, 2
	p.Rate, p.Duration, p.Delay = 250, 200*time.Millisecond, plan.Fixed(100*time.Millisecond)
	return p
}

// The guide's program makes load in 60 lines of Python.
func TestTheGuidesProgramMakesLoad(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		redistest.Missing(t, "python3", err)
	}
	const program = "../../../docs/guides/port.py"
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	_, class, found := strings.Cut(string(text), "\nclass Load:")
	class, _, ends := strings.Cut(class, "\nclients, ")
	require.True(t, found && ends)
	require.LessOrEqual(t, strings.Count(class, "\n"), 60)

	d, err := spec.Parse("exec:python3 " + program)
	require.NoError(t, err)
	r, err := load.Run(t.Context(), load.Options{Plan: loadPlan(), Driver: d, Redis: redistest.Redis(t).URL(), RunID: 0xabcd})
	require.NoError(t, err)
	require.Equal(t, "port.py:1", r.Driver.String())
	require.Equal(t, run.Counts{Offered: 50, Delivered: 50}, r.Counts)
}

func TestAProgramThatMakesNoLoadIsToldWhatToAdd(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("exec:'" + os.Args[0] + "' '" + makesNone + "'")
	require.NoError(t, err)
	_, err = load.Run(t.Context(), load.Options{Plan: loadPlan(), Driver: d})
	require.ErrorContains(t, err, "cannot make load (add the ops load.open, load.offer, load.take, load.halt, load.end and load.close of docs/protocol.md, and load to hello)")
}

func FuzzLoad(f *testing.F) {
	f.Add("load.offer", []byte{0}, 0)
	f.Add("load.take", []byte{}, -1)
	f.Fuzz(func(t *testing.T, op string, items []byte, consumer int) {
		l := link(t, memory)
		_, err := l.Call(t.Context(), "load.open", program.Setup{Queues: []string{"q"}, RunID: "00000001", Senders: 1, MostSenders: 1})
		require.NoError(t, err)
		_, _ = l.Call(t.Context(), op, map[string]any{"handle": "load-1", "items": items, "consumers": []int{consumer}})
		_, _ = l.Call(t.Context(), "load.end", map[string]any{"handle": "load-1"})
	})
}

// shelf is a client whose queues are slices.
type shelf struct {
	mu     sync.Mutex
	queues map[string]*[][]byte
	closed bool
}

func (s *shelf) Close() error {
	s.closed = true
	return nil
}

// shelves is a port on shelves, which it remembers by their URLs.
func shelves(made map[string]*shelf) serve.Port[*shelf, *[][]byte] {
	return serve.Port[*shelf, *[][]byte]{
		Identity: driver.Identity{Name: "shelves", Version: "1"},
		Connect: func(_ context.Context, a serve.Args) (*shelf, error) {
			made[a.Redis] = &shelf{queues: map[string]*[][]byte{}}
			return made[a.Redis], nil
		},
		Open: func(_ context.Context, c *shelf, a serve.Args) (*[][]byte, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.queues[a.Queue] == nil {
				c.queues[a.Queue] = new([][]byte)
			}
			return c.queues[a.Queue], nil
		},
		Ops: map[string]serve.Op[*[][]byte]{
			"q.addAll": func(_ context.Context, q *[][]byte, a serve.Args) (any, error) {
				*q = append(*q, a.Values...)
				return true, nil
			},
			"q.readAll": func(_ context.Context, q *[][]byte, _ serve.Args) (any, error) { return *q, nil },
			"q.poll": func(_ context.Context, q *[][]byte, a serve.Args) (any, error) {
				if a.Has("limit") {
					return nil, fmt.Errorf("poll with a limit: %w", errors.ErrUnsupported)
				}
				if len(*q) == 0 {
					return []byte(nil), nil
				}
				head := (*q)[0]
				*q = (*q)[1:]
				return head, nil
			},
			"q.take":   func(ctx context.Context, _ *[][]byte, _ serve.Args) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
			"dq.offer": func(_ context.Context, _ *[][]byte, a serve.Args) (any, error) { return a.Delay, nil },
			"q.subscribeOnElements": func(_ context.Context, q *[][]byte, a serve.Args) (any, error) {
				for _, value := range *q {
					a.Element(value)
				}
				return 1, nil
			},
		},
	}
}

func TestPortAnswersInTheValuesOfTheCodec(t *testing.T) {
	made := map[string]*shelf{}
	l := link(t, shelves(made).Serve)
	require.False(t, l.Introduction().Can("load"))
	for _, row := range [][3]string{
		{"open", `{"redis":"redis://a","queue":"q","codec":"long","client":"c"}`, `{"client":"c","handle":"handle-1"}`},
		{"q.addAll", `{"handle":"handle-1","values":[{"t":"long","v":"7"},{"t":"long","v":"8"}]}`, `true`},
		{"q.readAll", `{"handle":"handle-1"}`, `[{"t":"long","v":"7"},{"t":"long","v":"8"}]`},
	} {
		require.Equal(t, row[2], asked(t, l, row[0], row[1]), row)
	}
	var events []string
	result, err := l.CallEvents(t.Context(), "q.subscribeOnElements", map[string]string{"handle": "handle-1"}, func(line json.RawMessage) {
		var event struct {
			Event string
			Value json.RawMessage
		}
		require.NoError(t, json.Unmarshal(line, &event))
		events = append(events, event.Event+" "+string(event.Value))
	})
	require.NoError(t, err)
	require.Equal(t, "1", string(result))
	require.Equal(t, []string{`element {"t":"long","v":"7"}`, `element {"t":"long","v":"8"}`}, events)
	for _, row := range [][3]string{
		{"q.poll", `{"handle":"handle-1"}`, `{"t":"long","v":"7"}`},
		{"q.poll", `{"handle":"handle-1","limit":2}`, `unsupported: poll with a limit`},
		{"dq.offer", `{"handle":"handle-1","value":{"t":"long","v":"7"},"delay":"2","unit":"h"}`, `7200000`},
		{"codec.encode", `{"codec":"long","value":{"t":"long","v":"7"}}`, `{"bytes":"Nw=="}`}, // in decimal digits
		{"codec.decode", `{"codec":"string","bytes":"aGk="}`, `{"t":"string","v":"hi"}`},
		{"q.size", `{"handle":"handle-1"}`, `unsupported: op "q.size"`},
		{"open", `{"redis":"redis://b","queue":"q","codec":"fst"}`, `unsupported: codec "fst"`},
		{"close", `{"client":"c"}`, `null`},
		{"q.readAll", `{"handle":"handle-1"}`, `*errors.errorString: handle "handle-1" is not open`},
	} {
		got := asked(t, l, row[0], row[1])
		require.Equal(t, row[2], got[:min(len(got), len(row[2]))], got)
	}
	require.True(t, made["redis://a"].closed)
}

// Requests sent before the end of stdin are answered.
func TestPortAnswersWhatWasAskedBeforeTheEnd(t *testing.T) {
	var out strings.Builder
	require.NoError(t, shelves(map[string]*shelf{}).Serve(strings.NewReader(`{"id":2,"op":"codec.decode","codec":"string","bytes":"aGk="}`), &out))
	require.Contains(t, out.String(), `"v":"hi"`)
}

func FuzzPort(f *testing.F) {
	f.Add(`{"id":1,"op":"open","redis":"redis://a","queue":"q","codec":"long","options":{"nameMapperPrefix":""}}`)
	f.Add(`{"id":1,"op":"codec.encode","codec":"json","value":{"t":"pojo","id":7},"unit":"ms","delay":"1"}`)
	f.Add(`{"id":1,"op":"close","handle":"h","values":[null]}`)
	f.Fuzz(func(_ *testing.T, line string) {
		if strings.Contains(line, "load") {
			return // a valid plan would run
		}
		_ = shelves(map[string]*shelf{}).Serve(strings.NewReader(line), io.Discard)
	})
}
