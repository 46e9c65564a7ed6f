package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// compareFlags are the flags of 'dq-bench compare' as they were given.
type compareFlags struct {
	compare.Options
	format, noise, html string
	json, self          bool
	changed             func(flag string) bool
}

func newCompareCmd() *cobra.Command {
	f := &compareFlags{Options: compare.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Judge two sets of run files: better, worse, no difference, inconclusive",
		Long: fmt.Sprintf(`Compare sets NEW against OLD. Each is a run file, a folder that holds run.json
files at any depth, or a quoted glob.

It judges past due (lateness where not both keep Redisson's format), response time and the
server's processor time for each message across runs, with the exact Mann-Whitney test,
adjusted by Holm; the seconds of one run are not independent, so fewer than %d runs a side
are inconclusive, and more than %d refused. A quantile that fewer than 100 messages of each run lie beyond is
not judged. "p99 per second" is the median of the p99 of each second of a run in which the
machine was calm: one hiccup of it moves the p99 of a run, but not this.

Runs that 'dq-bench run --beside' made at the same time are judged in pairs, %d or more: by
their ratios with the exact signed-rank test, and the p99 per second second by second.

A change must be significant, and greater than the noise of the machine: that is measured
by --self and kept as noise.json beside the runs, where it is found again, or taken from
what --noise names. Without it, it must be greater than --min-effect and --min-delta. There
is no difference only where the whole interval of the change lies within these bounds; else
the outcome is inconclusive, and says how many runs would tell.

NEW is worse, whatever its lateness and however few the runs, if it lost, duplicated, delivered
early, refused or never delivered messages as OLD never did; and if runs of OLD did so too, where
the share is greater beyond chance, from run to run. Each is judged by itself. Runs of different configurations,
invalid ones and a run that is given twice are refused, and so are runs of machines that differ in OS,
architecture, number of CPUs or GOMAXPROCS. No more of a machine is looked at: what tells hosts of one size
apart is a label, such as 'dq-bench run --label host=a'. Interrupted runs are left out,
with a warning; a side that has no others is refused. Sides that were not measured in turn are inconclusive if one rises or falls from run to run; where
one came first in sitting after sitting, such as old before new each evening, a warning says so.

Of a single run a side it prints how the run wandered, from the seconds in the
lateness.hlog beside its run file.

--self takes one set, of one implementation: it is split at random 200 times, and
what matters is how seldom a difference is seen, and the noise floor it prints and keeps.
Then the later half is set against the earlier one: a difference there is a drift.

Exit codes: 0 better, no difference or inconclusive; 1 a run file cannot be
read; 2 wrong usage, or runs that cannot be compared; 99 NEW is worse, the runs of
one set drift, or more than %.0f %% of the comparisons with itself see a difference.`, compare.MinRuns, compare.MaxRuns, compare.MinPairs, 100*compare.MaxAlarms),
		Example: `  dq-bench compare out/old/run.json out/new/run.json
  dq-bench compare --html report.html out/redisson-4.7.0 out/dq
  dq-bench compare 'out/monday-*' 'out/tuesday-*' --format markdown
  dq-bench compare --format benchfmt out/old out/new | benchstat -col side -
  dq-bench compare --self out/r/dq`,
		Args: func(_ *cobra.Command, args []string) error {
			want := 2
			if f.self {
				want = 1
			}
			if len(args) != want {
				return fmt.Errorf("accepts %d arg(s), received %d", want, len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			if err := f.check(); err != nil {
				return usageError(err)
			}
			if f.self {
				return f.compareSelf(cmd.OutOrStdout(), args[0])
			}
			return f.compareSides(cmd.OutOrStdout(), args[0], args[1])
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "text", "text, json, markdown or benchfmt, which benchstat reads")
	cmd.Flags().StringVar(&f.html, "html", "", "file to write a page for the browser to, with charts of both sides")
	cmd.Flags().BoolVar(&f.json, "json", false, "the same as --format json: one JSON document on stdout and nothing else")
	cmd.Flags().BoolVar(&f.Force, "force", false, "compare runs of different configurations, invalid ones, and interrupted ones where a side has no others")
	cmd.Flags().Float64Var(&f.MinEffect, "min-effect", f.MinEffect, "smallest change that matters, as a share of OLD (with a measured noise: none)")
	cmd.Flags().DurationVar(&f.MinDelta, "min-delta", f.MinDelta, "smallest change of a time that matters, whatever OLD is (with a measured noise: none)")
	cmd.Flags().StringVar(&f.noise, "noise", "", "noise.json, or 12 or more runs of one implementation, whose spread is the noise of the machine (default: the noise.json beside OLD or NEW)")
	cmd.Flags().BoolVar(&f.self, "self", false, "compare the runs of one set with each other")
	return cmd
}

func (f *compareFlags) check() error {
	if !(f.MinEffect >= 0 && f.MinEffect < 1) {
		return fmt.Errorf("min-effect: expected a share from 0 to below 1 such as 0.05, got %v", f.MinEffect)
	}
	if f.MinDelta < 0 {
		return fmt.Errorf("min-delta: expected a duration of 0s or more such as 20us, got %s", f.MinDelta)
	}
	if f.json {
		if f.changed("format") && f.format != "json" {
			return fmt.Errorf("format: expected json beside --json, got %q", f.format)
		}
		f.format = "json"
	}
	switch f.format {
	case "text", "json":
		return nil
	case "markdown", "benchfmt":
		if !f.self {
			return nil
		}
		return fmt.Errorf("format: expected text or json beside --self, got %q", f.format)
	}
	return fmt.Errorf("format: expected text, json, markdown or benchfmt, got %q", f.format)
}

func (f *compareFlags) compareSides(w io.Writer, oldPath, newPath string) error {
	if err := checkPage(f.html); err != nil {
		return err
	}
	oldRuns, errOld := compare.ReadSide(oldPath)
	newRuns, errNew := compare.ReadSide(newPath)
	err := errors.Join(errOld, errNew)
	if err != nil {
		return err
	}
	if err := f.readNoise(oldPath, newPath); err != nil {
		return err
	}
	c, err := compare.Runs(oldRuns, newRuns, f.Options)
	if err != nil {
		return incomparable(err)
	}
	if f.html != "" {
		if err := page.OfComparison(oldRuns, newRuns, c).WriteFile(f.html); err != nil {
			return err
		}
	}
	switch f.format {
	case "json":
		err = printJSON(w, c)
	case "markdown":
		err = page.WriteMarkdown(w, c)
	case "benchfmt":
		comparisons := []*compare.Comparison{c}
		oldRuns, _ = compare.Compared(comparisons, 0, oldRuns)
		newRuns, _ = compare.Compared(comparisons, 1, newRuns)
		err = page.WriteBenchfmt(w, oldRuns, newRuns)
	default:
		err = page.WriteComparison(w, c)
	}
	if err != nil {
		return err
	}
	if c.Outcome == compare.Worse {
		return failure(errors.New(c.Text))
	}
	return nil
}

// readNoise takes the noise of the machine from where --noise says, or from a file beside
// the runs; without one the smallest change that matters is a guess.
func (f *compareFlags) readNoise(paths ...string) (err error) {
	path := f.noise
	if path == "" {
		if path = compare.FindNoise(paths...); path == "" {
			return nil
		}
	}
	if filepath.Base(path) == compare.NoiseFile {
		f.Noise, err = compare.ReadNoise(path)
	} else {
		var same []*run.Document
		if same, err = compare.ReadSide(path); err != nil {
			return err
		}
		if f.Noise, err = compare.NewNoise(same); err != nil {
			return incomparable(err)
		}
	}
	if !f.changed("min-effect") {
		f.MinEffect = 0
	}
	if !f.changed("min-delta") {
		f.MinDelta = 0
	}
	return err
}

// selfRounds is how often --self splits the runs, and selfSeed how it begins.
const (
	selfRounds = 200
	selfSeed   = 1
)

func (f *compareFlags) compareSelf(w io.Writer, path string) error {
	runs, err := compare.ReadSide(path)
	if err != nil {
		return err
	}
	aa, err := compare.WithItself(runs, selfRounds, selfSeed, f.Options)
	if err != nil {
		return incomparable(err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if err := aa.Noise.Write(path); err != nil {
			return fmt.Errorf("the noise floor could not be kept beside the runs: %w", err)
		}
	}
	if f.format == "json" {
		err = printJSON(w, aa)
	} else {
		err = page.WriteSelf(w, aa)
	}
	if err != nil {
		return err
	}
	if aa.Drifts() {
		return failure(fmt.Errorf("the runs drift: set against the earlier half, the later half is %s", aa.Drift))
	}
	if float64(aa.Alarms) > compare.MaxAlarms*float64(aa.Comparisons) {
		return failure(fmt.Errorf("%d of %d comparisons of an implementation with itself see a difference, expected at most %.0f %%",
			aa.Alarms, aa.Comparisons, 100*compare.MaxAlarms))
	}
	return nil
}

// incomparable marks runs that cannot be compared as wrong usage.
func incomparable(err error) error {
	if compare.IsRefused(err) {
		return usageError(fmt.Errorf("%w; compare them all the same with --force", err))
	}
	return usageError(err)
}

func printJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}
