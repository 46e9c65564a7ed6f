package report

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Stored is a stored run in a list.
type Stored struct {
	// ID is its folder, from the folder of the list on.
	ID  string
	row Row
	at  time.Time
}

// NewStored keeps of a run only what a list shows.
func NewStored(id string, r *run.Document) Stored {
	o := stateOf(r)
	h := run.LateOf(r).Of(r.Histograms)
	return Stored{id, Row{o.state, []Cell{
		{Choice: url.PathEscape(id)}, {Text: r.Started.UTC().Format(time.DateTime), Link: "run?id=" + url.QueryEscape(id)}, {Text: setOf(id)}, {Text: r.Driver.String()}, {Text: r.Scenario.Name},
		{Text: strings.TrimSpace(serverOf(r))}, {Text: labelsOf(r)}, {Text: o.tag, Class: "pill"}, quantile(h, .5), quantile(h, .99), count(r.Wrong(), true),
	}}, r.Started}
}

// setOf is the folder in which a series keeps the runs of one side, or the folder of the run.
func setOf(id string) string {
	if strings.Trim(path.Base(id), "0123456789") == "" && strings.Contains(id, "/") {
		return path.Dir(id)
	}
	return id
}

// OfStored is the page of the runs below a folder, the newest first: what is ticked is compared.
func OfStored(folder string, all []Stored, unreadable []string, notice string) Page {
	p := Page{Title: folder + " · dq-bench", Verdict: text.Plural(int64(len(all)), "run") + " in " + folder, Choose: "compare"}
	if notice != "" {
		p.Banners = append(p.Banners, Banner{true, "", notice})
	}
	slices.SortStableFunc(all, func(a, b Stored) int { return b.at.Compare(a.at) })
	sets := Table{ID: "sets", Title: "Sets", Head: []string{"", "set", "newest, UTC", "implementation", "runs"}, Words: 4}
	list := Table{ID: "stored", Title: "Runs", Head: []string{"", "started, UTC", "set", "implementation", "scenario", "server", "labels", "", "p50", "p99", "wrong"}, Words: 8}
	for _, s := range all {
		list.Rows = append(list.Rows, s.row)
		set := setOf(s.ID)
		if set == s.ID {
			continue
		}
		i := slices.IndexFunc(sets.Rows, func(r Row) bool { return r.Cells[1].Text == set })
		if i < 0 {
			i = len(sets.Rows)
			sets.Rows = append(sets.Rows, Row{"", []Cell{{Choice: url.PathEscape(set)}, {Text: set}, s.row.Cells[1], s.row.Cells[3], count(0, false)}})
		}
		runs := &sets.Rows[i].Cells[4]
		*runs = count(int64(*runs.Raw)+1, false)
	}
	for _, t := range []Table{sets, list} {
		if len(t.Rows) > 0 {
			p.Headline = append(p.Headline, t)
		}
	}
	const most = 20
	if n := len(unreadable); n > most {
		unreadable = append(slices.Clone(unreadable[:most]), fmt.Sprintf("%d more", n-most))
	}
	for _, u := range unreadable {
		p.Banners = append(p.Banners, Banner{false, "Not readable.", u})
	}
	return p
}
