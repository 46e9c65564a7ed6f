package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// TestMain behaves as an external program if its argument is a mode and not a flag.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	mode := os.Args[1]
	fakeProgram(mode, os.Stdin, os.Stdout)
	switch mode {
	case "stubborn":
		select {}
	case "exits with 3":
		os.Exit(3)
	}
}

// fakeProgram speaks the protocol. "take" is answered once "offer" came, or when it is cancelled.
func fakeProgram(mode string, in io.Reader, out io.Writer) {
	switch mode {
	case "noise":
		fmt.Fprintln(out, "Listening for transport dt_socket")
	case "mute":
		fmt.Fprintln(os.Stderr, "not in the mood")
		_, _ = io.Copy(io.Discard, in)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "no such release")
		os.Exit(3)
	}
	protocol, taking := 3, ""
	if mode == "future" {
		protocol = 99
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var r struct {
			ID     int
			Op     string
			Value  json.RawMessage
			Target int
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		ok := func(id any, result string) { fmt.Fprintf(out, "{\"id\":%v,\"ok\":true,\"result\":%s}\n", id, result) }
		failed := func(id any, class string) {
			fmt.Fprintf(out, "{\"id\":%v,\"ok\":false,\"error\":{\"class\":%q,\"message\":\"no\"}}\n", id, class)
		}
		switch r.Op {
		case "hello":
			ok(r.ID, fmt.Sprintf(`{"name":"fake","version":"1.2.3","protocol":%d,"capabilities":["hello"]}`, protocol))
			if mode == "deaf" {
				select {}
			}
		case "echo":
			ok(r.ID, string(r.Value))
			if mode == "answers nobody" {
				ok(999, "null")
			}
		case "take":
			taking = fmt.Sprintf("%q", fmt.Sprint(r.ID)) // a string is as good as a number
			fmt.Fprintf(out, "{\"id\":%d,\"event\":\"taking\",\"second\":1}\n{\"id\":%d,\"event\":\"taking\",\"second\":2}\n", r.ID, r.ID)
		case "offer":
			ok(taking, `"taken"`)
			ok(r.ID, "null")
		case "cancel":
			ok(r.ID, "true")
			if mode == "popped" {
				ok(r.Target, `"popped"`)
			} else {
				failed(r.Target, "cancelled")
			}
		case "crash":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(7)
		default:
			failed(r.ID, "unsupported")
		}
	}
}

func fake(t *testing.T, mode string) (*Link, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return Start(ctx, "fake", []string{os.Args[0], mode}, nil)
}

func mustFake(t *testing.T, mode string) *Link {
	t.Helper()
	p, err := fake(t, mode)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// A child process, a connection and an implementation of this process are one Link: many calls at once, events in order before the
// result. No call holds up another.
func TestALinkCalls(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) *Link{
		"process": func(t *testing.T) *Link { t.Helper(); return mustFake(t, "plain") },
		"here": func(t *testing.T) *Link {
			t.Helper()
			l, err := Local(t.Context(), "fake", func(in io.Reader, out io.Writer) error { fakeProgram("plain", in, out); return nil })
			require.NoError(t, err)
			return l
		},
		"connection": func(t *testing.T) *Link {
			t.Helper()
			near, far := net.Pipe()
			go func() {
				fakeProgram("plain", far, far)
				far.Close()
			}()
			l, err := Connect(t.Context(), "fake", near)
			require.NoError(t, err)
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t)
			require.Equal(t, driver.Identity{Name: "fake", Version: "1.2.3"}, p.Introduction().Identity)
			require.True(t, p.Introduction().Can("hello"))
			var seconds []int
			began, taken := make(chan bool, 2), make(chan string, 1)
			go func() {
				result, err := p.CallEvents(t.Context(), "take", nil, func(line json.RawMessage) {
					var fields struct{ Second int }
					_ = json.Unmarshal(line, &fields)
					seconds = append(seconds, fields.Second)
					began <- true
				})
				taken <- fmt.Sprint(string(result), err)
			}()
			<-began
			var calls sync.WaitGroup
			for i := range 50 {
				calls.Go(func() {
					result, err := p.Call(t.Context(), "echo", map[string]int{"value": i})
					require.NoError(t, err)
					require.Equal(t, fmt.Sprint(i), string(result))
				})
			}
			calls.Wait()
			_, err := p.Call(t.Context(), "offer", nil)
			require.NoError(t, err)
			require.Equal(t, `"taken"<nil>`, <-taken)
			require.Equal(t, []int{1, 2}, seconds)

			_, err = p.Call(t.Context(), "copy", nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "copy: unsupported: no")
			for _, params := range []any{[]int{1}, map[string]any{"f": func() {}}} {
				_, err := p.Call(t.Context(), "echo", params)
				require.ErrorContains(t, err, "arguments of echo")
			}
			require.NoError(t, p.Close())
			_, err = p.Call(t.Context(), "echo", nil)
			require.ErrorContains(t, err, "could not be sent")
		})
	}
}

// A value that was popped when its request was cancelled is not dropped.
func TestCancelledCall(t *testing.T) {
	for mode, want := range map[string]string{"plain": "", "popped": `"popped"`} {
		p := mustFake(t, mode)
		ctx, cancel := context.WithCancel(t.Context())
		result, err := p.CallEvents(ctx, "take", nil, func(json.RawMessage) { cancel() })
		require.Equal(t, want, string(result))
		require.Equal(t, want == "", errors.Is(err, context.Canceled))
	}
}

