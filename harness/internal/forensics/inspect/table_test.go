package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
)

func watched() *inspect.Inspection {
	at := time.UnixMilli(1_700_000_000_000)
	due := 1_699_999_940_000.0
	return &inspect.Inspection{
		At: at, Server: inspect.Server{Product: "redis", Version: "7.0.15", Address: "10.0.0.5:6379"},
		Queues: []inspect.Queue{{
			Name: "orders", At: at, Counts: inspect.Counts{TimeoutSet: 1200, Ghosts: 2},
			Head: &inspect.Member{DueMS: &due}, Overdue: inspect.Overdue{Count: 7, SinceMS: &due},
			Layouts:     []inspect.Layout{{Layout: "Bc0Lc0", Count: 1200}},
			Subscribers: inspect.Subscribers{Count: 3}, Transfer: inspect.Transfer{BlockedMS: 0.25},
			Findings: []inspect.Finding{{Kind: inspect.Ghost, Anomaly: true, What: "some ghosts"}, {Kind: inspect.OtherSide, What: "no anomaly"}},
		}},
	}
}

func TestTable(t *testing.T) {
	require.Equal(t, `redis 7.0.15 at 10.0.0.5:6379, 2023-11-14 22:13:20 UTC

   queue  waiting      next     overdue  delivered  dLc0  Bc0Lc0  ghosts  orphans  listeners  anomalies  transfer
  orders    1,200  1m0s ago  7 for 1m0s          0     0   1,200       2        0          3          1    0.2 ms

orders: ghost: some ghosts
`, watched().Table(200, 50))
	require.Equal(t, "2023-11-14T22:13:20Z queue=orders waiting=1200 next=1m0sago overdue=7 delivered=0 dLc0=0 Bc0Lc0=1200 unreadable=0 "+
		"ghosts=2 orphans=0 subscribers=3 anomalies=ghost\n", watched().Lines())
}

// What does not fit a screen is cut, and never scrolls it.
func TestTableFitsTheScreen(t *testing.T) {
	for _, screen := range [][2]int{{80, 24}, {20, 4}, {1, 1}, {40, 5}} {
		table := watched().Table(screen[0], screen[1])
		lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
		if screen[1] > 2 {
			require.Less(t, len(lines), screen[1])
		}
		for _, line := range lines {
			require.LessOrEqual(t, len([]rune(line)), screen[0])
		}
	}
	require.Contains(t, watched().Table(80, 4), "… ")
}
