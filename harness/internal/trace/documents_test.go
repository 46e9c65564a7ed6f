package trace_test

import (
	"strconv"
	"testing"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/stretchr/testify/require"
)

// A server prints the transcriptions. That a server does what they show is for package replay to test.
func TestDocumentsAreWhatAServerPrints(t *testing.T) {
	for name, commands := range map[string]int{"002-zlyx.monitor": 12, "004-dest_queue1.monitor": 44} {
		f, err := recordings.Files.Open("documents/" + name)
		require.NoError(t, err)
		defer f.Close()
		rec, err := trace.Read(f, name)
		require.NoError(t, err)
		require.Len(t, rec.Lines, commands)
		for _, l := range rec.Lines {
			require.Equal(t, l.Raw, l.String())
			if l.Name() == "zadd" && name == "004-dest_queue1.monitor" {
				m, err := wire.LayoutDLc0.Unpack([]byte(l.Args[3]))
				require.NoError(t, err)
				_, integer := wire.RandomForID(m.ID)
				require.True(t, integer)
				due, err := strconv.ParseInt(l.Args[2], 10, 64)
				require.NoError(t, err)
				require.InDelta(t, 4_280_000, l.Time-(due-13_000)*1000, 15_000, "a client clock about 4.3 s behind the server's")
			}
		}
	}
}
