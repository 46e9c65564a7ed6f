package program_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// TestRealRedisson builds and starts the driver of one release. It fetches from
// Maven Central, so it only runs if DQ_REQUIRE asks for it.
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
	require.Contains(t, string(answer), `"version":"3.16.6"`, "what was asked before stdin ended is answered")

	p, err := program.Start(ctx, "redisson", command, nil)
	require.NoError(t, err)
	require.Equal(t, driver.Identity{Name: "redisson", Version: "3.16.6"}, p.Introduction().Identity)
	require.Contains(t, p.Introduction().Capabilities, "dq.offer")
	require.NotContains(t, p.Introduction().Capabilities, "dq.copy", "copy came with 3.35.0")

	encoded, err := p.Call(ctx, "codec.encode", map[string]any{
		"codec": "json", "value": map[string]string{"t": "long", "v": "42"},
	})
	require.NoError(t, err)
	var result struct{ Bytes []byte }
	require.NoError(t, json.Unmarshal(encoded, &result))
	require.Equal(t, `["java.lang.Long",42]`, string(result.Bytes))
	require.NoError(t, p.Close())
}
