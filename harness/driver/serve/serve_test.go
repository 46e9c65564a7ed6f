package serve_test

import (
	"bufio"
	"context"
	"encoding/base64"
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

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
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
		port := shelves(map[string]*shelf{})
		delete(port.Ops, "dq.offer")
		_ = port.Serve(os.Stdin, os.Stdout)
		return
	}
	_ = serve.Serve(os.Stdin, os.Stdout, spec.Memory{})
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
		c.ended <- serve.Serve(requests, answers, spec.Memory{})
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
		require.Error(t, serve.Serve(strings.NewReader(line+"\n"), io.Discard, spec.Memory{}), line)
	}
}

// A plan of 300 queues with names of 4,000 bytes is one line.
func TestServeReadsLongLines(t *testing.T) {
	c := start(t)
	names := slices.Repeat([]string{strings.Repeat("q", 4000)}, 300)
	queues, err := json.Marshal(names)
	require.NoError(t, err)
	c.send(fmt.Sprintf(`{"id":1,"op":"load.open","queues":%s,"run_id":"0000abcd","payload_size":49,"senders":1,"most_senders":1}`, queues))
	require.Equal(t, true, c.next()["ok"])
}

// An agent follows its orders, and each item has one answer.
func TestServeIsAnAgent(t *testing.T) {
	c := start(t)
	c.send(`{"id":"1","op":"load.open","queues":["q"],"run_id":"0000abcd","payload_size":49,"senders":2,"most_senders":2}`)
	counts := map[program.Kind]int{}
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
			require.NoError(t, program.Decode(samples, func(s program.Sample) error {
				counts[s.Kind]++
				return nil
			}))
		}
	}
	read(func() bool { return answered["1"] })
	var items []byte
	for i := range 10 {
		items = program.Append(items, program.Item{Index: uint32(i), At: time.Now().UnixNano()})
	}
	for i := range 5 {
		items = program.Append(items, program.Item{Index: uint32(10 + i), At: time.Now().Add(time.Hour).UnixNano()})
	}
	c.send(fmt.Sprintf(`{"id":2,"op":"load.offer","handle":"load-1","items":%q}`, base64.StdEncoding.EncodeToString(items)))
	c.send(`{"id":3,"op":"load.take","handle":"load-1","consumers":[0]}`)
	read(func() bool { return counts[program.Offered] == 10 && counts[program.Taken] == 10 })
	c.send(`{"id":4,"op":"load.halt","handle":"load-1"}`)
	read(func() bool { return counts[program.Skipped] == 5 })
	c.send(`{"id":5,"op":"load.end","handle":"load-1"}`)
	read(func() bool { return answered["5"] })
	require.Equal(t, map[program.Kind]int{program.Offered: 10, program.Taken: 10, program.Skipped: 5}, counts)
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
	srv := redistest.Redis(t)
	conn := srv.Conn()
	defer conn.Close()
	r, err := load.Run(t.Context(), load.Options{
		Plan: loadPlan(), Driver: d, RedisURL: srv.URL(), Redis: &load.Redis{Conn: conn}, RunID: 0xabcd,
	})
	require.NoError(t, err)
	require.True(t, r.Judge(nil).Passed, r.Verdict.Text)
	require.Equal(t, "port.py:1", r.Driver.String())
	require.EqualValues(t, 50, r.Counts.Delivered)
}

func TestAProgramThatMakesNoLoadIsToldWhatToAdd(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("exec:'" + os.Args[0] + "' '" + makesNone + "'")
	require.NoError(t, err)
	_, err = load.Run(t.Context(), load.Options{Plan: loadPlan(), Driver: d})
	require.ErrorContains(t, err, "cannot make load (add the ops load.open, load.offer, load.take, load.halt, load.end and load.close of docs/protocol.md, and load to hello)")
}

func FuzzServe(f *testing.F) {
	f.Add(`{"id":1,"op":"hello"}`)
	f.Add(`{"id":1,"op":"load.open","plan":{"run_id":"0000abcd"}}`)
	f.Add(`{"id":1,"op":"cancel","target":"1"}`)
	f.Fuzz(func(_ *testing.T, line string) {
		_ = serve.Serve(strings.NewReader(line), io.Discard, spec.Memory{})
	})
}

