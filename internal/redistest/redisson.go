package redistest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
)

const (
	buildTimeout = 5 * time.Minute // of a release's first build, which fetches the release
	callTimeout  = time.Minute
	endTimeout   = 20 * time.Second // from the end of stdin to the end of the program
)

// RedissonCommand returns the command line of the driver program of a release.
func RedissonCommand(t testing.TB, version string) []string {
	t.Helper()
	Redisson(t, version)
	release, err := wire.LookupRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	built, err := redisson.Build(ctx, release, func(line string) { t.Log(line) })
	if err != nil {
		Missing(t, "redisson", err)
	}
	return built.Command
}

// answer is a response of the driver protocol.
type answer struct {
	ID     int             `json:"id"`
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// RedissonQueue is a queue that a real Redisson has open. Its methods may be called from several goroutines.
type RedissonQueue struct {
	t       testing.TB
	version string
	handle  string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  strings.Builder
	ended   chan struct{} // closed when the program has closed its stdout
	close   sync.Once

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
}

// OpenRedisson opens a queue in a Redisson of its own. codec is one of docs/protocol.md.
func OpenRedisson(t testing.TB, srv *redis.Server, version, queue, codec string) *RedissonQueue {
	t.Helper()
	command := RedissonCommand(t, version)
	q := &RedissonQueue{t: t, version: version, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...), ended: make(chan struct{}), waiting: map[int]chan answer{}}
	q.cmd.Stderr = &q.stderr
	stdin, err := q.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := q.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	q.stdin = stdin
	if err := q.cmd.Start(); err != nil {
		t.Fatalf("Redisson %s: %v", version, err)
	}
	go q.read(stdout)
	t.Cleanup(q.Close)
	var opened struct{ Handle string }
	result := q.Call("open", map[string]any{"redis": srv.URL(), "queue": queue, "codec": codec})
	if err := json.Unmarshal(result, &opened); err != nil || opened.Handle == "" {
		t.Fatalf("Redisson %s: expected a handle in answer to open, got %s", version, result)
	}
	q.handle = opened.Handle
	return q
}

// read hands each response to its call.
func (q *RedissonQueue) read(stdout io.Reader) {
	defer close(q.ended)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue
		}
		q.mu.Lock()
		to := q.waiting[a.ID]
		delete(q.waiting, a.ID)
		q.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
}

// Call runs an op of docs/protocol.md on the queue and returns its result; arguments may be nil.
func (q *RedissonQueue) Call(op string, arguments map[string]any) json.RawMessage {
	q.t.Helper()
	request := map[string]any{"op": op}
	if q.handle != "" {
		request["handle"] = q.handle
	}
	for name, value := range arguments {
		request[name] = value
	}
	reply := make(chan answer, 1)
	q.mu.Lock()
	q.last++
	request["id"] = q.last
	q.waiting[q.last] = reply
	err := json.NewEncoder(q.stdin).Encode(request)
	q.mu.Unlock()
	if err != nil {
		q.t.Fatalf("Redisson %s: %s: %v", q.version, op, err)
	}
	select {
	case a := <-reply:
		if !a.OK {
			q.t.Fatalf("Redisson %s: %s: %s", q.version, op, a.Error)
		}
		return a.Result
	case <-q.ended:
		q.t.Fatalf("Redisson %s: %s: the program ended", q.version, op)
	case <-time.After(callTimeout):
		q.t.Fatalf("Redisson %s: %s: no answer within %v", q.version, op, callTimeout)
	}
	return nil
}

// Close ends the Redisson before the test does.
func (q *RedissonQueue) Close() {
	q.close.Do(func() {
		_ = q.stdin.Close()
		timer := time.AfterFunc(endTimeout, func() { _ = q.cmd.Process.Kill() })
		defer timer.Stop()
		<-q.ended
		if err := q.cmd.Wait(); err != nil {
			q.t.Errorf("Redisson %s: %v\n%s", q.version, err, q.stderr.String())
		}
	})
}
