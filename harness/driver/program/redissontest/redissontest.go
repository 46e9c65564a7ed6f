// Package redissontest gives tests a real Redisson.
//
// A test that cannot have one is skipped with the reason, unless DQ_REQUIRE lists redisson:
// then it fails.
package redissontest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/driver/program/redisson"
	"github.com/dq-bench/dq-bench/harness/server"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

const (
	// buildTimeout bounds a start: the first one of a release fetches it.
	buildTimeout = 5 * time.Minute
	// callTimeout bounds one call.
	callTimeout = time.Minute
)

// Start starts the driver program of a release, which ends with the test.
func Start(t testing.TB, version string) *program.Process {
	t.Helper()
	servertest.Redisson(t)
	release, err := wire.LookupRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	built, err := redisson.Build(ctx, release, func(line string) { t.Log(line) })
	if err != nil {
		servertest.Missing(t, "redisson", err)
	}
	p, err := program.Start(ctx, built.Command, nil)
	if err != nil {
		t.Fatalf("Redisson %s: %v", version, err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Redisson %s: %v", version, err)
		}
	})
	return p
}

// Queue is a queue that a real Redisson has open.
type Queue struct {
	t       testing.TB
	version string
	program *program.Process
	handle  string
}

// Open opens a queue in a Redisson of its own. codec is one of PROTOCOL.md.
func Open(t testing.TB, srv *server.Server, version, queue, codec string) *Queue {
	t.Helper()
	q := &Queue{t: t, version: version, program: Start(t, version)}
	var opened struct{ Handle string }
	answer := q.Call("open", map[string]any{"redis": srv.DriverURL(), "queue": queue, "codec": codec})
	if err := json.Unmarshal(answer, &opened); err != nil || opened.Handle == "" {
		t.Fatalf("Redisson %s: expected a handle in answer to open, got %s", version, answer)
	}
	q.handle = opened.Handle
	return q
}

// Call runs an op of PROTOCOL.md on the queue and returns its result; arguments may be nil.
func (q *Queue) Call(op string, arguments map[string]any) json.RawMessage {
	q.t.Helper()
	limit, cancel := context.WithTimeout(context.WithoutCancel(q.t.Context()), callTimeout)
	defer cancel()
	params := map[string]any{"handle": q.handle}
	for name, value := range arguments {
		params[name] = value
	}
	if q.handle == "" {
		delete(params, "handle")
	}
	result, err := q.program.Call(limit, op, params)
	if err != nil {
		q.t.Fatalf("Redisson %s: %s: %v", q.version, op, err)
	}
	return result
}

// Close ends the Redisson before the test does.
func (q *Queue) Close() {
	q.t.Helper()
	if err := q.program.Close(); err != nil {
		q.t.Errorf("Redisson %s: %v", q.version, err)
	}
}