// Close names breaches of the protocol.
func TestFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"answers nobody": "expected one answer to each request, got an answer or event to 999",
		"exits with 3":   "has ended: exit status 3",
		"stubborn":       "did not end within 100ms of its stdin closing and was killed",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := mustFake(t, mode)
			_, err := p.Call(t.Context(), "echo", map[string]int{"value": 1})
			require.NoError(t, err)
			switch mode {
			case "stubborn":
				p.patience = 100 * time.Millisecond
			case "answers nobody": // the right request would wait for ever
				_, err := p.Call(t.Context(), "take", nil)
				require.ErrorContains(t, err, want)
			}
			require.ErrorContains(t, p.Close(), want)
		})
	}
	p := mustFake(t, "exits with 3")
	p.Kill(nil)
	require.NoError(t, p.Close(), "it was killed on purpose")
	p = mustFake(t, "plain")
	_, err := p.Call(t.Context(), "crash", nil)
	require.ErrorContains(t, err, "crash was not answered")
	require.ErrorContains(t, err, "exit status 7; its stderr ended with:\nout of memory")
	require.ErrorAs(t, err, new(*exec.ExitError))
	p, err = Start(t.Context(), "fake", []string{"sh", "-c", "sleep 20 & exec " + os.Args[0] + " plain"}, nil)
	require.NoError(t, err)
	require.ErrorContains(t, p.Close(), "has ended: exit status 0, though a process that it had started still held its stdout or stderr")
}

func TestProgramThatCannotServe(t *testing.T) {
	for mode, want := range map[string]string{
		"dies":   "no such release",
		"noise":  "it broke the protocol on stdout: expected one JSON object a line",
		"future": "speaks version 99 of the protocol, expected 3",
	} {
		t.Run(mode, func(t *testing.T) {
			_, err := fake(t, mode)
			require.ErrorContains(t, err, want)
		})
	}
	_, err := Start(t.Context(), "fake", []string{"./no-such-program"}, nil)
	require.ErrorContains(t, err, "no-such-program")

	helloTimeout = 2 * time.Second
	defer func() { helloTimeout = 30 * time.Second }()
	_, err = Start(t.Context(), "fake", []string{os.Args[0], "mute"}, nil)
	require.ErrorContains(t, err, "expected an answer to hello within 2s, got no answer")
	require.ErrorContains(t, err, "not in the mood")
}

// Writes to a program that does not read fail once its pipe is full.
func TestProgramThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p := mustFake(t, "deaf")
	p.patience = 100 * time.Millisecond
	_, err := p.Call(t.Context(), "dq.offer", map[string]string{"value": strings.Repeat("x", 1<<20)})
	require.ErrorContains(t, err, "has read nothing for 100ms")
	err = ReadLines(strings.NewReader(strings.Repeat("x", maxLine+1)), func([]byte) error { return nil })
	require.EqualError(t, err, "expected lines of at most 64 MiB")
	many := iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 1<<22))) // of which no one may look at all before it
	require.NoError(t, ReadLines(many, func([]byte) error { return nil }))
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
	f.Fuzz(func(_ *testing.T, line []byte) {
		if decoded, err := decodeLine(line); err == nil && decoded.Event == nil {
			_, _ = decoded.value("op")
		}
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

func TestNeedsANewerJava(t *testing.T) {
	for failure, newer := range map[RemoteError]bool{
		{Class: "java.lang.NoClassDefFoundError", Message: "java/util/SequencedCollection"}:                         true,
		{Class: "java.lang.UnsupportedClassVersionError", Message: "X has been compiled (class file version 65.0)"}: true,
		{Class: "java.lang.NoClassDefFoundError", Message: "org/redisson/api/RFuture"}:                              false,
	} {
		require.Equal(t, newer, failure.NeedsJava())
	}
}

func TestDueAt(t *testing.T) {
	require.EqualValues(t, 1_000_000_123+7e6, Item{Due: 1007}.DueAt(1_000_000_123))
	require.EqualValues(t, 1_000_000_123, Item{Due: 3}.DueAt(1_000_000_123), "what should have been due is due at once")
}

// The value of the protocol's document.
func TestPayload(t *testing.T) {
	value := Payload(0xabcd, 7, 1234, 60)
	require.Len(t, value, 60)
	require.True(t, strings.HasPrefix(string(value), "dqb3|0000abcd|00000007|00000000000004d2|"))
	kind, index, due := ParsePayload(value, 0xabcd)
	require.Equal(t, []any{Taken, uint32(7), int64(1234)}, []any{kind, index, due})
	found, due, ok := FindPayload([]byte("\x08framed "+string(value)+" so"), 0xabcd)
	require.True(t, ok)
	require.Equal(t, []any{uint32(7), int64(1234)}, []any{found, due})
	for name, changed := range map[string]struct {
		value []byte
		run   uint32
		want  Kind
	}{
		"another run": {value, 1, Foreign}, "other text": {[]byte("hello"), 0xabcd, Foreign},
		"cut off": {value[:30], 0xabcd, Corrupt}, "a byte is gone": {value[:59], 0xabcd, Corrupt}, "another byte": {append(value[:59:59], '!'), 0xabcd, Corrupt},
	} {
		kind, _, _ := ParsePayload(changed.value, changed.run)
		require.Equal(t, changed.want, kind, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Payload(1, 2, 3, 60))
	f.Add([]byte("dqb3|00000001|0000000"))
	f.Fuzz(func(t *testing.T, value []byte) {
		if kind, index, due := ParsePayload(value, 1); kind == Taken {
			require.Equal(t, string(Payload(1, index, due, len(value)))[:HeaderSize-10], string(value)[:HeaderSize-10])
		}
		FindPayload(value, 1)
	})
}
