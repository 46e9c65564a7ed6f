package replay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

func modelOf(t *testing.T, text string) *model {
	t.Helper()
	rec, err := monitor.Read(strings.NewReader(text), "x.monitor")
	require.NoError(t, err)
	calls, err := trace.Calls(rec)
	require.NoError(t, err)
	m := newModel()
	for _, c := range calls {
		m.apply(c, c.Inner)
	}
	return m
}

// A waiting consumer gets an element before a later command sees it, the one
// who waits longest first; a new command of a waiting peer ends its wait.
func TestModelServesConsumersInOrder(t *testing.T) {
	m := modelOf(t, `1.000000 [0 10.0.0.1:1] "BLPOP" "q" "0"
2.000000 [0 10.0.0.2:1] "BRPOP" "other" "q" "0"
3.000000 [0 10.0.0.3:1] "BLPOP" "q" "1"
4.000000 [0 10.0.0.3:1] "PING"
5.000000 [0 10.0.0.9:1] "RPUSH" "q" "a" "b" "c" "d" "c"
6.000000 [0 10.0.0.9:1] "LREM" "q" "-1" "c"
7.000000 [0 10.0.0.9:1] "RPOPLPUSH" "q" "r"
`)
	require.Empty(t, m.waiting)
	require.Equal(t, `list "q": "b"`, describe("q", m.keys[dbKey{0, "q"}]))
	require.Equal(t, `list "r": "d"`, describe("r", m.keys[dbKey{0, "r"}]))
}

func TestModelOrdersASortedSet(t *testing.T) {
	m := modelOf(t, `1.000000 [0 10.0.0.1:1] "ZADD" "z" "2" "b" "1645518017326" "a" "2" "a2"
2.000000 [0 10.0.0.1:1] "ZREM" "z" "a2" "absent"
3.000000 [1 10.0.0.1:2] "ZADD" "z" "NX" "1" "x"
`)
	require.Equal(t, `zset "z": "b" "2" "a" "1645518017326"`, describe("z", m.keys[dbKey{0, "z"}]))
	require.Equal(t, map[dbKey]string{{1, "z"}: "ZADD"}, m.unknown)
}

func FuzzModel(f *testing.F) {
	f.Add(`1.000000 [0 1.1.1.1:1] "BLPOP" "q" "0"` + "\n" + `1.000000 [0 1.1.1.1:1] "lrem" "q" "-9" "x"`)
	f.Fuzz(func(_ *testing.T, text string) {
		rec, err := monitor.Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		plan, err := NewPlan(rec)
		if err != nil {
			return
		}
		m := newModel()
		for _, s := range plan.steps {
			m.apply(s.Call, s.Inner)
		}
	})
}
