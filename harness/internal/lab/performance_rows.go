package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// claims has a line for each row of the table: what is done, the step that measures it, what is shown of
// dq and of the other side with figures in braces, how many times better dq is, the target in words and
// as bounds that all must hold, and why the target may be missed. "a : b" is the ratio of two figures; of
// one figure it is the median of what each run has as its own ratio.
//
//go:embed performance.tsv
var claims string

// claim is one row of the table.
type claim struct {
	work, step, dq, other, ratio, target string
	aims                                 []string
	tried                                string
}

func claimed() (all []claim) {
	for _, line := range strings.Split(strings.TrimSpace(claims), "\n")[1:] {
		c := strings.Split(line+"\t", "\t")
		all = append(all, claim{c[0], c[1], c[2], c[3], c[4], c[5], strings.Split(c[6], "; "), c[7]})
	}
	return all
}

// section is the table, with a note for each target that is missed.
func (m *measuring) section() string {
	var notes []string
	var table [][]string
	for _, r := range claimed() {
		verdict, why := m.verdict(r)
		if why != "" {
			if !slices.Contains(notes, why) {
				notes = append(notes, why)
			}
			verdict += fmt.Sprintf(" [%d]", slices.Index(notes, why)+1)
		}
		ratio := "–"
		if v, ok := m.samples.figure(r.ratio); ok {
			ratio = short(v) + "×"
		}
		table = append(table, []string{r.work, m.samples.fill(r.dq), m.samples.fill(r.other), ratio, r.target, verdict})
	}
	text := asTable([]string{"work", "dq", "Redisson 4.7.0, or as named", "ratio", "target", ""}, table) + "\n"
	for i, note := range notes {
		text += fmt.Sprintf("%d. %s\n", i+1, note)
	}
	return text
}

// verdict says whether the target of a row is met, and why not.
func (m *measuring) verdict(r claim) (verdict, why string) {
	if reason, missing := m.missing[r.step]; missing {
		return "not measured", reason
	}
	verdict = "met"
	for _, a := range r.aims {
		figure, bound, least := strings.Cut(a, " >= ")
		if !least {
			figure, bound, _ = strings.Cut(a, " <= ")
		}
		limit, err := strconv.ParseFloat(bound, 64)
		v, ok := m.samples.figure(figure)
		switch {
		case !ok || err != nil:
			return "not measured", "there is no " + figure
		case least && v < limit, !least && v > limit:
			verdict, why = "missed", r.tried
		}
	}
	for _, side := range []string{"dq", "redisson", "faithful"} {
		if n := len(m.samples[r.step+" "+side+" invalid"]); n > 0 {
			why = fmt.Sprintf("%d of the runs of %s are invalid: the load was not made as asked for", n, side)
		}
	}
	return verdict, why
}
