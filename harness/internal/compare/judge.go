package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// judge decides the rows that may be judged, and the whole.
func (c *Comparison) judge(o Options) {
	var judged []*Row
	var p []float64
	need := c.needed()
	enough := c.Old.Runs >= need && c.New.Runs >= need
	for i := range c.Rows {
		row := &c.Rows[i]
		switch {
		case !row.figure.judged:
		case !row.bears:
			row.Refused = "fewer than " + strconv.Itoa(judgedTail) + " messages of a run lie beyond it"
		case !enough:
			row.Refused = "fewer than " + CountRuns(need) + " a side"
		default:
			judged, p = append(judged, row), append(p, row.chance)
		}
	}
	for i, chance := range stats.Holm(p) {
		floor := o.floor(judged[i])
		judged[i].P, judged[i].Floor = &chance, &floor
		judged[i].Outcome = judged[i].outcome(chance, floor)
	}
	c.Outcome, c.Text = c.conclude(judged, enough)
	if c.untold != "" {
		c.Text += " Not more than the runs differ by: " + c.untold + "."
	}
}

// needed is how many runs a side a judgement needs.
func (c *Comparison) needed() int {
	if c.Paired {
		return MinPairs
	}
	return MinRuns
}

func (c *Comparison) ofPairs() string {
	if c.Paired {
		return " of runs in pairs"
	}
	return ""
}

// floor is the smallest shift of a row that matters.
func (o Options) floor(row *Row) float64 {
	floor := o.MinEffect * math.Abs(row.Old)
	if row.figure.isTime {
		floor = max(floor, float64(o.MinDelta))
	}
	return floor
}

func (row *Row) outcome(p, floor float64) Outcome {
	switch {
	case row.Low != nil && -floor <= *row.Low && *row.High <= floor:
		return NoDifference
	case p > significance || math.Abs(row.Shift) <= floor:
		return Inconclusive
	case row.Shift < 0:
		return Better
	default:
		return Worse
	}
}

func (c *Comparison) conclude(judged []*Row, enough bool) (Outcome, string) {
	if c.faults != "" {
		return Worse, c.faults
	}
	if !enough {
		return Inconclusive, "Inconclusive: a judgement" + c.ofPairs() + " needs at least " + CountRuns(c.needed()) + " a side, here are " +
			CountRuns(c.Old.Runs) + " against " + CountRuns(c.New.Runs) + "."
	}
	if len(judged) == 0 {
		return Inconclusive, "Inconclusive: no quantile has enough messages beyond it in every run."
	}
	found := map[Outcome][]*Row{}
	for _, row := range judged {
		found[row.Outcome] = append(found[row.Outcome], row)
	}
	for _, o := range []Outcome{Worse, Better} {
		if rows := found[o]; len(rows) > 0 {
			return o, "NEW is " + string(o) + " in " + names(rows) + "."
		}
	}
	if rows := found[Inconclusive]; len(rows) > 0 {
		text := "Inconclusive in " + names(rows) + ": " + c.missing(judged)
		if alike := found[NoDifference]; len(alike) > 0 {
			text += " No difference in " + names(alike) + "."
		}
		return Inconclusive, text
	}
	return NoDifference, "No difference: every change lies within the bounds of what matters, with 95 % confidence."
}

// unjudge takes every judgement back, for the reason given: the figures stay.
func (c *Comparison) unjudge(reason error) {
	for i := range c.Rows {
		c.Rows[i].Outcome, c.Rows[i].P, c.Rows[i].Floor, c.Rows[i].Refused = "", nil, nil, reason.Error()
	}
	c.Outcome, c.Text = Inconclusive, "Not judged: "+reason.Error()+"."
}

// name is "lateness p99".
func (row *Row) name() string {
	return people(row.Histogram) + " " + row.Stat
}

// people call a histogram so.
func people(histogram string) string {
	return strings.Replace(strings.ReplaceAll(histogram, "_", " "), "cpu", "CPU", 1)
}

// names is "lateness at p50, p99 and server CPU per message".
func names(rows []*Row) string {
	var parts []string
	last := ""
	for _, row := range rows {
		if row.Histogram == last {
			parts[len(parts)-1] += ", " + row.Stat
			continue
		}
		last = row.Histogram
		at := " at "
		if strings.HasPrefix(row.Stat, "per ") {
			at = " "
		}
		parts = append(parts, people(last)+at+row.Stat)
	}
	if n := len(parts) - 1; n > 1 {
		return strings.Join(parts[:n], "; ") + "; and " + parts[n]
	}
	return strings.Join(parts, " and ")
}

// missing says what these runs could have shown at least, and how many would do.
func (c *Comparison) missing(judged []*Row) string {
	var worst *Row
	ratio := 0.
	for _, row := range judged {
		if row.Outcome != Inconclusive || row.Low == nil {
			continue
		}
		if r := (*row.High - *row.Low) / 2 / *row.Floor; worst == nil || r > ratio {
			worst, ratio = row, r
		}
	}
	if worst == nil {
		return "there are too few runs."
	}
	half := (*worst.High - *worst.Low) / 2
	text := fmt.Sprintf("the interval of %s is ±%s wide, so that less than that could not have been seen; what matters begins at %s",
		worst.name(), run.FormatNs(int64(half)), run.FormatNs(int64(*worst.Floor)))
	if need := math.Ceil(float64(min(c.Old.Runs, c.New.Runs)) * ratio * ratio); ratio > 1 && need < maxUsefulRuns {
		return text + fmt.Sprintf(": about %.0f runs a side would tell.", need)
	}
	return text + "."
}

// maxUsefulRuns is how many runs a side are worth suggesting.
const maxUsefulRuns = 10_000
