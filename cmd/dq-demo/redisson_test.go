package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/driver/program/redisson"
	"github.com/dq-bench/dq-bench/harness/server"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// documentRelease is what the document's pom.xml asks for.
const documentRelease = "3.16.6"

// realRedisson opens the queue in a real Redisson. The first time fetches it, so
// only where DQ_REQUIRE asks for that.
func realRedisson(t *testing.T, srv *server.Server, queue string) func(op string, arguments map[string]any) json.RawMessage {
	t.Helper()
	servertest.Redisson(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	release, err := wire.LookupRelease(documentRelease)
	require.NoError(t, err)
	built, err := redisson.Build(ctx, release, func(line string) { t.Log(line) })
	if err != nil {
		servertest.Missing(t, "redisson", err)
	}
	p, err := program.Start(ctx, built.Command, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	call := func(op string, arguments map[string]any) json.RawMessage {
		t.Helper()
		limit, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		result, err := p.Call(limit, op, arguments)
		require.NoError(t, err)
		return result
	}
	var opened struct {
		Handle string `json:"handle"`
	}
	answer := call("open", map[string]any{"redis": srv.URL(), "queue": queue, "codec": "string"})
	require.NoError(t, json.Unmarshal(answer, &opened))
	return func(op string, arguments map[string]any) json.RawMessage {
		t.Helper()
		if arguments == nil {
			arguments = map[string]any{}
		}
		arguments["handle"] = opened.Handle
		return call(op, arguments)
	}
}

// A Java service takes what was posted here.
func TestARealRedissonTakesWhatWasPosted(t *testing.T) {
	srv := servertest.Redis(t)
	call := realRedisson(t, srv, "redisson:queue")
	d := startDemo(t, srv, "--consumer", "none", "--release", documentRelease)
	posted := time.Now()
	d.post("data=a&expire=300")
	var value struct{ T, V string }
	require.NoError(t, json.Unmarshal(call("q.take", nil), &value))
	require.GreaterOrEqual(t, time.Since(posted), 299*time.Millisecond)
	require.Equal(t, "string", value.T)
	require.Regexp(t, `^\{"data":"a","expire":300,"time":\d+\}$`, value.V)
	d.end()
}

// What a Java service offers arrives here.
func TestWhatARealRedissonOffersArrives(t *testing.T) {
	srv := servertest.Redis(t)
	call := realRedisson(t, srv, "redisson:queue")
	d := startDemo(t, srv, "--release", documentRelease)
	call("dq.offer", map[string]any{
		"value": map[string]string{"t": "string", "v": `{"data":"from Java","expire":300,"time":1642141312135}`}, "delay": 300,
	})
	require.Contains(t, d.logged(`msg="data obtained"`), `data="from Java" expire=300 time=1642141312135 took_ms=`)
	d.end()
}
