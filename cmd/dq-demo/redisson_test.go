package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

// documentRelease is what the document's pom.xml asks for.
const documentRelease = "3.16.6"

// A Java service takes what was posted here.
func TestARealRedissonTakesWhatWasPosted(t *testing.T) {
	srv := redistest.Redis(t)
	queue := redistest.OpenRedisson(t, srv, documentRelease, "redisson:queue", "string")
	d := startDemo(t, srv, "--consumer", "none", "--release", documentRelease)
	posted := time.Now()
	d.post("data=a&expire=300")
	var value struct{ T, V string }
	require.NoError(t, json.Unmarshal(queue.Call("q.take", nil), &value))
	require.GreaterOrEqual(t, time.Since(posted), 299*time.Millisecond)
	require.Equal(t, "string", value.T)
	require.Regexp(t, `^\{"data":"a","expire":300,"time":\d+\}$`, value.V)
	d.end()
}

// What a Java service offers arrives here.
func TestWhatARealRedissonOffersArrives(t *testing.T) {
	srv := redistest.Redis(t)
	queue := redistest.OpenRedisson(t, srv, documentRelease, "redisson:queue", "string")
	d := startDemo(t, srv, "--release", documentRelease)
	queue.Call("dq.offer", map[string]any{
		"value": map[string]string{"t": "string", "v": `{"data":"from Java","expire":300,"time":1642141312135}`}, "delay": 300,
	})
	require.Contains(t, d.logged(`msg="data obtained"`), `data="from Java" expire=300 time=1642141312135 took_ms=`)
	d.end()
}
