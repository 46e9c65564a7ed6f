package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve shows what is stored until it is interrupted.
func TestServeUntilInterrupted(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	load := newRootCmd()
	load.SetArgs([]string{"run", "--driver", "memory", "--rate", "1000/s", "--duration", "100ms", "--delay", "5ms", "--warmup", "0s", "--progress", "none", "--out", out})
	load.SetOut(io.Discard)
	load.SetErr(io.Discard)
	_ = load.ExecuteContext(t.Context()) // its verdict is the machine's

	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	told, stderr := io.Pipe()
	cmd := newRootCmd()
	cmd.SetArgs([]string{"serve", out})
	cmd.SetErr(stderr)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(told).ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`^runs of .* at (http://127\.0\.0\.1:[0-9]+/)\n$`).FindStringSubmatch(line)
	require.Len(t, url, 2, line)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url[1], nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "1 run in ")
	interrupt()
	require.NoError(t, <-ended)
}
