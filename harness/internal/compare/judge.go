package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// judge fills in rows and tracks, and decides.
func (c *Comparison) judge(ctx context.Context) {
	old, new := c.sets[0], c.sets[len(c.sets)-1]
	if len(c.sets) == 2 {
		old.Name, new.Name = "BASE", "NEW"
	}
	old.Runs, new.Runs = c.pairUp(old, new)
	if len(old.Runs) > 0 && len(new.Runs) > 0 {
		both := slices.Concat(old.Runs, new.Runs)
		for _, f := range figures(both) {
			if row, ok := c.row(f, old.Runs, new.Runs); ok {
				c.Rows = append(c.Rows, row)
			}
		}
		c.noteUnjudged(both)
		c.faults, c.within = moreFaults(old, new)
		c.noteFailed(old, new)
		if n := len(slices.DeleteFunc(slices.Clone(both), func(r *run.Document) bool { return !lacksResponse(r) })); n > 0 && n < len(both) {
			c.Notes = append(c.Notes, fmt.Sprintf("judged by offer RTT, for %d of %d runs have not the response time of every offer; leave them out to judge the others by it", n, len(both)))
		}
	}
	c.judgeRows()
	c.conclude(old, new)
	c.checkOrder(old, new)
	if len(c.sets) > 2 {
		c.follow(ctx)
	}
}

// pairUp puts partners at the same place, and takes the newest runs of large sets.
func (c *Comparison) pairUp(old, new Set) (a, b []*run.Document) {
	inOrder := func(runs []*run.Document) []*run.Document {
		return slices.SortedStableFunc(slices.Values(runs), func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	}
	newest := func(s Set, runs []*run.Document) []*run.Document {
		if len(runs) <= mostASide {
			return runs
		}
		c.Notes = append(c.Notes, fmt.Sprintf("the newest %d of %d runs of %s are compared", mostASide, len(runs), s.Name))
		return runs[len(runs)-mostASide:]
	}
	a = newest(old, inOrder(old.Runs))
	if c.of == nil {
		partners, paired := pair(inOrder(old.Runs), new.Runs)
		if c.Paired = paired && len(partners) > 0; c.Paired {
			return a, partners[len(partners)-len(a):]
		}
		if len(a) > 0 && a[0].Beside != nil {
			c.Notes = append(c.Notes, "runs were made at the same time as others, but not each has one partner in the other set, so they are not judged in pairs")
		}
	}
	return a, newest(new, inOrder(new.Runs))
}

// row estimates how a figure differs; false if a run lacks it.
func (c *Comparison) row(f figure, old, new []*run.Document) (Row, bool) {
	r := Row{Figure: f.name, Unit: "ns", Old: Median(f.values(old, nil)), New: Median(f.values(new, nil))}
	from, to := f.values(old, c.of), f.values(new, c.of)
	if from == nil || to == nil {
		return r, false
	}
	a, okA := logs(from)
	b, okB := logs(to)
	inLogs := okA && okB
	if !inLogs {
		a, b = from, to
	}
	var s Shift
	if c.Paired {
		differences := make([]float64, len(a))
		for i := range a {
			differences[i] = b[i] - a[i]
			if inLogs {
				differences[i] = math.Log(f.times(old[i], new[i]))
			}
		}
		if slices.ContainsFunc(differences, math.IsNaN) {
			return r, false
		}
		s = Paired(differences, 1-significance)
	} else {
		s = Independent(a, b, 1-significance)
	}
	r.P, r.Shift = s.P, estimate(s, func(v float64) float64 { return v })
	if inLogs {
		ratio := estimate(s, math.Exp)
		r.Ratio, r.Shift = &ratio, estimate(s, func(v float64) float64 { return r.Old * (math.Exp(v) - 1) })
	}
	if f.waited {
		r.Floor = float64(minDelta)
	}
	return r, true
}

func estimate(s Shift, scale func(float64) float64) Estimate {
	e := Estimate{Value: scale(s.Estimate)}
	if !math.IsInf(s.Low, 0) && !math.IsInf(s.High, 0) {
		low, high := scale(s.Low), scale(s.High)
		e.Low, e.High = &low, &high
	}
	return e
}

// noteFailed says how many runs of a set failed, whatever the figures of the runs are.
func (c *Comparison) noteFailed(sets ...Set) {
	for _, s := range sets {
		failed := slices.DeleteFunc(slices.Clone(s.Runs), func(r *run.Document) bool { return r.Verdict.Passed || r.Verdict.Text == "" })
		if len(failed) > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%d of %d runs of %s failed; the first one: %s", len(failed), len(s.Runs), s.Name, strings.TrimSuffix(failed[0].Verdict.Text, ".")))
		}
	}
}

