package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dq-bench/dq-bench/harness/internal/scenario"
)

// listScenarios prints what 'run -f' can run. A variant marked with * takes long or needs more than a
// Redis: it runs by its name or with --set full=true only.
func listScenarios(w io.Writer, asJSON bool) error {
	all, err := scenario.Stored()
	if err != nil {
		return err
	}
	if asJSON {
		return listJSON(w, all)
	}
	return listText(w, all)
}

func listText(w io.Writer, all []*scenario.Scenario) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%s\n", s.Name, s.About)
		for _, v := range s.Variants {
			if v.Name == "" {
				continue
			}
			mark := " "
			if v.Full {
				mark = "*"
			}
			fmt.Fprintf(t, " %s %s\t  %s\n", mark, v.Name, v.About)
		}
	}
	return t.Flush()
}

// scenarioList is the document of 'run --list --json'.
type scenarioList struct {
	Schema    string           `json:"schema"`
	Scenarios []listedScenario `json:"scenarios"`
}

// listedScenario is one that `run -f` takes.
type listedScenario struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Source is what the scenario is taken from.
	Source string `json:"source"`
	// Scale is what its times are multiplied by without --set full=true.
	Scale    float64         `json:"scale"`
	Variants []listedVariant `json:"variants,omitempty"`
}

// listedVariant is one that `run --variant` takes.
type listedVariant struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Full marks one that runs with --set full=true, or by its name, alone.
	Full bool `json:"full"`
}

func listJSON(w io.Writer, all []*scenario.Scenario) error {
	out := scenarioList{Schema: "dq-bench/scenarios/v1"}
	for _, s := range all {
		l := listedScenario{Name: s.Name, About: s.About, Source: s.Source, Scale: s.Scale}
		for _, v := range s.Variants {
			if v.Name != "" {
				l.Variants = append(l.Variants, listedVariant{v.Name, v.About, v.Full})
			}
		}
		out.Scenarios = append(out.Scenarios, l)
	}
	return printJSON(w, out)
}
