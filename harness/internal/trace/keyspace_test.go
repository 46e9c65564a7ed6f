package trace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

func keyspaceOf(t *testing.T, text string) *trace.Keyspace {
	t.Helper()
	rec, err := trace.Read(strings.NewReader(text), "x.monitor")
	require.NoError(t, err)
	m := trace.NewKeyspace()
	for _, c := range trace.Group(rec.Lines) {
		m.Apply(c.Line, c.Inner)
	}
	return m
}

// A waiting consumer gets an element before a later command sees it, the one
// who waits longest first; a new command of a waiting peer ends its wait.
func TestConsumersAreServedInOrder(t *testing.T) {
	m := keyspaceOf(t, `1.000000 [0 10.0.0.1:1] "BLPOP" "q" "0"
2.000000 [0 10.0.0.2:1] "BRPOP" "other" "q" "0"
3.000000 [0 10.0.0.3:1] "BLPOP" "q" "1"
4.000000 [0 10.0.0.3:1] "PING"
5.000000 [0 10.0.0.9:1] "RPUSH" "q" "a" "b" "c" "d" "c"
6.000000 [0 10.0.0.9:1] "LREM" "q" "-1" "c"
7.000000 [0 10.0.0.9:1] "RPOPLPUSH" "q" "r"
`)
	require.Equal(t, []string{"b"}, m.Values[trace.Key{Name: "q"}].List)
	require.Equal(t, []string{"d"}, m.Values[trace.Key{Name: "r"}].List)
}

func TestASortedSetIsInOrder(t *testing.T) {
	m := keyspaceOf(t, `1.000000 [0 10.0.0.1:1] "ZADD" "z" "2" "b" "1645518017326" "a" "2" "a2" "9" "c"
2.000000 [0 10.0.0.1:1] "ZREM" "z" "a2" "absent"
2.000000 [0 10.0.0.1:1] "ZREMRANGEBYSCORE" "z" "(2" "10"
3.000000 [1 10.0.0.1:2] "ZADD" "z" "NX" "1" "x"
`)
	require.Equal(t, []string{"b", "a"}, m.Values[trace.Key{Name: "z"}].Members())
	require.Equal(t, map[trace.Key]string{{DB: 1, Name: "z"}: "ZADD"}, m.Unknown)
}

func FuzzKeyspace(f *testing.F) {
	f.Add(`1.000000 [0 1.1.1.1:1] "BLPOP" "q" "0"` + "\n" + `1.000000 [0 1.1.1.1:1] "lrem" "q" "-9" "x"`)
	f.Fuzz(func(_ *testing.T, text string) {
		rec, err := trace.Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		timeline := trace.NewTimeline()
		for _, l := range rec.Lines {
			timeline.Add(l, true)
		}
		timeline.End()
	})
}
