package page

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// List is the page of stored runs, which a server shows: a form that opens compare
// beside it with what is chosen as id, the ID of a set or of a run, and links to
// run?id=ID.
type List struct {
	// Folder is what they lie below.
	Folder string
	// Notice stands above them; empty for none.
	Notice string
	// Sets are shown in this order: those of the page, of so many, from 1.
	Sets        []ListSet
	Page, Pages int
	// AllSets and Runs count those of all pages.
	AllSets, Runs int
	// Unreadable says of run files why they are not shown.
	Unreadable []string
}

// ListSet is the runs of a folder.
type ListSet struct {
	ID string
	// Runs are those that are shown, of All.
	Runs []ListRun
	All  int
}

// ListRun is one stored run, as NewListRun makes it.
type ListRun struct {
	ID      string
	Started time.Time

	scenario, driver, server string
	labels                   map[string]string
	late                     string // which latency the figures are of
	figures                  []figure
	state, outcome, verdict  string
}

// NewListRun takes from a run what a list shows.
func NewListRun(id string, r *run.Document) ListRun {
	name, h := r.Late()
	l := ListRun{
		ID: id, Started: r.Started, scenario: r.Scenario.Name, driver: r.Driver.String(), server: serverName(r), late: strings.ReplaceAll(name, "_", " "),
		figures: []figure{
			timeFigureOf(id+".p50", h, h.Quantile(.5)), timeFigureOf(id+".p99", h, h.Quantile(.99)),
			countFigure(id+".delivered", r.Counts.Delivered), countFigure(id+".wrong", r.Wrong()),
		},
		verdict: r.Verdict.Text, labels: r.Labels,
	}
	l.figures[3].Bad = r.Wrong() > 0
	l.state, l.outcome = stateOf(r)
	return l
}

// labelsText writes the labels of a run.
func (l ListRun) labelsText() string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(l.labels)) {
		texts = append(texts, key+"="+l.labels[key])
	}
	return strings.Join(texts, " ")
}

// listView is everything the template shows.
type listView struct {
	assetsView
	Folder, Count, Notice     string
	Sets                      []listSetView
	Unreadable                []string
	Page, Pages, Newer, Older int // 0 for no such page
}

type listSetView struct {
	ID, Count string
	Rows      []listRow
	Alone     bool // the set is its only run
}

// listRow is a ListRun for the template.
type listRow struct {
	ID, Started, Scenario, Driver, Server, Labels, Late, State, Outcome, Verdict string
	Figures                                                                      []figure
}

// Write writes the page.
func (l List) Write(w io.Writer) error {
	v := listView{Folder: l.Folder, Notice: l.Notice, Unreadable: l.Unreadable, Page: l.Page, Pages: l.Pages, Newer: l.Page - 1}
	if l.Page < l.Pages {
		v.Older = l.Page + 1
	}
	for _, s := range l.Sets {
		set := listSetView{ID: s.ID, Count: compare.CountRuns(s.All), Alone: s.All == 1 && s.Runs[0].ID == s.ID}
		if len(s.Runs) < s.All {
			set.Count += fmt.Sprintf(", of which the newest %d are shown", len(s.Runs))
		}
		for _, r := range s.Runs {
			set.Rows = append(set.Rows, listRow{
				r.ID, r.Started.UTC().Format(time.DateTime), r.scenario, r.driver, r.server, r.labelsText(), r.late, r.state, r.outcome, r.verdict, r.figures,
			})
		}
		v.Sets = append(v.Sets, set)
	}
	v.Count = fmt.Sprintf("%s in %d sets", compare.CountRuns(l.Runs), l.AllSets)
	if l.AllSets == 1 {
		v.Count = compare.CountRuns(l.Runs) + " in 1 set"
	}
	return writeLayout(w, "list.tmpl", false, func(assets assetsView) any { v.assetsView = assets; return v })
}

// WriteProblem writes a page that says why what was asked for cannot be shown, with the way
// to home.
func WriteProblem(w io.Writer, problem error, home string) error {
	return writeLayout(w, "problem.tmpl", false, func(assets assetsView) any {
		return struct {
			assetsView
			Problem, Home string
		}{assets, problem.Error(), home}
	})
}