// noteUnjudged names each headline figure without a row, the reason, and how long runs must be.
func (c *Comparison) noteUnjudged(runs []*run.Document) {
	late, response := histograms(runs)
	for _, f := range []figure{quantile(late, .99), quantile(response, .99), quantile(late, .5), quantile(response, .5)} {
		if slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Figure == f.name }) {
			continue
		}
		note, has := f.name+" not judged: a run has no ratio of it to the reference", math.Inf(1)
		for _, r := range runs {
			has = min(has, f.beyond(r))
		}
		if has < f.needs {
			note = fmt.Sprintf("%s not judged: %.0f of %.0f messages beyond it in the shortest run; make runs longer", f.name, math.Floor(has), f.needs)
			if d, err := time.ParseDuration(runs[0].Scenario.Duration); err == nil && has >= 1e-3 {
				longer := fmt.Sprintf("%.0fs", math.Floor(d.Seconds()*f.needs/has)+1)
				note, c.longer = note+": --duration "+longer, cmp.Or(c.longer, longer)
			}
		}
		c.Notes, c.unjudged = append(c.Notes, note), append(c.unjudged, f.name)
	}
}

// judgeRows decides each row.
func (c *Comparison) judgeRows() {
	var p []float64
	for _, r := range c.Rows {
		p = append(p, r.P)
	}
	for i, chance := range Holm(p) {
		r := &c.Rows[i]
		r.P, r.Floor = chance, max(minEffect*math.Abs(r.Old), r.Floor)
		switch {
		case r.Shift.Low != nil && -r.Floor <= *r.Shift.Low && *r.Shift.High <= r.Floor:
			r.Outcome = NoDifference
		case chance > significance || math.Abs(r.Shift.Value) <= r.Floor:
			r.Outcome = Inconclusive
		case r.Shift.Value < 0:
			r.Outcome = Better
		default:
			r.Outcome = Worse
		}
	}
}

// conclude decides the last set against the first.
func (c *Comparison) conclude(old, new Set) {
	found, need, what := map[Outcome][]Row{}, MinRuns, "runs a side"
	for _, r := range c.Rows {
		found[r.Outcome] = append(found[r.Outcome], r)
	}
	rest := map[bool]string{true: fmt.Sprintf(" Inconclusive: %d of %d figures.", len(found[Inconclusive]), len(c.Rows))}[len(found[Inconclusive]) > 0]
	if c.Paired {
		need, what = MinPairs, "pairs"
	}
	c.Outcome = Inconclusive
	switch {
	case c.faults != "":
		c.Outcome, c.Text = Worse, new.Name+" is worse: "+c.faults+"."
	case len(old.Runs) < need || len(new.Runs) < need:
		c.undecided()
		c.Text = fmt.Sprintf("Inconclusive: a judgement needs %d %s, here are %d and %d.", need, what, len(old.Runs), len(new.Runs))
		c.Next = c.command(need)
	case len(found[Worse]) > 0:
		c.Outcome, c.Text = Worse, new.Name+" is worse: "+changes(found[Worse])+"."+rest
	case len(found[Better]) > 0:
		c.Outcome, c.Text = Better, new.Name+" is better: "+changes(found[Better])+"."+rest
	case len(found[Inconclusive]) > 0:
		c.inconclusive(found[Inconclusive], min(len(old.Runs), len(new.Runs)))
	case c.unjudged != nil:
		c.Text, c.Next = "Inconclusive: no difference in the figures that were judged.", c.command(len(new.Runs))
	default:
		c.Outcome, c.Text = NoDifference, "No difference: every change lies within the bounds of what matters, with 95 % confidence."
	}
	if c.unjudged != nil && min(len(old.Runs), len(new.Runs)) >= need {
		c.Text += " Not judged: " + strings.Join(c.unjudged, ", ") + "."
	}
	if c.within != "" {
		c.Text += " Not more than the runs differ: " + c.within + "."
	}
}

