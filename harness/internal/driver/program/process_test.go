package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// fakeProgramEnv makes the test binary behave as an external program.
const fakeProgramEnv = "DQ_TEST_FAKE_DRIVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeProgramEnv); mode != "" {
		fakeProgram(mode)
		return
	}
	os.Exit(m.Run())
}

// fakeProgram speaks the protocol. "take" is answered once "offer" came, or when
// it is cancelled.
func fakeProgram(mode string) {
	switch mode {
	case "noise":
		fmt.Println("Listening for transport dt_socket")
	case "mute":
		fmt.Fprintln(os.Stderr, "not in the mood")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "deaf":
		line, _ := bufio.NewReaderSize(os.Stdin, 16).ReadString('\n')
		id, _, _ := strings.Cut(strings.TrimPrefix(line, `{"id":`), ",")
		fmt.Printf(fakeHello+"\n", id)
		select {}
	case "dies":
		fmt.Fprintln(os.Stderr, "no such release")
		os.Exit(3)
	case "future":
		fmt.Println(`{"id":1,"ok":true,"result":{"name":"fake","version":"1","protocol":99}}`)
	}
	fake := fakeServer{taking: map[string]bool{}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			panic(err)
		}
		fake.handle(mode, request)
	}
	if mode == "stubborn" {
		select {}
	}
}

// A program that reads, and never says who it is, is given up.
func TestProcessThatDoesNotGreet(t *testing.T) {
	t.Setenv(fakeProgramEnv, "mute")
	_, err := start(t.Context(), "fake", []string{os.Args[0]}, nil, nil, 300*time.Millisecond)
	require.ErrorContains(t, err, "expected an answer to hello within 300ms, got none")
	require.ErrorContains(t, err, "its stderr ended with:\nnot in the mood")
}

// What is written to a program that does not read is given up once its pipe is full.
func TestProcessThatDoesNotRead(t *testing.T) {
	p := mustStartFake(t, "deaf")
	p.patience = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := p.Call(ctx, "dq.offer", map[string]string{"value": strings.Repeat("x", 1<<20)})
	require.ErrorContains(t, err, "has read nothing for 100ms")
	require.NoError(t, ctx.Err())
}

var fakeHello = `{"id":%s,"ok":true,"result":{"name":"fake","version":"1.2.3","protocol":3,"capabilities":["hello"]}}`

type fakeServer struct {
	taking  map[string]bool
	offered []string
}

func (f *fakeServer) handle(mode string, request map[string]json.RawMessage) {
	id := string(request["id"])
	switch string(request["op"]) {
	case `"hello"`:
		fmt.Printf(fakeHello+"\n", id)
	case `"echo"`:
		fmt.Printf(`{"id":%s,"ok":true,"result":%s}`+"\n", id, request["value"])
	case `"open"`:
		fmt.Printf(`{"id":%s,"ok":true,"result":{"handle":"handle-1","client":"client-1"}}`+"\n", id)
	case `"dq.offer"`:
		f.offered = append(f.offered, string(request["value"]))
		fmt.Printf(`{"id":%s,"ok":true,"result":null}`+"\n", id)
	case `"dq.remove"`:
		fmt.Printf(`{"id":%s,"ok":true,"result":true}`+"\n", id)
	case `"q.take"`, `"q.poll"`:
		if len(f.offered) == 0 {
			fmt.Printf(`{"id":%s,"ok":true,"result":null}`+"\n", id)
			return
		}
		fmt.Printf(`{"id":%s,"ok":true,"result":%s}`+"\n", id, f.offered[0])
		f.offered = f.offered[1:]
	case `"take"`:
		f.taking[id] = true
		fmt.Printf(`{"id":%s,"event":"taking"}`+"\n", id)
	case `"offer"`:
		for taker := range f.taking {
			fmt.Printf(`{"id":"%s","ok":true,"result":"taken"}`+"\n", taker)
		}
		fmt.Printf(`{"id":%s,"ok":true,"result":null}`+"\n", id)
	case `"cancel"`:
		target := string(request["target"])
		fmt.Printf(`{"id":%s,"ok":true,"result":true}`+"\n", id)
		if mode == "popped" {
			fmt.Printf(`{"id":%s,"ok":true,"result":"popped"}`+"\n", target)
			return
		}
		fmt.Printf(`{"id":%s,"ok":false,"error":{"class":"cancelled","message":"interrupted"}}`+"\n", target)
	case `"copy"`:
		fmt.Printf(`{"id":%s,"ok":false,"error":{"class":"unsupported","message":"copy"}}`+"\n", id)
	case `"progress"`:
		for second := range 3 {
			fmt.Printf(`{"id":%s,"event":"progress","second":%d}`+"\n", id, second)
		}
		fmt.Printf(`{"id":%s,"ok":true,"result":{}}`+"\n", id)
	case `"crash"`:
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	}
}

