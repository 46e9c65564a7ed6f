package program

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestParse(t *testing.T) {
	for spec, release := range map[string]string{
		"dq": wire.Newest().String(), "dq:3.16.6": "3.16.6", "dq:3.21.0,faithful": "3.21.0", "dq,faithful": wire.Newest().String(),
		"redisson:2.15.2": "2.15.2", "redisson:3.99.0": "3.99.0",
	} {
		s, err := Parse(spec)
		require.NoError(t, err, spec)
		got, ok := s.Release()
		require.True(t, ok)
		require.Equal(t, release, got.String())
		require.Equal(t, spec, s.String())
	}
	for spec, want := range map[string]string{
		"": "expected dq", "redisson": "is not a Redisson release", "redisson:3.99": "is not a Redisson release", "dq:3.99.0": "the nearest is",
		"dq:3.16.6,fast": "expected ,faithful", "exec:": "expected a program", `exec:a "b`: "expected an end", "memory": "expected dq",
	} {
		_, err := Parse(spec)
		require.ErrorContains(t, err, want, spec)
		var bad *driver.SpecError
		require.True(t, errors.As(err, &bad), spec)
	}
}

func TestNoticeOfAnUnknownRelease(t *testing.T) {
	for spec, want := range map[string]string{
		"dq": "", "redisson:3.52.0": "", "exec:a": "",
		"redisson:3.99.0": "Redisson 3.99.0 is not in the catalogue: 3.52.0, the nearest that is, stands for it",
	} {
		s, err := Parse(spec)
		require.NoError(t, err, spec)
		require.Equal(t, want, s.Notice(), spec)
	}
}

func TestLibraryAnswersAsTheProtocolSays(t *testing.T) {
	srv := redistest.Redis(t)
	p := NewLibrary(library.DQ{Release: wire.Newest()})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	call := func(op string, params map[string]any) (string, error) {
		result, err := p.Call(t.Context(), op, params)
		return string(result), err
	}
	opened, err := call("open", map[string]any{"redis": srv.URL(), "queue": "q", "codec": "json"})
	require.NoError(t, err)
	var h struct{ Handle, Client string }
	require.NoError(t, json.Unmarshal([]byte(opened), &h))
	with := func(params map[string]any) map[string]any { params["handle"] = h.Handle; return params }

	value := map[string]any{"t": "long", "v": strconv.Itoa(1 << 40)}
	result, err := call("q.offer", with(map[string]any{"value": value}))
	require.NoError(t, err)
	require.Equal(t, "true", result)
	result, err = call("q.poll", with(map[string]any{"timeout": 2, "unit": "s"}))
	require.NoError(t, err)
	require.JSONEq(t, `{"t":"long","v":"1099511627776"}`, result)
	result, err = call("q.poll", with(map[string]any{}))
	require.NoError(t, err)
	require.Equal(t, "null", result)

	for name, test := range map[string]struct {
		op     string
		params map[string]any
		class  string
	}{
		"unknown op":       {"dq.fly", with(map[string]any{}), "unsupported"},
		"unknown handle":   {"dq.size", map[string]any{"handle": "none"}, "error"},
		"missing argument": {"dq.offer", with(map[string]any{"delay": 1}), "error"},
		"negative delay":   {"dq.offer", with(map[string]any{"value": value, "delay": -1}), "dq.ErrNegativeDelay"},
		"unknown codec":    {"open", map[string]any{"redis": srv.URL(), "queue": "q", "codec": "fst"}, "unsupported"},
		"unknown unit":     {"q.poll", with(map[string]any{"timeout": 1, "unit": "year"}), "error"},
		"other client":     {"close", map[string]any{"client": "none"}, "error"},
	} {
		_, err := call(test.op, test.params)
		var remote *RemoteError
		require.True(t, errors.As(err, &remote), "%s: %v", name, err)
		require.Equal(t, test.class, remote.Class, name)
	}
	_, err = call("close", map[string]any{"client": h.Client})
	require.NoError(t, err)
	_, err = call("q.size", with(map[string]any{}))
	require.ErrorContains(t, err, "is not open")
}

func FuzzValueOf(f *testing.F) {
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

// A codec that compresses wraps the default of its release.
func TestCompressingCodecsWrapTheDefault(t *testing.T) {
	for release, want := range map[string]string{"3.18.1": "0000000880043e0568656c6c6f", "3.19.0": "00000006600368656c6cef"} {
		r, err := wire.ParseRelease(release)
		require.NoError(t, err)
		values, err := NamedCodec("lz4", "string", r)
		require.NoError(t, err)
		data, err := values.Encode("hello")
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(data), release)
	}
}