// undecided takes back what was decided of each row.
func (c *Comparison) undecided() {
	for i := range c.Rows {
		c.Rows[i].Outcome = Inconclusive
	}
}

// inconclusive names the first figure, and how many runs would decide all.
func (c *Comparison) inconclusive(rows []Row, runs int) {
	ratio := func(r Row) float64 {
		if r.Shift.Low == nil {
			return math.Inf(1)
		}
		return (*r.Shift.High - *r.Shift.Low) / 2 / r.Floor
	}
	widest := slices.MaxFunc(rows, func(a, b Row) int { return cmp.Compare(ratio(a), ratio(b)) })
	c.Text = fmt.Sprintf("Inconclusive: %s; the smallest change that matters is ±%s.", change(rows[0]), rows[0].bound())
	switch need := math.Ceil(float64(runs) * ratio(widest) * ratio(widest)); {
	case c.longer != "":
		c.Text += " Longer runs would decide more."
		c.Next = c.command(runs)
	case ratio(widest) > 1 && need < mostUseful:
		c.Text += fmt.Sprintf(" About %.0f runs a side would decide.", need)
		c.Next = c.command(int(need))
	case ratio(widest) > 1:
		c.Text += " The runs differ too much among themselves: measure for longer" +
			map[bool]string{false: ", with --beside"}[c.Paired] + ", or on a quieter machine."
	}
}

// mostUseful is how many runs a side are worth suggesting.
const mostUseful = 100

// command is how to make so many runs of the first and the last set by turns; empty for what no flag gives: a ramp, and
// a program of which only run files are given.
func (c *Comparison) command(repeat int) string {
	a, b := c.given[0].Runs[0], c.given[len(c.given)-1].Runs[0]
	from, to := driverFlag(c.given[0]), driverFlag(c.given[len(c.given)-1])
	s, standard := a.Scenario, plan.DefaultPlan().Scenario()
	servers := slices.Compact([]string{serverFlag(a), serverFlag(b)})
	name, variant, _ := strings.Cut(s.Name, "/")
	if name == "" && s.Ramp != "" || from == "" || to == "" {
		return ""
	}
	s.Duration = cmp.Or(c.longer, s.Duration)
	command := "dq-bench run --driver " + text.Shell(from) + " --driver " + text.Shell(to)
	add := func(flag, value string) {
		if value != "" {
			command += " --" + flag + " " + text.Shell(value)
		}
	}
	for _, server := range servers {
		add("redis", server)
	}
	add("file", name)
	add("variant", variant)
	for _, f := range plan.Fields {
		if value := f.Text(s); name != "" && c.longer != "" && f.Key == "duration" || name == "" && f.Compared && f.IsText() && value != f.Text(standard) {
			add(f.Flag(), value)
		}
	}
	if c.Paired {
		command += " --beside"
	}
	return fmt.Sprintf("%s --repeat %d", command, repeat)
}

// driverFlag is the --driver value of a set. The command line of a program is only in the name of a set that run has made.
func driverFlag(s Set) string {
	switch {
	case strings.HasPrefix(s.Name, "exec:"):
		return s.Name
	case slices.Contains([]string{"dq", "redisson", "memory", "redis-list", "redis-zset"}, s.Runs[0].Driver.Name):
		return s.Runs[0].Driver.String()
	}
	return ""
}

