package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
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

// openRedisson opens the document's queue in a real Redisson until the test ends. It returns a function for the ops of docs/protocol.md.
func openRedisson(t *testing.T, srv *redis.Server) (ask func(op string, args ...any) (result struct{ T, V, Handle string })) {
	redistest.Redisson(t, documentRelease)
	release, err := wire.LookupRelease(documentRelease)
	require.NoError(t, err)
	command, err := redisson.Build(t.Context(), release, func(line string) { t.Log(line) })
	if err != nil {
		redistest.Missing(t, "redisson", err)
	}
	program := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	stdin, _ := program.StdinPipe() // of a new command
	stdout, _ := program.StdoutPipe()
	require.NoError(t, program.Start())
	t.Cleanup(func() { stdin.Close(); _ = program.Wait() })
	answers, handle := bufio.NewScanner(stdout), ""
	ask = func(op string, args ...any) (result struct{ T, V, Handle string }) {
		_, err := fmt.Fprintf(stdin, `{"id":1,"handle":%q,`+op+"}\n", append([]any{handle}, args...)...)
		require.NoError(t, err)
		require.True(t, answers.Scan())
		answer := struct{ Result any }{&result}
		require.NoError(t, json.Unmarshal(answers.Bytes(), &answer))
		require.NotContains(t, answers.Text(), `"error"`)
		return result
	}
	handle = ask(`"op":"open","redis":%q,"queue":"redisson:queue","codec":"string"`, srv.URL()).Handle
	return ask
}

// A Java service takes what was posted here, and what it offers arrives here.
func TestTheQueueIsSharedWithARealRedisson(t *testing.T) {
	srv := redistest.Redis(t)
	ask := openRedisson(t, srv)
	d := startDemo(t, srv, "--consumer", "none", "--release", documentRelease)
	posted := time.Now()
	d.post("data=a&expire=300")
	value := ask(`"op":"q.take"`)
	require.GreaterOrEqual(t, time.Since(posted), 299*time.Millisecond)
	require.Equal(t, "string", value.T)
	require.Regexp(t, `^\{"data":"a","expire":300,"time":\d+\}$`, value.V)
	d.end()

	d = startDemo(t, srv, "--release", documentRelease)
	ask(`"op":"dq.offer","value":{"t":"string","v":%q},"delay":300`, `{"data":"from Java","expire":300,"time":1642141312135}`)
	require.Contains(t, d.logged(`msg="data obtained"`), `data="from Java" expire=300 time=1642141312135 took_ms=`)
	d.end()
}