// startFake starts the fake program in a mode.
func startFake(t *testing.T, mode string) (*Link, error) {
	t.Helper()
	t.Setenv(fakeProgramEnv, mode)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return Start(ctx, []string{os.Args[0]}, nil)
}

func mustStartFake(t *testing.T, mode string) *Link {
	t.Helper()
	p, err := startFake(t, mode)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestProcessIntroducesItself(t *testing.T) {
	p := mustStartFake(t, "plain")
	require.Equal(t, driver.Identity{Name: "fake", Version: "1.2.3"}, p.Identity())
	require.Equal(t, []string{"hello"}, p.Introduction().Capabilities)
	require.NoError(t, p.Close())
}

func TestProcessAnswersManyAtOnce(t *testing.T) {
	p := mustStartFake(t, "plain")
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			result, err := p.Call(t.Context(), "echo", map[string]int{"value": i})
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), string(result))
		})
	}
	calls.Wait()
}

func TestProcessBlockingCallHoldsNobodyUp(t *testing.T) {
	p := mustStartFake(t, "plain")
	taking := make(chan Event, 1)
	taken := make(chan string, 1)
	go func() {
		result, err := p.CallEvents(t.Context(), "take", nil, func(e Event) { taking <- e })
		require.NoError(t, err)
		taken <- string(result)
	}()
	require.Equal(t, "taking", (<-taking).Name)
	_, err := p.Call(t.Context(), "offer", nil)
	require.NoError(t, err)
	require.Equal(t, `"taken"`, <-taken)
}

func TestProcessEventsComeInOrderBeforeTheResult(t *testing.T) {
	p := mustStartFake(t, "plain")
	var seconds []int
	_, err := p.CallEvents(t.Context(), "progress", nil, func(e Event) {
		var fields struct{ Second int }
		require.NoError(t, json.Unmarshal(e.Line, &fields))
		seconds = append(seconds, fields.Second)
	})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, seconds)
}

func TestProcessErrorsKeepTheirClass(t *testing.T) {
	p := mustStartFake(t, "plain")
	_, err := p.Call(t.Context(), "copy", nil)
	require.ErrorIs(t, err, ErrUnsupported)
	var remote *RemoteError
	require.ErrorAs(t, err, &remote)
	require.Equal(t, "copy", remote.Message)
}

func TestProcessCancelledCall(t *testing.T) {
	p := mustStartFake(t, "plain")
	_, err := cancelledTake(t, p)
	require.ErrorIs(t, err, context.Canceled)
}

func TestProcessCancelledCallKeepsWhatWasPopped(t *testing.T) {
	p := mustStartFake(t, "popped")
	result, err := cancelledTake(t, p)
	require.NoError(t, err)
	require.Equal(t, `"popped"`, string(result))
}

func cancelledTake(t *testing.T, p *Link) (json.RawMessage, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return p.CallEvents(ctx, "take", nil, func(Event) { cancel() })
}

func TestProcessCrashNamesTheReason(t *testing.T) {
	p := mustStartFake(t, "plain")
	_, err := p.Call(t.Context(), "crash", nil)
	require.ErrorContains(t, err, "crash was not answered")
	require.ErrorContains(t, err, "exit status 7")
	require.ErrorContains(t, err, "out of memory")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)

	_, err = p.Call(t.Context(), "echo", map[string]int{"value": 1})
	require.ErrorContains(t, err, "out of memory")
	require.ErrorContains(t, p.Close(), "exit status 7")
}

func TestProcessThatCannotServe(t *testing.T) {
	for mode, want := range map[string]string{
		"dies":   "no such release",
		"noise":  "expected one JSON object a line",
		"future": "speaks version 99 of the protocol, expected 3",
	} {
		t.Run(mode, func(t *testing.T) {
			_, err := startFake(t, mode)
			require.ErrorContains(t, err, want)
		})
	}
	_, err := Start(t.Context(), []string{"./no-such-program"}, nil)
	require.ErrorContains(t, err, "no-such-program")
}

func TestProcessRefusesBadArguments(t *testing.T) {
	p := mustStartFake(t, "plain")
	for _, params := range []any{[]int{1}, map[string]int{"id": 1}, map[string]any{"f": func() {}}} {
		_, err := p.Call(t.Context(), "echo", params)
		require.ErrorContains(t, err, "arguments of echo")
	}
}

