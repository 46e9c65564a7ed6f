package cli

import (
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// scenarioList is the document of 'run --list --json'.
type scenarioList struct {
	Schema    string           `json:"schema"`
	Scenarios []listedScenario `json:"scenarios"`
}

// listedScenario is one that 'run -f' takes.
type listedScenario struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Source is what the scenario is taken from.
	Source string `json:"source"`
	// Scale is what its times are multiplied by without --set full=true.
	Scale    float64         `json:"scale"`
	Variants []listedVariant `json:"variants,omitempty"`
}

// listedVariant is one that 'run --variant' takes.
type listedVariant struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Full marks one that runs with --set full=true, or by its name, alone.
	Full bool `json:"full"`
}

// listScenarios prints what 'run -f' can run. A variant marked with * takes long or needs more than a
// Redis: it runs by its name or with --set full=true only.
func (c *call) listScenarios() error {
	all, err := series.StoredScenarios()
	if err != nil {
		return err
	}
	list := scenarioList{Schema: "dq-bench/scenarios/v1"}
	t := report.Table{Words: 2, Wraps: true}
	row := func(name, about string) {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{{Text: name}, {Text: about}}})
	}
	for _, s := range all {
		l := listedScenario{Name: s.Name, About: s.About, Source: s.Source, Scale: s.Scale}
		row(s.Name, s.About)
		for _, v := range s.Variants {
			mark := "   "
			if v.Full {
				mark = " * "
			}
			if v.Name != "" {
				l.Variants = append(l.Variants, listedVariant{v.Name, v.About, v.Full})
				row(mark+v.Name, "  "+v.About)
			}
		}
		list.Scenarios = append(list.Scenarios, l)
	}
	return c.shows(list, t.Text)
}
