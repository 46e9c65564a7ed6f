package load

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/baseline"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func TestTheLatestAreKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kept := newLatest(0)
	var late, got []int64 // past due, in ns
	for range 10 * leastLatest {
		a := newArrival(rng.Int64N(1e15), 0)
		a.came = a.due + rng.Int64N(2*int64(run.LateBound))
		if kept.add(a); a.pastDue() > int64(run.LateBound) {
			late = append(late, a.pastDue())
		}
	}
	for _, a := range kept.all {
		got = append(got, a.pastDue())
	}
	slices.Sort(late)
	slices.Sort(got)
	require.True(t, slices.Equal(late[len(late)-leastLatest:], got))
}

func TestHowManyOfTheLatestAreKept(t *testing.T) {
	require.Equal(t, 1000, newLatest(5000).kept)
	require.Equal(t, 2500, newLatest(250_000).kept)
	require.Equal(t, 10_000, newLatest(1e9).kept)
}

// The due instant of an arrival is the score in Redis, as past due has it.
func TestAnArrivalIsDueAtItsMillisecond(t *testing.T) {
	require.EqualValues(t, 1_500_000, newArrival(7_999_999, 8_500_000).pastDue())
}

// A program tells of none, or does not tell.
func TestTheLatestAsTheProtocolHasThem(t *testing.T) {
	told := []arrival{{1785000000000000000, 1785000000002000000}}
	for text, want := range map[string][]arrival{
		`{"latest":[["1785000000000000000",1785000000002000000]]}`: told,
		`{"latest":[]}`: {},
		`{}`:            nil,
	} {
		var a answer
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		require.Equal(t, want, decode(a.Latest))
	}
	require.Equal(t, told, decode(encode(told)))
	require.NotNil(t, encode(nil))
}

// What comes late because the machine stood still is told from what the implementation
// holds up.
func TestWhoHeldTheLatestUp(t *testing.T) {
	for name, tc := range map[string]struct {
		// tool and implementation are the stalls of their clocks.
		tool, implementation map[time.Duration]time.Duration
		want                 run.LateMessages
	}{
		"nobody":             {nil, nil, run.LateMessages{}},
		"the machine":        {stall100, stall100, run.LateMessages{Messages: 10, InHiccups: 10}},
		"the implementation": {nil, stall100, run.LateMessages{Messages: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := baseline.Memory{Clock: stallsOf(tc.implementation)}
				result, err := Run(t.Context(), Options{Plan: testPlan(), Driver: d, RunID: 7, Clock: stallsOf(tc.tool)})
				require.NoError(t, err)
				require.Equal(t, &tc.want, result.Report.Machine.Late)
			})
		})
	}
}

// stall100 falls into the deliveries, of which 10 are the latest hundredth.
var stall100 = map[time.Duration]time.Duration{2 * time.Second: 100 * time.Millisecond}

func TestHeldUpMeansForHalfOfTheTime(t *testing.T) {
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	m := &meter{hiccups: []hiccup{{ms(10), ms(20)}, {ms(30), ms(32)}, {ms(40), ms(45)}}}
	for _, tc := range []struct {
		due, came int64
		held      bool
	}{
		{ms(9), ms(21), true},   // 10 of 12
		{ms(15), ms(25), true},  // 5 of 10
		{ms(15), ms(26), false}, // 5 of 11
		{ms(12), ms(14), true},  // all of it
		{ms(0), ms(10), false},  // before
		{ms(46), ms(99), false}, // after
		{ms(21), ms(45), false}, // 7 of 24
		{ms(31), ms(43), false}, // 4 of 12
		{ms(31), ms(39), false}, // 1 of 8
		{ms(39), ms(45), true},  // 5 of 6
	} {
		held := m.heldUp([]arrival{{tc.due, tc.came}})
		require.Equal(t, tc.held, held.InHiccups == 1, "%d to %d", tc.due, tc.came)
	}
}

func BenchmarkLatest(b *testing.B) {
	l := newLatest(1000)
	for i := range l.kept {
		l.add(arrival{0, int64(i)*1000 + 5e6})
	}
	now := time.Now().UnixNano()
	for b.Loop() {
		l.add(arrival{now, now + 200_000})
	}
}
