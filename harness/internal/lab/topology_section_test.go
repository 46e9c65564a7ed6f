package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program writes one that says a version.
func program(t *testing.T, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o700))
	return path
}

func TestEachVersionIsFoundOnce(t *testing.T) {
	t.Setenv("PATH", "")
	redis := program(t, "Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64")
	again := program(t, "Redis server v=6.0.16 sha=00000000:0")
	valkey := program(t, "Valkey server v=8.1.1 sha=00000000:0")
	found, err := find(t.Context(), redis+":"+again+"::"+valkey)
	require.NoError(t, err)
	require.Equal(t, []server{{redis, "redis", "6.0.16"}, {valkey, "valkey", "8.1.1"}}, found)

	_, err = find(t.Context(), program(t, "ls 1.0"))
	require.ErrorContains(t, err, "expected a Redis or Valkey server")
	_, err = find(t.Context(), "")
	require.ErrorContains(t, err, "DQ_REDIS_SERVERS")
}

func TestSectionShowsWhatFailed(t *testing.T) {
	kinds := Kinds(nil)
	good := &job{
		program: server{"", "redis", "7.0.15"}, kind: kinds[0],
		outcomes: []outcome{{Fault{Name: "kill", About: "kill -9", Loses: Popped}, &Outcome{
			Offered: 100, Acknowledged: 94, Uncertain: 6, UncertainCame: 2, LostPopped: 1,
			Fault: 300 * time.Millisecond, Gap: 350 * time.Millisecond, Resumed: 20 * time.Millisecond,
		}}},
	}
	text, err := section([]*job{good})
	require.NoError(t, err)
	require.Contains(t, text, "|one server|1|1|94|1|0|350 ms|\n")

	bad := &job{
		program: good.program, kind: kinds[1], err: errors.New("no way"),
		outcomes: []outcome{{Fault{Name: "kill"}, &Outcome{Acknowledged: 1, LostBeyond: 2, Stalled: 1, Resumed: -1}}},
	}
	text, err = section([]*job{good, bad})
	require.Contains(t, text, "|RESP2|1|1|1|0|2|0 ns|\n")
	for _, want := range []string{"no way", "kill: 2 lost beyond what Redis may lose", "kill: 1 queues of which nothing came after the fault"} {
		require.ErrorContains(t, err, want)
	}
}
