package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// faults runs each scenario in which something breaks with Redisson and with dq: what became of the
// messages, and how soon deliveries went on, is a section of docs/results.md.
//
//	make faults
//
// It takes about 15 minutes, and fails where dq is behind.
func faults() {
	only := flag.String("only", "faults-network faults-server faults-process faults-members faults-clocks", "the scenarios, in order")
	drivers := flag.String("drivers", "redisson:4.7.0 dq", "two implementations: the second may not be behind the first")
	out := flag.String("out", filepath.Join("out", "faults"), "the folder of the run files")
	runReport("faults", 40*time.Minute, func(ctx context.Context) (string, error) {
		var args []string
		for _, d := range strings.Fields(*drivers) {
			args = append(args, "--driver", d)
		}
		var rows []faultRow
		for _, scenario := range strings.Fields(*only) {
			runs, err := runLoad(ctx, filepath.Join(*out, scenario), append(args, "-f", scenario)...)
			if err != nil {
				return "", err
			}
			some, err := pair(runs)
			if err != nil {
				return "", fmt.Errorf("%s: %w", scenario, err)
			}
			rows = append(rows, some...)
		}
		return faultSection(rows)
	})
}

// faultRow is one fault, with the two implementations that met it.
type faultRow struct{ old, new *run.Document }

// pair puts the two runs of each scenario beside each other, in the order they were made.
func pair(runs []*run.Document) (rows []faultRow, err error) {
	at := map[string]int{}
	for _, r := range runs {
		i, seen := at[r.Scenario.Name]
		switch {
		case r.Faults == nil:
			return nil, fmt.Errorf("expected a run in which something broke, got one of %s", r.Scenario.Name)
		case !seen:
			at[r.Scenario.Name] = len(rows)
			rows = append(rows, faultRow{old: r})
		default:
			rows[i].new = r
		}
	}
	for _, r := range rows {
		if r.new == nil {
			return nil, fmt.Errorf("expected two runs of %s, got one", name(r.old))
		}
	}
	return rows, nil
}

// behind says in which cells the second implementation is behind the first. Which commands are under
// way when something breaks is chance: one for each producer. How soon each implementation looks at a
// clock that became wrong is chance too: the offers of half a second.
func (r faultRow) behind() (cells []string) {
	o, n := r.old.Faults, r.new.Faults
	byChance := int64(r.new.Scenario.Producers)
	inTime := int64(r.new.Scenario.Rate/2) + byChance
	for _, c := range []struct {
		bad           bool
		what          string
		second, first int64
	}{
		{n.Duplicate > o.Duplicate, "duplicate", n.Duplicate, o.Duplicate},
		{n.Early > o.Early+inTime, "early", n.Early, o.Early},
		{n.Postponed > o.Postponed+inTime, "postponed", n.Postponed, o.Postponed},
		{n.Uncertain > o.Uncertain+byChance, "uncertain", n.Uncertain, o.Uncertain},
		{n.Acknowledged < o.Acknowledged-byChance, "acknowledged", n.Acknowledged, o.Acknowledged},
	} {
		if c.bad {
			cells = append(cells, fmt.Sprintf("%s: %d against %d", c.what, c.second, c.first))
		}
	}
	if n.LostBeyond > 0 {
		cells = append(cells, fmt.Sprintf("lost: %d more than may be", n.LostBeyond))
	}
	if n.EarlyBeyond > 0 {
		cells = append(cells, fmt.Sprintf("early: %d more than may be", n.EarlyBeyond))
	}
	// Where all that was pending has come early, when the next is due is chance.
	was, resumed := o.Resumed()
	is, resumes := n.Resumed()
	if resumed && o.Early == 0 && (!resumes || is > was+run.OnTime) {
		cells = append(cells, fmt.Sprintf("resumed: %s against %s", resumedText(n), resumedText(o)))
	}
	for _, d := range []*run.Document{r.old, r.new} {
		if !d.Valid() {
			cells = append(cells, fmt.Sprintf("no verdict, the run of %s is invalid: %s", d.Driver, strings.Join(d.Validity.Reasons, "; ")))
		}
	}
	return cells
}

// name is the name of the variant.
func name(r *run.Document) string {
	_, variant, _ := strings.Cut(r.Scenario.Name, "/")
	return cmp.Or(variant, r.Scenario.Name)
}

func resumedText(f *run.Faults) string {
	longest, ok := f.Resumed()
	if !ok {
		return "never"
	}
	return shortly(longest)
}

func shortly(d time.Duration) string { return strings.ReplaceAll(run.FormatNs(int64(d)), " ", "") }

// faultSection has a row for each fault that cost something, and names the others. Its error says where
// the second implementation is behind the first.
func faultSection(rows []faultRow) (string, error) {
	counts := func(f *run.Faults) []int64 {
		return []int64{f.Refused, f.Uncertain, f.Lost, f.Duplicate, f.Early, f.Postponed}
	}
	var table [][]string
	var quiet, behind []string
	var slowest [2]time.Duration
	for _, r := range rows {
		for _, cell := range r.behind() {
			behind = append(behind, name(r.old)+": "+cell)
		}
		old, new := counts(r.old.Faults), counts(r.new.Faults)
		_, again := r.old.Faults.Resumed()
		_, also := r.new.Faults.Resumed()
		if again && also && slices.Max(old) == 0 && slices.Max(new) == 0 {
			quiet = append(quiet, name(r.old))
			for i, f := range []*run.Faults{r.old.Faults, r.new.Faults} {
				after, _ := f.Resumed()
				slowest[i] = max(slowest[i], after)
			}
			continue
		}
		cells := []string{name(r.old)}
		for i := range old {
			cell := "0"
			if old[i] != 0 || new[i] != 0 {
				cell = fmt.Sprintf("%d/%d", old[i], new[i])
			}
			cells = append(cells, cell)
		}
		table = append(table, append(cells, resumedText(r.old.Faults)+"/"+resumedText(r.new.Faults)))
	}
	text := asTable(strings.Fields("fault refused uncertain lost duplicate early postponed resumed"), table)
	if len(quiet) > 0 {
		text += fmt.Sprintf("\nNothing of that, and resumed within %s/%s: %s.\n", shortly(slowest[0]), shortly(slowest[1]), strings.Join(quiet, ", "))
	}
	if len(behind) == 0 {
		return text + "\ndq is behind: nowhere.\n", nil
	}
	return text + "\ndq is behind: " + strings.Join(behind, "; ") + ".\n", errors.New(strings.Join(behind, "\n"))
}
