//go:build unix

package analysis_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/recordings"
)

// A named pipe is waited for, until somebody interrupts that.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "log")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r := analysis.New()
	require.ErrorIs(t, r.Files(ctx, []string{pipe}), context.DeadlineExceeded)
}

// A pipe is read once, and the lines of an anomaly from files alone: who opens a pipe again waits for another writer.
func TestNamedPipeWithAnomalies(t *testing.T) {
	t.Parallel()
	log := recordings.Redisson("3.21.1")["DQ.poll"]
	pipe := filepath.Join(t.TempDir(), "log")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, log, 0o600) }()
	r := analysis.New()
	require.NoError(t, r.Files(t.Context(), []string{pipe}))
	require.NoError(t, <-wrote)
	require.Eventually(t, func() bool { return len(r.Document().Anomalies) > 0 }, 20*time.Second, time.Millisecond, "it waits for another writer")
}
