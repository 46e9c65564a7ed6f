package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

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