func TestProcessStubbornProgramIsKilled(t *testing.T) {
	p := mustStartFake(t, "stubborn")
	p.patience = 50 * time.Millisecond
	require.ErrorContains(t, p.Close(), "was killed")
}

func TestDecodeLine(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":1}`:                       `either "ok" or "event"`,
		`{"id":1,"ok":true,"event":"x"}`: `either "ok" or "event"`,
		`{"ok":true}`:                    `the "id" of a request`,
		`{"id":-1,"ok":true}`:            `the "id" of a request`,
		`{"id":1,"ok":false}`:            `an "error" with a "class"`,
		`{"id":1,"ok":false,"error":{"message":"bad"}}`: `an "error" with a "class"`,
		`[1]`:               "one JSON object a line",
		`{"id":1,"ok":true`: "one JSON object a line",
	} {
		_, err := decodeLine([]byte(line))
		require.ErrorContains(t, err, want, line)
	}
}

func FuzzDecodeLine(f *testing.F) {
	f.Add([]byte(`{"id":1,"ok":true,"result":{"t":"string","v":"hello"}}`))
	f.Add([]byte(`{"id":"7","event":"progress","second":1}`))
	f.Add([]byte(`{"id":2,"ok":false,"error":{"class":"unsupported","message":"no"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		decoded, err := decodeLine(line)
		if err != nil {
			return
		}
		require.False(t, decoded.event != nil && decoded.err != nil, "an event is no answer")
		if decoded.event != nil {
			require.True(t, json.Valid(decoded.event.Line))
		}
	})
}

func FuzzEncodeRequest(f *testing.F) {
	f.Add("dq.offer", `{"handle":"h","delay":1}`)
	f.Add("hello", `null`)
	f.Fuzz(func(t *testing.T, op, params string) {
		line, err := encodeRequest(7, op, json.RawMessage(params))
		if err != nil {
			return
		}
		require.Equal(t, byte('\n'), line[len(line)-1])
		require.NotContains(t, string(line[:len(line)-1]), "\n")
		var request struct{ ID uint64 }
		require.NoError(t, json.Unmarshal(line, &request))
		require.EqualValues(t, 7, request.ID)
	})
}

func TestSplitCommandLine(t *testing.T) {
	for line, want := range map[string][]string{
		`node driver.js`:           {"node", "driver.js"},
		`  a   b	c `:               {"a", "b", "c"},
		`"my driver" --name 'x y'`: {"my driver", "--name", "x y"},
		`a\ b "c\"d" 'e\f'`:        {"a b", `c"d`, `e\f`},
		`a ""`:                     {"a", ""},
		`--x="1 2"`:                {"--x=1 2"},
	} {
		got, err := SplitCommandLine(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{"", "   ", `a "b`, `a 'b`, `a \`} {
		_, err := SplitCommandLine(line)
		require.Error(t, err, line)
	}
}

func FuzzSplitCommandLine(f *testing.F) {
	f.Add(`node "my driver.js" --x='1 2' a\ b`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitCommandLine(line)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, word := range words {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		again, err := SplitCommandLine(strings.Join(quoted, " "))
		require.NoError(t, err)
		require.Equal(t, words, again)
	})
}

func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`{"t":"string","v":"hello"}`, `{"t":"int","v":42}`, `{"t":"long","v":"42"}`, `{"t":"double","v":1.5}`, `{"t":"bool","v":true}`,
		`{"t":"bytes","v":"AAE="}`, `{"t":"pojo","id":7,"name":"bob","total":"99"}`, `{"t":"pojo","id":7,"name":null,"total":null}`, `null`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Value(json.RawMessage(text))
		if err != nil {
			return
		}
		typed, err := Typed(v)
		require.NoError(t, err)
		encoded, err := json.Marshal(typed)
		if err != nil {
			return // NaN and the infinities have no form in JSON
		}
		again, err := Value(encoded)
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}

// An error of a Java that is too old says what to do.
func TestNeedsANewerJava(t *testing.T) {
	for failure, newer := range map[RemoteError]bool{
		{Class: "java.lang.NoClassDefFoundError", Message: "java/util/SequencedCollection"}:                         true,
		{Class: "java.lang.UnsupportedClassVersionError", Message: "X has been compiled (class file version 65.0)"}: true,
		{Class: "java.lang.NoClassDefFoundError", Message: "org/redisson/api/RFuture"}:                              false,
	} {
		_, err := answer{err: &failure}.value("open")
		require.Equal(t, newer, errors.As(err, new(*JavaError)), err)
		require.ErrorAs(t, err, new(*RemoteError))
	}
}