func FuzzLoad(f *testing.F) {
	f.Add("load.offer", []byte{0}, 0)
	f.Add("load.take", []byte{}, -1)
	f.Fuzz(func(t *testing.T, op string, items []byte, consumer int) {
		c := start(t)
		c.send(`{"id":1,"op":"load.open","queues":["q"],"run_id":"00000001","senders":1,"most_senders":1}`)
		require.Equal(t, true, c.next()["ok"])
		line, err := json.Marshal(map[string]any{"id": 2, "op": op, "handle": "load-1", "items": items, "consumers": []int{consumer}})
		require.NoError(t, err)
		c.send(string(line))
		c.next()
		c.send(`{"id":3,"op":"load.end","handle":"load-1"}`)
		c.next()
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

// lines sends requests, each after the one before was answered, and returns the answers.
func lines(t *testing.T, run func(in io.Reader, out io.Writer) error, requests ...string) (answers []map[string]any) {
	t.Helper()
	in, ask := io.Pipe()
	told, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(in, out)
		out.Close()
	}()
	decoder := json.NewDecoder(told)
	for _, request := range requests {
		_, err := io.WriteString(ask, request+"\n")
		require.NoError(t, err)
		for answered := false; !answered; {
			var line map[string]any
			require.NoError(t, decoder.Decode(&line))
			_, answered = line["ok"]
			answers = append(answers, line)
		}
	}
	require.NoError(t, ask.Close())
	require.NoError(t, <-ended)
	return answers
}

func TestPortAnswersInTheValuesOfTheCodec(t *testing.T) {
	made := map[string]*shelf{}
	answers := lines(t, shelves(made).Serve,
		`{"id":1,"op":"open","redis":"redis://a","queue":"q","codec":"long","client":"c"}`,
		`{"id":2,"op":"q.addAll","handle":"handle-1","values":[{"t":"long","v":"7"},{"t":"long","v":"8"}]}`,
		`{"id":3,"op":"q.readAll","handle":"handle-1"}`,
		`{"id":4,"op":"q.subscribeOnElements","handle":"handle-1"}`,
		`{"id":5,"op":"q.poll","handle":"handle-1"}`,
		`{"id":6,"op":"q.poll","handle":"handle-1","limit":2}`,
		`{"id":7,"op":"dq.offer","handle":"handle-1","value":{"t":"long","v":"7"},"delay":"2","unit":"h"}`,
		`{"id":8,"op":"codec.encode","codec":"long","value":{"t":"long","v":"7"}}`,
		`{"id":9,"op":"codec.decode","codec":"string","bytes":"aGk="}`,
		`{"id":10,"op":"q.size","handle":"handle-1"}`,
		`{"id":11,"op":"open","redis":"redis://b","queue":"q","codec":"fst"}`,
		`{"id":12,"op":"close","client":"c"}`,
		`{"id":13,"op":"q.readAll","handle":"handle-1"}`,
	)
	seven, eight := map[string]any{"t": "long", "v": "7"}, map[string]any{"t": "long", "v": "8"}
	require.Equal(t, map[string]any{"handle": "handle-1", "client": "c"}, answers[0]["result"])
	require.Equal(t, []any{seven, eight}, answers[2]["result"])
	require.Equal(t, "element", answers[3]["event"])
	require.Equal(t, seven, answers[3]["value"])
	require.Equal(t, eight, answers[4]["value"])
	require.EqualValues(t, 1, answers[5]["result"])
	require.Equal(t, seven, answers[6]["result"])
	require.Equal(t, "unsupported", answers[7]["error"].(map[string]any)["class"])
	require.EqualValues(t, 7_200_000, answers[8]["result"])
	require.Equal(t, map[string]any{"bytes": "Nw=="}, answers[9]["result"], "a long in decimal digits")
	require.Equal(t, map[string]any{"t": "string", "v": "hi"}, answers[10]["result"])
	require.Equal(t, "unsupported", answers[11]["error"].(map[string]any)["class"])
	require.Equal(t, "unsupported", answers[12]["error"].(map[string]any)["class"])
	require.True(t, made["redis://a"].closed)
	require.Contains(t, answers[14]["error"].(map[string]any)["message"], "is not open")
}

// Requests sent before the end of stdin are answered.
func TestPortAnswersWhatWasAskedBeforeTheEnd(t *testing.T) {
	var out strings.Builder
	require.NoError(t, shelves(map[string]*shelf{}).Serve(strings.NewReader(
		`{"id":1,"op":"hello"}`+"\n"+`{"id":2,"op":"codec.decode","codec":"string","bytes":"aGk="}`), &out))
	require.Contains(t, out.String(), `"load(poll)"`)
	require.Contains(t, out.String(), `"v":"hi"`)
}

// dq under the protocol answers the same ops as in this process.
func TestServeHasAllOpsOfTheLibrary(t *testing.T) {
	srv := redistest.Redis(t)
	d := spec.DQ{Release: wire.Newest()}
	answers := lines(t, func(in io.Reader, out io.Writer) error { return serve.Serve(in, out, d) },
		`{"id":1,"op":"hello"}`,
		`{"id":2,"op":"open","redis":"`+srv.URL()+`","queue":"q","codec":"json"}`,
		`{"id":3,"op":"dq.offer","handle":"handle-1","value":{"t":"string","v":"a"},"delay":3600000}`,
		`{"id":4,"op":"dq.readAll","handle":"handle-1"}`,
		`{"id":5,"op":"close"}`,
	)
	capabilities := answers[0]["result"].(map[string]any)["capabilities"]
	for _, op := range []string{"load", "dq.poll(limit)", "deque.takeLast", "open(faithful)", program.BothLayouts} {
		require.Contains(t, capabilities, op)
	}
	require.Equal(t, []any{map[string]any{"t": "string", "v": "a"}}, answers[3]["result"])
	require.Equal(t, true, answers[4]["ok"])
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
