package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/scenario"
)

func newScenariosCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "scenarios",
		Short: "List the scenarios that 'dq-bench run -f' knows, with a sentence each",
		Long: `Scenarios lists what 'dq-bench run -f NAME' can run. A variant marked with * takes
long or needs more than a Redis, and runs with --variant or --set full=true only.

Exit codes: 0 fine; 2 wrong usage.`,
		Example: `  dq-bench scenarios
  dq-bench run -f backlog --variant random-100k`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := scenario.Stored()
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(cmd.OutOrStdout(), all)
			}
			return listText(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document on stdout and nothing else")
	return cmd
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

// scenarioList is what `scenarios --json` prints.
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
