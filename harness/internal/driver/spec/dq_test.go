package spec

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// dq answers the ops of the protocol, and names what is wrong by its class.
func TestAnswersAsTheProtocolSays(t *testing.T) {
	srv := redistest.Redis(t)
	p := DQ{Release: wire.Newest()}.Link(true)
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
		says   string
	}{
		"unknown op":       {"dq.fly", with(map[string]any{}), "unsupported"},
		"no such overload": {"dq.rename", with(map[string]any{"name": "other"}), "unsupported"},
		"unknown handle":   {"dq.size", map[string]any{"handle": "none"}, "is not open"},
		"missing argument": {"dq.offer", with(map[string]any{"delay": 1}), `"value" is missing`},
		"negative delay":   {"dq.offer", with(map[string]any{"value": value, "delay": -1}), "negative"},
		"unknown codec":    {"open", map[string]any{"redis": srv.URL(), "queue": "q", "codec": "fst"}, "unsupported"},
		"unknown unit":     {"q.poll", with(map[string]any{"timeout": 1, "unit": "year"}), `unit "year"`},
		"other client":     {"close", map[string]any{"client": "none"}, "is not open"},
	} {
		_, err := call(test.op, test.params)
		var remote *program.RemoteError
		require.ErrorAs(t, err, &remote, name)
		require.ErrorContains(t, err, test.says, name)
	}
	_, err = call("close", map[string]any{"client": h.Client})
	require.NoError(t, err)
	_, err = call("q.size", with(map[string]any{}))
	require.ErrorContains(t, err, "is not open")
}

// Queues that are opened together share a client, which ends with the last of them.
func TestDriverOffersTakesAndCancels(t *testing.T) {
	srv := redistest.Redis(t)
	for _, d := range []DQ{{Release: wire.Newest()}, {Release: wire.Newest(), Faithful: true}} {
		queues, err := d.Open(t.Context(), driver.Target{RedisURL: srv.URL()}, d.Identity().String(), "other")
		require.NoError(t, err)
		require.NoError(t, queues[1].Close())
		q := queues[0]
		require.NoError(t, q.Offer(t.Context(), []byte("cancelled"), time.Hour))
		removed, err := q.(driver.Remover).Remove(t.Context(), []byte("cancelled"))
		require.NoError(t, err)
		require.True(t, removed)
		_, found, err := q.(driver.Poller).Poll(t.Context())
		require.NoError(t, err)
		require.False(t, found)
		require.NoError(t, q.Offer(t.Context(), []byte{}, time.Millisecond))
		got, err := q.Take(t.Context())
		require.NoError(t, err)
		require.Equal(t, []byte{}, got)
		require.ErrorIs(t, q.Offer(t.Context(), nil, -time.Second), driver.ErrRefused)
		require.NoError(t, q.Close())
	}
}