// serverFlag is the --redis value of a run.
func serverFlag(r *run.Document) string {
	if at := r.ServerAddress(); at != "" {
		return "redis://" + at
	}
	how := ""
	if r.Server != nil {
		how, _, _ = strings.Cut(r.Server.How, " ")
	}
	return strings.TrimSuffix(how, "external") // an old file lacks the address
}

// changes lists the changes of rows, the greatest first.
func changes(rows []Row) string {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Compare(math.Abs(b.Shift.Value)/b.Floor, math.Abs(a.Shift.Value)/a.Floor)
	})
	texts := []string{change(rows[0])}
	for _, r := range rows[1:] {
		by, _ := r.Change()
		texts = append(texts, r.Figure+" "+by)
	}
	return strings.Join(texts, ", ")
}

// change writes "past due p99 +20.1 % (95 % interval +18.2 … +22 %)".
func change(r Row) string {
	by, interval := r.Change()
	if interval != "" {
		interval = " (95 % interval " + interval + ")"
	}
	return r.Figure + " " + by + interval
}

// Change writes the change of a row and its interval, which may be empty: in per cent, or in its unit if a figure is not above 0.
func (r Row) Change() (change, interval string) {
	e, unit, write := r.Shift, "", func(v float64) string { return signed(run.FormatNs(int64(v)), v) }
	if r.Ratio != nil {
		e, unit = *r.Ratio, " %"
		write = func(v float64) string { return signed(fmt.Sprintf("%.1f", 100*(v-1)), v-1) }
		if e.Value > 10 {
			unit, write = "×", func(v float64) string { return fmt.Sprintf("%.1f", v) }
		}
	}
	if e.Low != nil {
		interval = write(*e.Low) + " … " + write(*e.High) + unit
	}
	return write(e.Value) + unit, interval
}

// bound writes the smallest change that matters, in the unit of Change.
func (r Row) bound() string {
	if r.Ratio != nil {
		return fmt.Sprintf("%.1f %%", 100*r.Floor/r.Old)
	}
	return run.FormatNs(int64(r.Floor))
}

func signed(text string, v float64) string {
	if v > 0 {
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

const notByTurns = "the sets were not measured by turns, so the hour may be what differs"

// checkOrder takes a judgement back if one set was measured after the other, and a figure drifts within a set.
func (c *Comparison) checkOrder(old, new Set) {
	if c.Paired || len(old.Runs) == 0 || len(new.Runs) == 0 || Independent(starts(old), starts(new), .95).P > significance {
		return
	}
	switch drift := c.drift(old, new); {
	case c.Outcome == Inconclusive:
	case drift != "" && c.faults == "":
		c.Outcome, c.Text = Inconclusive, "Inconclusive: "+notByTurns+", for "+drift+" from run to run. Otherwise: "+c.Text
		c.Next = c.command(max(len(old.Runs), len(new.Runs)))
	default:
		c.Notes = append(c.Notes, notByTurns+"; no drift was found within a set")
	}
}

func starts(s Set) (all []float64) {
	for _, r := range s.Runs {
		all = append(all, float64(r.Started.UnixMilli()))
	}
	return all
}

// drift names a figure that rises or falls from run to run within a set; empty if there is none.
func (c *Comparison) drift(sets ...Set) string {
	var p []float64
	var names []string
	for _, s := range sets {
		for _, f := range figures(s.Runs) {
			if values := f.values(s.Runs, c.of); values != nil {
				way := "rises"
				if n := len(values); Median(values[:n/2]) > Median(values[n/2:]) {
					way = "falls"
				}
				p, names = append(p, Trend(values)), append(names, fmt.Sprintf("%s of %s %s", f.name, s.Name, way))
			}
		}
	}
	for i, chance := range Holm(p) {
		if chance <= significance {
			return names[i]
		}
	}
	return ""
}
