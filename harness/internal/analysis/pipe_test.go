//go:build unix

package analysis_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dq-bench/dq-bench/recordings"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// A named pipe is waited for, until somebody interrupts that, and is read once.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "log")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r := &analysis.Reader{Analysis: analysis.New()}
	require.ErrorIs(t, r.Files(ctx, []string{pipe}), context.DeadlineExceeded)

	pipe += "2" // for somebody still waits for a writer of the first
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	wrote := make(chan error, 1)
	go func() {
		wrote <- os.WriteFile(pipe, []byte("1700000000.000000 [0 127.0.0.1:5000] \"get\" \"a\"\n"), 0o600)
	}()
	require.NoError(t, r.Files(t.Context(), []string{pipe}))
	require.NoError(t, <-wrote)
	require.EqualValues(t, 1, r.Document().Commands)
}

// The lines of an anomaly are read again from files alone: who opens a pipe again waits for another writer.
func TestNamedPipeWithAnomalies(t *testing.T) {
	t.Parallel()
	log, err := fs.ReadFile(recordings.Redisson(), "3.21.1/DQ.poll.monitor")
	require.NoError(t, err)
	pipe := filepath.Join(t.TempDir(), "log")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, log, 0o600) }()
	r := &analysis.Reader{Analysis: analysis.New()}
	require.NoError(t, r.Files(t.Context(), []string{pipe}))
	require.NoError(t, <-wrote)
	documents := make(chan *analysis.Document, 1)
	go func() { documents <- r.Document() }()
	select {
	case d := <-documents:
		require.NotEmpty(t, d.Anomalies)
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for another writer")
	}
}
