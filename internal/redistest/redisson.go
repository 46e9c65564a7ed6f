package redistest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
)

const callTimeout = time.Minute

// RedissonQueue is a queue that a real Redisson has open.
type RedissonQueue struct {
	t       testing.TB
	version string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	lines   *bufio.Scanner
	stderr  strings.Builder
	close   sync.Once

	mu     sync.Mutex // one call at a time
	last   int
	handle string
}

// OpenRedisson opens a queue in a Redisson of its own, until the test ends. codec is a codec of docs/protocol.md.
func OpenRedisson(t testing.TB, srv *redis.Server, version, queue, codec string) *RedissonQueue {
	t.Helper()
	Redisson(t, version)
	release, err := wire.LookupRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	command, err := redisson.Build(t.Context(), release, func(line string) { t.Log(line) })
	if err != nil {
		Missing(t, "redisson", err)
	}
	q := &RedissonQueue{t: t, version: version, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)}
	q.cmd.Stderr = &q.stderr
	q.stdin, _ = q.cmd.StdinPipe() // of a new command
	stdout, _ := q.cmd.StdoutPipe()
	q.lines = bufio.NewScanner(stdout)
	q.lines.Buffer(nil, 64<<20)
	if err := q.cmd.Start(); err != nil {
		t.Fatalf("Redisson %s: %v", version, err)
	}
	t.Cleanup(q.Close)
	var opened struct{ Handle string }
	result := q.Call("open", map[string]any{"redis": srv.URL(), "queue": queue, "codec": codec})
	if err := json.Unmarshal(result, &opened); err != nil || opened.Handle == "" {
		t.Fatalf("Redisson %s: expected a handle in the response to open, got %s", version, result)
	}
	q.handle = opened.Handle
	return q
}

// Call runs an op of docs/protocol.md on the queue and returns its result; arguments may be nil.
func (q *RedissonQueue) Call(op string, arguments map[string]any) json.RawMessage {
	q.t.Helper()
	result, err := q.Try(op, arguments)
	if err != nil {
		q.t.Fatal(err)
	}
	return result
}

// Try is Call for an op that may fail.
func (q *RedissonQueue) Try(op string, arguments map[string]any) (json.RawMessage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	request := map[string]any{"op": op, "id": q.last, "handle": q.handle}
	maps.Copy(request, arguments)
	timer := time.AfterFunc(callTimeout, func() { _ = q.cmd.Process.Kill() })
	defer timer.Stop()
	err := json.NewEncoder(q.stdin).Encode(request)
	for err == nil && q.lines.Scan() {
		var response struct {
			ID            int
			OK            bool
			Result, Error json.RawMessage
		}
		switch {
		case json.Unmarshal(q.lines.Bytes(), &response) != nil || response.ID != q.last:
		case !response.OK:
			return nil, fmt.Errorf("Redisson %s: %s: %s", q.version, op, response.Error)
		default:
			return response.Result, nil
		}
	}
	return nil, fmt.Errorf("Redisson %s: %s: no response within %v: %w", q.version, op, callTimeout, err)
}

// Close ends the Redisson before the test does.
func (q *RedissonQueue) Close() {
	q.close.Do(func() {
		_ = q.stdin.Close()
		timer := time.AfterFunc(callTimeout, func() { _ = q.cmd.Process.Kill() })
		defer timer.Stop()
		for q.lines.Scan() { // until the program ends
		}
		if err := q.cmd.Wait(); err != nil {
			q.t.Errorf("Redisson %s: %v\n%s", q.version, err, q.stderr.String())
		}
	})
}
