package trace_test

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

// A Scanner finds, line by line, the calls that Group finds in all of them.
func TestScannerGroups(t *testing.T) {
	log, err := fs.ReadFile(recordings.Redisson(), "4.7.0/DQ.transfer.monitor")
	require.NoError(t, err)
	recording, err := trace.Read(bytes.NewReader(log), "log")
	require.NoError(t, err)
	calls := trace.Group(recording.Lines)
	var s trace.Scanner
	check := func(c *trace.Call) {
		if c != nil {
			require.Equal(t, calls[0].Line, c.Line)
			require.Equal(t, calls[0].Script, c.Script)
			require.Len(t, c.Inner, len(calls[0].Inner))
			calls = calls[1:]
		}
	}
	for _, l := range recording.Lines {
		check(s.Add(l))
	}
	check(s.End())
	require.Empty(t, calls)
	require.Nil(t, s.End())

	lua := trace.Line{Peer: trace.LuaPeer, Args: []string{"zrem", "k", "m"}} // the script's own line is missing
	require.Nil(t, s.Add(lua))
	require.Nil(t, s.Add(lua))
	require.Len(t, s.Add(trace.Line{Peer: "a:1", Args: []string{"PING"}}).Inner, 1)
}

// BenchmarkScanner reads 64 MB of recordings.
func BenchmarkScanner(b *testing.B) {
	log, err := fs.ReadFile(recordings.Redisson(), "4.7.0/DQ.transfer.monitor")
	require.NoError(b, err)
	log = bytes.Repeat(log, 1+(64<<20)/len(log))
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		var calls trace.Scanner
		for lines := trace.NewLineScanner(bytes.NewReader(log)); lines.Scan(); {
			if l, err := lines.Line(); err == nil {
				calls.Add(l)
			}
		}
	}
}
