package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/history"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// historyFlags are the flags of 'dq-bench history' as they were given.
type historyFlags struct {
	history.Options
	by, html string
	json     bool
}

func newHistoryCmd() *cobra.Command {
	f := &historyFlags{Options: history.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "history RUNS…",
		Short: "Many stored runs over versions or commits: since when is it later?",
		Long: fmt.Sprintf(`History reads up to %[1]d stored runs of one scenario (run files, folders that hold
run.json files at any depth, or quoted globs; links are followed), puts them in the order of their versions,
and names the first version whose figures have changed: past due (lateness where more than one in five do not
keep Redisson's format), response time and the server's processor time for each message.

--by says what makes runs one point: the version of the implementation or of the server,
in the order of version numbers, a pre-release (4.0.0-rc1, 4.0.0-M1, 4.0.0-SNAPSHOT)
before its release; the commit, which is the label of that name or else the
build of dq-bench; a label; or each run by itself. Commits and labels come in the order in
which they were measured first: an old one that is measured anew keeps its place only beside
its older runs.

Changes are found by E-divisive means with a permutation test, in the whole series and in
stretches of it, at 0.05 for all figures together, in %[2]d runs or more, and matter from --min-effect and --min-delta on.
A run that does not tell a figure is left out of that figure, and said so.

Runs share their hour with those that were made close to them. A sitting ends with a gap of ten times the usual one,
ten minutes at the least and half an hour in any case; runs of a version in a row count as one session. Where sittings
have runs of both sides of a change, in turn, it is what they show, and its size is that. It must be there whichever run
is left out, and beside what each sitting does to its first and to its later runs: measure there and back, A B B A, for
of versions that have one run each, always in one order, nothing can be told. Else it is what is more than the medians of sittings
or sessions differ by, of which %[3]d are needed: with four before it twice as much is seen, with nine half as much again,
where hours differ by 5 %%. Measured in turn, also with one and the same old version each time, a fifth more is seen.

Messages that were lost, came twice, came early, never came or could not be offered are judged
whatever the figures, each kind by itself with the version since which there is more or less of it: by the order
of the runs of a sitting, or of the sessions, that have any, at 0.04 for all kinds together. In however few runs, what comes for
the first time at the newest point is worse, and so is what each of its runs has ten times as often as any before.

The first_worse of --json is that of the figure that grew by the greatest factor, or
of the kind of wrong done to messages that began first, whichever is earlier; the text names the others.

Judged is the newest level of a figure against the one before it: what is better than that and worse than
the best so far is better, and said to be worse than the best. Where neighbouring runs are alike between
the changes too, as on a machine that drifts, changes are more frequent than the level says, and a note says so.

A machine that others use as well moves the lateness of a run more than most changes do.
There, measure each version beside one that stays the same,

  dq-bench run --beside --driver redisson:3.16.6 --driver redisson:4.7.0 --out out/h/4.7.0

and give that as --reference: the figures are ratios to what stood beside them, and a
fifth more is seen once three versions have it. Runs that stood beside each other are
refused without it.

Invalid and interrupted runs, and files that cannot be read, are left out, and said so; where nothing
is left of the newest version, unless %[2]d runs of others were made since, or too few runs of it for any
change to be told, the outcome is inconclusive; so it is where at least as many files cannot be read as there are runs of the
newest point, unless it is worse or --by is run. Runs of several scenarios or implementations are refused, and so are those of machines that differ in OS, architecture, number of CPUs or GOMAXPROCS,
and a run that is given twice. Hosts of one size are told apart by a label: 'dq-bench run --label host=a', --by label:host.

Exit codes: 0 better, no change or inconclusive; 1 no run file can be read, or none of them is valid and whole; 2 wrong usage, or runs that do not belong together;
99 worse.`, history.MaxRuns, history.MinRuns, history.MinSessions),
		Example: `  dq-bench history out/releases
  dq-bench history --by commit --html history.html out/nightly
  dq-bench history --reference redisson:3.16.6 'out/h/*'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return usageError(err)
			}
			return f.print(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	cmd.Flags().StringVar(&f.by, "by", f.By.String(), "what makes runs one point: version, commit, server, run or label:KEY")
	cmd.Flags().StringVar(&f.Reference, "reference", "", "implementation such as redisson:4.7.0 beside which each run was made at the same time")
	cmd.Flags().StringVar(&f.html, "html", "", "file to write a page for the browser to, with a chart of each figure")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON document on stdout and nothing else")
	cmd.Flags().Float64Var(&f.MinEffect, "min-effect", f.MinEffect, "smallest change that matters, as a share of the level before")
	cmd.Flags().DurationVar(&f.MinDelta, "min-delta", f.MinDelta, "smallest change of a time that matters (with --reference: none)")
	return cmd
}

func (f *historyFlags) check() (err error) {
	if !(f.MinEffect >= 0 && f.MinEffect < 1) {
		return fmt.Errorf("min-effect: expected a share from 0 to below 1 such as 0.05, got %v", f.MinEffect)
	}
	if f.MinDelta < 0 {
		return fmt.Errorf("min-delta: expected a duration of 0s or more such as 20us, got %s", f.MinDelta)
	}
	f.By, err = history.ParseBy(f.by)
	return err
}

// print makes the history of the runs that the paths name.
func (f *historyFlags) print(ctx context.Context, w, notices io.Writer, paths []string) error {
	if err := checkWritable("--html", f.html); err != nil {
		return err
	}
	runs, unreadable, err := readHistory(ctx, paths)
	if err != nil {
		return err
	}
	for _, reason := range unreadable {
		fmt.Fprintf(notices, "left out: %s\n", text.Inert(reason))
	}
	f.Unread = unreadable
	h, err := history.Of(ctx, runs, f.Options)
	switch {
	case ctx.Err() != nil, errors.Is(err, history.ErrNoRuns):
		return err
	case err != nil:
		return usageError(err)
	}
	if f.html != "" {
		if err := page.WriteHistoryFile(f.html, h); err != nil {
			return err
		}
	}
	if f.json {
		err = printJSON(w, h)
	} else {
		err = page.WriteHistory(w, h)
	}
	if err != nil {
		return err
	}
	if h.Outcome == history.Worse {
		return failure(errors.New(h.Text))
	}
	return nil
}

// readHistory reads the runs that any of the paths name, each once, and says which cannot be
// read. It fails if none can.
func readHistory(ctx context.Context, paths []string) (runs []*run.Document, unreadable []string, err error) {
	files, err := run.Find(ctx, paths...)
	if err != nil {
		return nil, nil, err
	}
	if err := history.CheckNumber(len(files)); err != nil {
		return nil, nil, usageError(err)
	}
	all, errs, err := run.ReadFiles(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	for i, r := range all {
		if errs[i] != nil {
			unreadable = append(unreadable, errs[i].Error())
			continue
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, nil, errors.Join(errs...)
	}
	return runs, unreadable, nil
}
