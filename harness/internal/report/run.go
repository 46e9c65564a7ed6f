package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// OfRun is the page of one run.
func OfRun(r *run.Document) Page {
	return OfSets(Result{Sets: []compare.Set{{Name: r.Driver.String(), Runs: []*run.Document{r}}}})
}

// Result is runs of several sets side by side.
type Result struct {
	Sets        []compare.Set
	Comparisons []*compare.Comparison // of sets with the first one: the i-th judges set i+1; empty if the sets were not compared
	Verdicts    bool                  // the verdicts of the runs count beside the comparisons
	Interrupted string                // how many of the planned runs were made; empty if all were
}

// mostSides is how many sets have a colour of their own.
const mostSides = 8

// OfSets is the page of runs side by side.
func OfSets(r Result) Page {
	sets := called(r)
	p := Page{Tiles: tiles(sets), Charts: runCharts(drawn(sets)), Data: runsAsData(sets)}
	o := r.outcome()
	p.State, p.Tag, p.Verdict = o.state, o.tag, o.text
	p.Title = strings.Join(setNames(r.Sets), " against ") + " · " + p.Tag
	p.Lead = lead(sets, r.Sets)
	for _, s := range sets {
		if slices.ContainsFunc(s.Runs, func(r *run.Document) bool { return r.Server != nil && r.Server.Embedded }) {
			p.Banners = append(p.Banners, Banner{true, "EMBEDDED server.", s.Name + " ran on an imitation of Redis inside dq-bench. The figures say nothing about a real server."})
		}
	}
	if r.Interrupted != "" {
		p.Banners = append(p.Banners, Banner{false, "Interrupted.", r.Interrupted + "."})
	}
	for i, c := range r.Comparisons {
		name := ""
		if len(r.Comparisons) > 1 {
			name = sets[i+1].Name
		}
		p.compared(c, name)
	}
	p.Tables = append(p.Tables, counts(sets), quantiles(sets), costs(sets), objectives(sets))
	if len(sets) == 1 && len(sets[0].Runs) == 1 {
		steps := sets[0].Runs[0].RateSteps()
		if steps != nil {
			p.Charts = append([]Chart{rateChart(steps)}, p.Charts...)
		}
		p.Tables = append(p.Tables, rates(steps), faultTables(sets[0].Runs[0].Faults))
	}
	p.Tables = append(p.Tables, machines(sets), configuration(sets), runs(sets))
	p.Tables = slices.DeleteFunc(p.Tables, func(t Table) bool { return len(t.Rows) == 0 })
	for _, r := range compare.All(sets) {
		for _, note := range r.Notes {
			if !slices.Contains(p.Notes, note) {
				p.Notes = append(p.Notes, note)
			}
		}
	}
	return p
}

// called names two compared sets BASE and NEW, and leaves out the runs that were not compared.
func called(r Result) []compare.Set {
	sets := slices.Clone(r.Sets)
	for i, c := range r.Comparisons {
		if judged := c.Judged(); len(judged) == 2 {
			sets[0].Runs, sets[i+1].Runs = judged[0].Runs, judged[1].Runs
		}
	}
	if len(r.Comparisons) == 1 && len(sets) == 2 {
		for i, name := range []string{"BASE", "NEW"} {
			if sets[i].Name = name; r.Comparisons[0].Sets[i].Runs == 0 {
				sets[i].Name += ", left out"
			}
		}
	}
	return sets
}

// drawn are the sets whose runs are drawn: of more than have colours the first and the last.
func drawn(sets []compare.Set) []compare.Set {
	if len(sets) > mostSides {
		return []compare.Set{sets[0], sets[len(sets)-1]}
	}
	return sets
}

func setNames(sets []compare.Set) (names []string) {
	for _, s := range sets {
		names = append(names, s.Name)
	}
	if n := len(names); n > 4 {
		return []string{names[0], fmt.Sprintf("%d others", n-2), names[n-1]}
	}
	return names
}

// lead says what ran where, and what was asked for. given have the names from before called.
func lead(sets, given []compare.Set) (lines []string) {
	var shared []string
	for i, s := range sets {
		r := s.Runs[0]
		line := strings.Join(slices.Compact([]string{s.Name, given[i].Name}), " ")
		if s.Name != "" && !strings.Contains(line, r.Driver.String()) {
			line += " (" + r.Driver.String() + ")"
		}
		line += " on " + serverOf(r)
		if len(s.Runs) > 1 {
			line += ", " + text.Plural(int64(len(s.Runs)), "run")
		}
		if len(sets) <= mostSides || i == 0 || i == len(sets)-1 {
			lines = append(lines, line)
		}
		q := r.Scenario
		own := []string{
			fmt.Sprintf("%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B", q.Producers, q.Consumers, plan.FormatFloat(q.Rate), q.Duration, q.Delay, q.PayloadSize),
			more(r), strings.TrimPrefix("made by "+text.Plural(int64(r.Agents), "agent"), "made by 0 agents"), warmup(r.Warmup), labelsOf(r),
		}
		if len(sets) == 1 && len(s.Runs) == 1 {
			own[0] += fmt.Sprintf(", queue %q", q.Queue)
		}
		if i == 0 {
			shared = own
		}
		shared = slices.DeleteFunc(shared, func(line string) bool { return line == "" || !slices.Contains(own, line) })
	}
	return append(lines, shared...)
}

