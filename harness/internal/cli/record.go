package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func newRecord() *call {
	v := newCases("record")
	var out string
	v.str(&out, "out", "")
	return v.does(func([]string) error {
		if out == "" {
			return usageError(errors.New("--out: expected a folder for the recordings"))
		}
		plan, err := v.plan("")
		if err != nil {
			return err
		}
		for _, c := range plan.Cases {
			section, _, _ := strings.Cut(c.ID, "/")
			file := filepath.Join(out, section+".monitor")
			if _, err := os.Lstat(file); err == nil {
				return fmt.Errorf("--out: %s is there already, and is kept; choose another folder, or remove it first", file)
			}
		}
		tidy, err := run.PrepareFolder(out)
		if err != nil {
			return err
		}
		defer tidy()
		report, err := plan.Run(v.Context())
		if err != nil {
			return err
		}
		files, err := conformance.WriteRecordings(out, report)
		if err != nil {
			return err
		}
		fmt.Fprintf(v.OutOrStdout(), "%s: %s; %d recordings in %s\n", report.Driver, report.Counts, len(files), out)
		if report.StandsIn != "" {
			fmt.Fprintln(v.OutOrStdout(), report.StandsIn)
		}
		return conformanceVerdict(report)
	})
}
