package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/history"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// A run file that is half written is left out with a notice, on stderr and in the report; only
// where nothing else is there it is an error. The first interrupt ends it.
func TestHistoryLeavesOutWhatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	for i := range 3 {
		r := runtest.Sample(uint64(i), 100, 1)
		r.Driver.Version, r.Started = fmt.Sprint(i), time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		in := filepath.Join(folder, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(in, 0o755))
		require.NoError(t, run.WriteFolder(in, r, nil))
	}
	half := filepath.Join(folder, "1", run.File)
	require.NoError(t, os.Truncate(half, 1000))
	do := func(ctx context.Context, path string) (stdout, stderr bytes.Buffer, err error) {
		cmd := newRootCmd()
		cmd.SetArgs([]string{"history", "--json", path})
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		err = cmd.ExecuteContext(ctx)
		return stdout, stderr, err
	}
	stdout, stderr, err := do(t.Context(), folder)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^left out: run file .*1/run\.json: .*no JSON object[^\n]*\n$`, stderr.String())
	var h history.History
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &h))
	require.Len(t, h.Points, 2)
	require.Len(t, h.LeftOut, 1)
	require.Contains(t, h.LeftOut[0], half)

	_, _, err = do(t.Context(), filepath.Dir(half))
	require.ErrorContains(t, err, "no JSON object")
	var coded *exitError
	require.NotErrorAs(t, err, &coded, "exit code 1")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = do(ended, folder)
	require.ErrorIs(t, err, context.Canceled)
}