// warmup says how a warm-up without a fixed length went.
func warmup(w *run.Warmup) string {
	if w == nil || w.Fixed {
		return ""
	}
	return fmt.Sprintf("%s after %.0f s", map[bool]string{true: "warm", false: "not warm"}[w.Warm], w.Seconds)
}

// rare are the settings that not every run has.
var rare = []string{"ramp", "queues", "poll", "work", "cancel", "horizon", "fleet"}

// more lists them.
func more(r *run.Document) string {
	var parts []string
	if name := r.Scenario.Name; name != "" {
		parts = append(parts, "scenario "+name)
	}
	for _, f := range plan.Fields {
		text := setting(f, r)
		if steps := strings.Split(text, ", "); f.Key == "ramp" && r.Scenario.Climb {
			first, _, _ := strings.Cut(steps[0], " for ")
			highest, _, _ := strings.Cut(steps[len(steps)-1], " for ")
			text = fmt.Sprintf("%s..%s in %d steps", first, highest, len(steps))
		}
		if slices.Contains(rare, f.Key) && text != "" {
			parts = append(parts, strings.NewReplacer("_", " ", "ramp", "rate").Replace(f.Key)+" "+text)
		}
	}
	return strings.Join(parts, "; ")
}

func serverOf(r *run.Document) string {
	if r.Server == nil {
		return "no server"
	}
	return strings.TrimSpace(r.Server.Product+" "+r.Server.Version) + " (" + r.Server.How + ")"
}

func labelsOf(r *run.Document) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		all = append(all, key+"="+r.Labels[key])
	}
	return strings.Join(all, " ")
}

// total adds up the counts of a set, and its faults. In a live run, pending messages are no fault.
func total(s compare.Set) (sum run.Counts, wrong int64) {
	for _, r := range s.Runs {
		sum = sum.Plus(r.Counts)
		if r.Verdict.Text == "" {
			wrong += r.Counts.Faults() + r.Counts.OfferErrors
		} else {
			wrong += r.Wrong()
		}
	}
	return sum, wrong
}

// tiles are the key figures.
func tiles(sets []compare.Set) []Tile {
	sets = drawn(sets)
	late := lateOf(sets)
	all := []Tile{
		{late.Name + " p50", "half are later", nil}, {late.Name + " p99", "1 in 100 is later", nil}, {late.Name + " max", "the latest message", nil},
		{"delivered", "messages", nil}, {"wrong", "lost, twice, early, overdue, refused", nil},
		{"by the machine", "of the latest 1 % were late while the machine stood still", nil},
	}
	for i, s := range sets {
		h := merged(s, late)
		sum, wrong := total(s)
		cells := []Cell{quantile(h, .5), quantile(h, .99), quantile(h, 1), count(sum.Delivered, false), count(wrong, true), {Text: byMachine(s)}}
		for k, q := range []float64{.5, .99} {
			ns := s.Median(func(r *run.Document) float64 {
				if h := late.Of(r.Histograms); h.Count() > 0 {
					return float64(h.Quantile(q))
				}
				return math.NaN()
			})
			if len(sets) > 1 && len(s.Runs) > 1 && !math.IsNaN(ns) { // as the table of a comparison
				cells[k] = Cell{Text: minus(run.FormatNs(int64(ns)))}
			}
		}
		if len(sets) == 1 {
			i = -1
		}
		for k, c := range cells {
			all[k].Values = append(all[k].Values, TileValue{i, s.Name, c.Text, c.Class})
		}
	}
	return all
}

// byMachine says how many of the latest messages were late because the machine stood still.
func byMachine(s compare.Set) string {
	held, of, text := int64(0), int64(0), "–"
	for _, r := range s.Runs {
		if r.Machine != nil && r.Machine.Late != nil {
			held, of, text = held+r.Machine.Late.InHiccups, of+r.Machine.Late.Messages, "none late"
		}
	}
	if of > 0 {
		text = fmt.Sprintf("%d of %d", held, of)
	}
	return text
}
