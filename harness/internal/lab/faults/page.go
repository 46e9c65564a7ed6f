package main

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// row is one fault, with the two implementations that met it.
type row struct{ old, new *run.Document }

// pair puts the two runs of each scenario beside each other, in the order they were made.
func pair(runs []*run.Document) []row {
	slices.SortFunc(runs, func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	var rows []row
	at := map[string]int{}
	for _, r := range runs {
		i, seen := at[r.Scenario.Name]
		if !seen {
			at[r.Scenario.Name] = len(rows)
			rows = append(rows, row{old: r})
			continue
		}
		rows[i].new = r
	}
	return rows
}

// byChance is how far two runs may differ by which of the commands were under way when
// something broke: one for each producer.
func (r row) byChance() int64 { return int64(r.new.Scenario.Producers) }

// inTime is how far they may differ by how soon each looked at a clock that had become wrong, and
// at one that was right again: the offers of half a second.
func (r row) inTime() int64 {
	return int64(r.new.Scenario.Rate/2) + r.byChance()
}

// sooner is how much later deliveries may go on: what may be late and still on time.
const sooner = run.OnTime

// behind says in which cells the second implementation is behind the first.
func (r row) behind() (cells []string) {
	if r.new == nil {
		return nil
	}
	o, n := r.old.Faults, r.new.Faults
	if n.LostBeyond > 0 {
		cells = append(cells, fmt.Sprintf("lost: %d more than may be", n.LostBeyond))
	}
	if n.Duplicate > o.Duplicate {
		cells = append(cells, fmt.Sprintf("duplicate: %d against %d", n.Duplicate, o.Duplicate))
	}
	if n.EarlyBeyond > 0 {
		cells = append(cells, fmt.Sprintf("early: %d more than may be", n.EarlyBeyond))
	}
	if n.Early > o.Early+r.inTime() {
		cells = append(cells, fmt.Sprintf("early: %d against %d", n.Early, o.Early))
	}
	if n.Postponed > o.Postponed+r.inTime() {
		cells = append(cells, fmt.Sprintf("postponed: %d against %d", n.Postponed, o.Postponed))
	}
	if n.Uncertain > o.Uncertain+r.byChance() {
		cells = append(cells, fmt.Sprintf("uncertain: %d against %d", n.Uncertain, o.Uncertain))
	}
	if n.Acknowledged < o.Acknowledged-r.byChance() {
		cells = append(cells, fmt.Sprintf("acknowledged: %d against %d", n.Acknowledged, o.Acknowledged))
	}
	// Where all that was pending has come early, when the next is due is chance.
	was, resumed := o.Resumed()
	is, resumes := n.Resumed()
	if resumed && o.Early == 0 && (!resumes || is > was+sooner) {
		cells = append(cells, fmt.Sprintf("resumed after: %s against %s", resumedText(n), resumedText(o)))
	}
	for _, reason := range []*run.Document{r.old, r.new} {
		if !reason.Valid() {
			cells = append(cells, fmt.Sprintf("no verdict, the run of %s is invalid: %s", reason.Driver, strings.Join(reason.Validity.Reasons, "; ")))
		}
	}
	return cells
}

func allBehind(rows []row) (all []string) {
	for _, r := range rows {
		for _, cell := range r.behind() {
			all = append(all, name(r.old)+": "+cell)
		}
	}
	return all
}

// name is the variant's.
func name(r *run.Document) string {
	_, variant, _ := strings.Cut(r.Scenario.Name, "/")
	return cmp.Or(variant, r.Scenario.Name)
}

func resumedText(f *run.Faults) string {
	longest, ok := f.Resumed()
	if !ok {
		return "never"
	}
	return run.FormatNs(int64(longest))
}

// page is the table.
func page(rows []row, at time.Time) string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Faults\n\nWhat became of the messages of a small service when something broke, measured on %s with %s on %s/%s, %d CPUs, by `make faults`: one run of\n"+
		"each, through the same proxy and on a server of the same kind. [scenarios/fault](../scenarios/fault/README.md) says what each fault is and what is counted. *May lose* is what no client could\n"+
		"keep, for a take hands a message over at most once; what is lost beyond that is marked. *Resumed after* is from the end of the fault to the next delivery that is at most %s late.\n"+
		"Which commands were under way when something broke is chance: one offer of each producer, one message of each consumer.\n"+
		"*Early* came before they were due, *postponed* are held at the end for an hour, both by a clock that was wrong.\n\n",
		at.UTC().Format("2006-01-02 15:04 UTC"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), run.OnTime)
	out.WriteString("| fault | may lose | implementation | offered | acknowledged | refused | uncertain (came) | lost | duplicate | early | postponed | resumed after |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		for _, d := range []*run.Document{r.old, r.new} {
			if d != nil {
				writeRow(&out, d, d == r.old)
			}
		}
	}
	fmt.Fprintf(&out, "\n## Where the second is behind the first\n\n"+
		"It is behind where it loses more than may be lost or has more duplicates, where more are uncertain or fewer acknowledged by more than one offer of each producer, where more come early or are\n"+
		"postponed by more than that and the offers of half a second, and where deliveries go on more than %s later. Less than that is chance in one run of each.\n\n", sooner)
	behind := allBehind(rows)
	if len(behind) == 0 {
		out.WriteString("Nowhere.\n")
	}
	for _, b := range behind {
		fmt.Fprintf(&out, "- %s\n", b)
	}
	return out.String()
}

func writeRow(out *bytes.Buffer, d *run.Document, first bool) {
	f := d.Faults
	var texts, losses []string
	for _, e := range f.Events {
		texts, losses = append(texts, e.Text), append(losses, e.MayLose)
	}
	fault, loss := "", ""
	if first {
		fault = fmt.Sprintf("**%s** %s", name(d), strings.Join(texts, "; "))
		loss = strings.Join(slices.Compact(losses), "; ")
	}
	lost := fmt.Sprint(f.Lost)
	if f.LostBeyond > 0 {
		lost = fmt.Sprintf("**%d**, %d beyond", f.Lost, f.LostBeyond)
	}
	uncertain := fmt.Sprint(f.Uncertain)
	if f.Uncertain > 0 {
		uncertain = fmt.Sprintf("%d (%d)", f.Uncertain, f.UncertainCame)
	}
	fmt.Fprintf(out, "| %s | %s | %s | %d | %d | %d | %s | %s | %d | %d | %d | %s |\n",
		fault, loss, d.Driver, f.Offered, f.Acknowledged, f.Refused, uncertain, lost, f.Duplicate, f.Early, f.Postponed, resumedText(f))
}
