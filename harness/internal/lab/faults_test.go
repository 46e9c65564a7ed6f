package lab

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// BenchmarkFaults runs each fault scenario with Redisson and with dq, and fails where dq is behind.
//
//	make faults
func BenchmarkFaults(b *testing.B) { report(faults).write(b, "faults") }

func faults(b *testing.B, out string) (string, error) {
	b.Helper()
	var rows []faultRow
	for _, scenario := range []string{"faults-network", "faults-server", "faults-process", "faults-members"} {
		runs, err := runLoad(b.Context(), b, filepath.Join(out, scenario), "--driver", "redisson:4.7.0", "--driver", "dq", "-f", scenario)
		require.NoError(b, err)
		rows = append(rows, pair(b, runs)...)
	}
	return faultSection(rows)
}

// faultRow is one fault, with the runs of two implementations.
type faultRow struct{ old, new *run.Document }

// pair joins the two runs of each fault, in the order of the runs.
func pair(b *testing.B, runs []*run.Document) (rows []faultRow) {
	b.Helper()
	at := map[string]int{}
	for _, r := range runs {
		require.NotNil(b, r.Faults, "expected a run with a fault, got one of %s", r.Scenario.Name)
		if i, seen := at[r.Scenario.Name]; seen {
			rows[i].new = r
			continue
		}
		at[r.Scenario.Name] = len(rows)
		rows = append(rows, faultRow{old: r})
	}
	for _, r := range rows {
		require.NotNil(b, r.new, "expected two runs of %s, got one", r.name())
	}
	return rows
}

func (r faultRow) name() string {
	_, variant, _ := strings.Cut(r.old.Scenario.Name, "/")
	return cmp.Or(variant, r.old.Scenario.Name)
}

// behind returns the cells in which the second implementation is behind the first. The commands under way at a fault are chance,
// one for each producer.
func (r faultRow) behind() (cells []string) {
	o, n := r.old.Faults, r.new.Faults
	byChance := int64(r.new.Scenario.Producers)
	more := func(cell string, second, first, slack int64) {
		if second > first+slack {
			cells = append(cells, fmt.Sprintf("%s: %d against %d", cell, second, first))
		}
	}
	more("duplicate", n.Duplicate, o.Duplicate, 0)
	more("uncertain", n.Uncertain, o.Uncertain, byChance)
	if n.Acknowledged < o.Acknowledged-byChance {
		cells = append(cells, fmt.Sprintf("acknowledged: %d against %d", n.Acknowledged, o.Acknowledged))
	}
	if n.LostBeyond > 0 {
		cells = append(cells, fmt.Sprintf("lost: %d more than may be", n.LostBeyond))
	}
	if n.EarlyBeyond > 0 {
		cells = append(cells, fmt.Sprintf("early: %d more than may be", n.EarlyBeyond))
	}
	was, again := resumption(o)
	is, resumes := resumption(n)
	if again && (!resumes || is > was+run.OnTime) {
		cells = append(cells, fmt.Sprintf("resumed: %s against %s", resumedText(n), resumedText(o)))
	}
	for _, d := range []*run.Document{r.old, r.new} {
		if !d.Valid() {
			cells = append(cells, fmt.Sprintf("no verdict, the run of %s is invalid: %s", d.Driver, strings.Join(d.Validity.Reasons, "; ")))
		}
	}
	return cells
}

// resumption is the longest time from an event's end to the next delivery on time; ok is false if an event had no such delivery.
func resumption(f *run.Faults) (longest time.Duration, ok bool) {
	for _, e := range f.Events {
		if e.ResumedNs == nil {
			return 0, false
		}
		longest = max(longest, time.Duration(*e.ResumedNs))
	}
	return longest, true
}

func resumedText(f *run.Faults) string {
	if longest, ok := resumption(f); ok {
		return compact(longest)
	}
	return "never"
}

// faultSection has a row for each fault with a cost, and names the others. Its error says where dq is behind.
func faultSection(rows []faultRow) (string, error) {
	counts := func(f *run.Faults) []int64 { return []int64{f.Refused, f.Uncertain, f.Lost, f.Duplicate, f.Early} }
	var table [][]string
	var quiet, behind []string
	var slowest [2]time.Duration
	for _, r := range rows {
		for _, cell := range r.behind() {
			behind = append(behind, r.name()+": "+cell)
		}
		old, new := counts(r.old.Faults), counts(r.new.Faults)
		was, again := resumption(r.old.Faults)
		is, also := resumption(r.new.Faults)
		if again && also && slices.Max(old) == 0 && slices.Max(new) == 0 {
			quiet = append(quiet, r.name())
			slowest = [2]time.Duration{max(slowest[0], was), max(slowest[1], is)}
			continue
		}
		cells := []string{r.name()}
		for i := range old {
			cell := "0"
			if old[i] != 0 || new[i] != 0 {
				cell = fmt.Sprintf("%d/%d", old[i], new[i])
			}
			cells = append(cells, cell)
		}
		table = append(table, append(cells, resumedText(r.old.Faults)+"/"+resumedText(r.new.Faults)))
	}
	text := asTable(strings.Fields("fault refused uncertain lost duplicate early resumed"), table)
	if len(quiet) > 0 {
		text += fmt.Sprintf("\nNone of these, and resumed within %s/%s: %s.\n", compact(slowest[0]), compact(slowest[1]), strings.Join(quiet, ", "))
	}
	if len(behind) == 0 {
		return text + "\ndq is behind: nowhere.\n", nil
	}
	return text + "\ndq is behind: " + strings.Join(behind, "; ") + ".\n", errors.New(strings.Join(behind, "\n"))
}

func document(name, scenario string, second int64, f run.Faults) *run.Document {
	return &run.Document{
		Driver: driver.Identity{Name: name}, Scenario: plan.Scenario{Name: scenario, Producers: 5}, Started: time.Unix(second, 0), Faults: &f,
	}
}

func resumed(after time.Duration) []run.FaultEvent {
	return []run.FaultEvent{{Text: "cut at 2s", MayLose: "nothing", ResumedNs: new(int64(after))}}
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
		"early beyond":     {func(f *run.Faults) { f.EarlyBeyond = 1 }, "early: 1 more than may be"},
		"on time at once":  {func(f *run.Faults) { f.Events = resumed(1100 * time.Millisecond) }, ""},
		"later":            {func(f *run.Faults) { f.Events = resumed(1101 * time.Millisecond) }, "resumed: 1.10s against 1.00s"},
		"never":            {func(f *run.Faults) { f.Events = []run.FaultEvent{{}} }, "resumed: never against 1.00s"},
	} {
		f := old
		tc.change(&f)
		text, err := faultSection([]faultRow{{document("redisson", "n/a", 1, old), document("dq", "n/a", 2, f)}})
		if tc.want == "" {
			require.NoError(t, err, name)
			require.Contains(t, text, "dq is behind: nowhere.")
			continue
		}
		require.EqualError(t, err, "a: "+tc.want, name)
		require.Contains(t, text, "dq is behind: a: "+tc.want)
	}
}
