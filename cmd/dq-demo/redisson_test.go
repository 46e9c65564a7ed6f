package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// documentRelease is what the document's pom.xml asks for.
const documentRelease = "3.16.6"

// javaService is a real Redisson with the document's queue open, until the test ends.
type javaService struct {
	t        *testing.T
	requests io.Writer
	answers  *bufio.Scanner
	handle   string
}

func openRedisson(t *testing.T, srv *redis.Server) *javaService {
	redistest.Redisson(t, documentRelease)
	release, err := wire.LookupRelease(documentRelease)
	require.NoError(t, err)
	command, err := redisson.Build(t.Context(), release, func(line string) { t.Log(line) })
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	program := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	stdin, err := program.StdinPipe()
	require.NoError(t, err)
	stdout, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() { stdin.Close(); _ = program.Wait() })
	s := &javaService{t: t, requests: stdin, answers: bufio.NewScanner(stdout)}
	s.handle = s.ask(`"op":"open","redis":%q,"queue":"redisson:queue","codec":"string"`, srv.URL()).Handle
	return s
}

// ask runs an op of docs/protocol.md and returns its result.
func (s *javaService) ask(op string, args ...any) (result struct{ T, V, Handle string }) {
	s.t.Helper()
	_, err := fmt.Fprintf(s.requests, `{"id":1,"handle":%q,`+op+"}\n", append([]any{s.handle}, args...)...)
	require.NoError(s.t, err)
	require.True(s.t, s.answers.Scan())
	answer := struct {
		OK     bool
		Result any
	}{Result: &result}
	require.NoError(s.t, json.Unmarshal(s.answers.Bytes(), &answer))
	require.True(s.t, answer.OK, s.answers.Text())
	return result
}

// A Java service takes what was posted here, and what it offers arrives here.
func TestTheQueueIsSharedWithARealRedisson(t *testing.T) {
	srv := redistest.Redis(t)
	queue := openRedisson(t, srv)
	d := startDemo(t, srv, "--consumer", "none", "--release", documentRelease)
	posted := time.Now()
	d.post("data=a&expire=300")
	value := queue.ask(`"op":"q.take"`)
	require.GreaterOrEqual(t, time.Since(posted), 299*time.Millisecond)
	require.Equal(t, "string", value.T)
	require.Regexp(t, `^\{"data":"a","expire":300,"time":\d+\}$`, value.V)
	d.end()

	d = startDemo(t, srv, "--release", documentRelease)
	queue.ask(`"op":"dq.offer","value":{"t":"string","v":%q},"delay":300`, `{"data":"from Java","expire":300,"time":1642141312135}`)
	require.Contains(t, d.logged(`msg="data obtained"`), `data="from Java" expire=300 time=1642141312135 took_ms=`)
	d.end()
}
