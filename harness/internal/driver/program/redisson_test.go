package program_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// The driver of a release is built, and answers what was asked before its stdin ended. It is fetched from Maven Central, so only if
// DQ_REQUIRE asks for it.
func TestRealRedisson(t *testing.T) {
	redistest.Redisson(t, "3.16.6")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command, err := redisson.Build(ctx, wire.Release{Major: 3, Minor: 16, Patch: 6}, func(line string) { t.Log(line) })
	require.NoError(t, err)
	asked := exec.CommandContext(ctx, command[0], command[1:]...)
	asked.Stdin = strings.NewReader(`{"id":1,"op":"hello"}`)
	answer, err := asked.Output()
	require.NoError(t, err)
	require.Contains(t, string(answer), `"version":"3.16.6"`)
}
