package cli

import (
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

// scenarioList is the document of 'run --list --json'.
type scenarioList struct {
	Schema    string             `json:"schema"`
	Scenarios []*series.Scenario `json:"scenarios"`
}

// listScenarios prints what 'run -f' can run. A variant marked with * takes long or needs more than a
// Redis: it runs by its name only.
func (c *call) listScenarios() error {
	all, err := series.StoredScenarios()
	if err != nil {
		return err
	}
	t := report.Table{Words: 2, Wraps: true}
	row := func(name, about string) {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{{Text: name}, {Text: about}}})
	}
	for _, s := range all {
		row(s.Name, s.About)
		s.Variants = slices.DeleteFunc(s.Variants, func(v series.Variant) bool { return v.Name == "" })
		for _, v := range s.Variants {
			row(map[bool]string{true: " * ", false: "   "}[v.Full]+v.Name, "  "+v.About)
		}
	}
	return c.shows(scenarioList{"dq-bench/scenarios/v1", all}, report.Page{Tables: []report.Table{t}}.Text)
}
