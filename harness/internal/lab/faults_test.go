package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func document(name, scenario string, second int64, f run.Faults) *run.Document {
	return &run.Document{
		Driver: driver.Identity{Name: name}, Scenario: run.Scenario{Name: scenario, Producers: 5}, Started: time.Unix(second, 0), Faults: &f,
	}
}

func resumed(after time.Duration) []run.FaultEvent {
	ns := int64(after)
	return []run.FaultEvent{{Text: "cut at 2s", MayLose: "nothing", ResumedNs: &ns}}
}

func TestPairsAreInTheOrderOfTheRuns(t *testing.T) {
	rows, err := pair([]*run.Document{
		document("redisson", "n/b", 1, run.Faults{}), document("dq", "n/b", 2, run.Faults{}),
		document("redisson", "n/a", 3, run.Faults{}), document("dq", "n/a", 4, run.Faults{}),
	})
	require.NoError(t, err)
	var names []string
	for _, r := range rows {
		names = append(names, r.name(), r.old.Driver.Name, r.new.Driver.Name)
	}
	require.Equal(t, []string{"b", "redisson", "dq", "a", "redisson", "dq"}, names)
	_, err = pair([]*run.Document{document("dq", "n/b", 2, run.Faults{})})
	require.ErrorContains(t, err, "two runs of b")
}

func TestBehind(t *testing.T) {
	old := run.Faults{Offered: 100, Acknowledged: 90, Uncertain: 5, Lost: 1, Events: resumed(time.Second)}
	for name, tc := range map[string]struct {
		change func(*run.Faults)
		want   string
	}{
		"the same":         {func(*run.Faults) {}, ""},
		"better":           {func(f *run.Faults) { f.Uncertain, f.Acknowledged, f.Events = 0, 100, resumed(0) }, ""},
		"lost what may be": {func(f *run.Faults) { f.Lost = 3 }, ""},
		"lost beyond":      {func(f *run.Faults) { f.LostBeyond = 1 }, "lost: 1 more than may be"},
		"twice":            {func(f *run.Faults) { f.Duplicate = 1 }, "duplicate: 1 against 0"},
		"by chance":        {func(f *run.Faults) { f.Uncertain, f.Acknowledged = 10, 85 }, ""},
		"uncertain":        {func(f *run.Faults) { f.Uncertain = 11 }, "uncertain: 11 against 5"},
		"refused":          {func(f *run.Faults) { f.Acknowledged = 84 }, "acknowledged: 84 against 90"},
		"early":            {func(f *run.Faults) { f.Early = 6 }, "early: 6 against 0"},
		"early beyond":     {func(f *run.Faults) { f.EarlyBeyond = 1 }, "early: 1 more than may be"},
		"postponed":        {func(f *run.Faults) { f.Postponed = 6 }, "postponed: 6 against 0"},
		"on time at once":  {func(f *run.Faults) { f.Events = resumed(1100 * time.Millisecond) }, ""},
		"later":            {func(f *run.Faults) { f.Events = resumed(1101 * time.Millisecond) }, "resumed: 1.10s against 1.00s"},
		"never":            {func(f *run.Faults) { f.Events = []run.FaultEvent{{}} }, "resumed: never against 1.00s"},
	} {
		f := old
		tc.change(&f)
		rows := []faultRow{{document("redisson", "n/a", 1, old), document("dq", "n/a", 2, f)}}
		text, err := faultSection(rows)
		if tc.want == "" {
			require.NoError(t, err, name)
			require.Contains(t, text, "dq is behind: nowhere.")
			continue
		}
		require.EqualError(t, err, "a: "+tc.want, name)
		require.Contains(t, text, "dq is behind: a: "+tc.want)
	}
}

func TestSectionShowsWhatWasSeen(t *testing.T) {
	f := run.Faults{Offered: 600, Acknowledged: 590, Refused: 2, Uncertain: 8, Lost: 4, Events: resumed(1500 * time.Microsecond)}
	quiet := run.Faults{Offered: 600, Acknowledged: 600, Events: resumed(time.Second)}
	text, err := faultSection([]faultRow{
		{document("redisson", "n/a", 1, f), document("dq", "n/a", 2, f)},
		{document("redisson", "n/b", 1, quiet), document("dq", "n/b", 2, quiet)},
	})
	require.NoError(t, err)
	require.Contains(t, text, "|a|2/2|8/8|4/4|0|0|0|1.50ms/1.50ms|\n")
	require.Contains(t, text, "resumed within 1.00s/1.00s: b.")
}
