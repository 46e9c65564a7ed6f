package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/adopt"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/internal/server"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

type adoptFlags struct {
	redis, run, write, html string
	verbose                 bool
}

func newAdoptCmd() *cobra.Command {
	var f adoptFlags
	cmd := &cobra.Command{
		Use:   "adopt VERSION",
		Short: "Take in a Redisson release that the catalogue does not know",
		Long: `Adopt has Maven fetch a Redisson release, runs every conformance case with it and
says in a page what it does otherwise than the nearest release that is recorded:
cases, commands, replies, script texts, the default codec and rules of time. It
takes minutes, and needs Java and Maven.

With --write it writes into a checkout of dq-bench what the release is known by:
its line and its scripts in dq/wire, and its recordings, all of it or nothing. Then
it builds the checkout, for only that dq knows the release, and has it run the
release's column of the matrix. Review it as a change of your own; the page says
what to look at. Use the program of that checkout: go run ./cmd/dq-bench adopt
VERSION --write .

A release that is recorded already is left as it is, so that a scheduled job can
name the newest one: docs/adopt.yaml.

Exit codes: 0 it does what the nearest one does, or is recorded already; 1 Maven
does not have it, a case could not be run, or the environment cannot serve; 2 wrong
usage; 99 it differs, which the page says, and what was asked for is written.`,
		Example: `  dq-bench adopt 4.8.0
  dq-bench adopt 4.8.0 --html adopt.html --write .`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.adopt(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "auto", "server: auto, container[:image] or process[:path]")
	flags.StringVar(&f.run, "run", "", "regular expression; only cases whose ids match are run, and nothing can be written")
	flags.StringVar(&f.write, "write", "", "checkout of dq-bench to write catalogue, recordings and matrix column into")
	flags.StringVar(&f.html, "html", "", "also write the page to this file, as HTML")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each case as it ends, and what Redisson writes to its log")
	return cmd
}

func (f *adoptFlags) adopt(cmd *cobra.Command, version string) error {
	plan, err := f.plan(cmd, version)
	if err != nil {
		return err
	}
	if err := checkWritable("--html", f.html); err != nil {
		return err
	}
	var checkout *adopt.Checkout
	if f.write != "" {
		if checkout, err = adopt.OpenCheckout(f.write); err == nil {
			err = checkout.Matches()
		}
		if err != nil {
			return fmt.Errorf("--write: %w", err)
		}
	}
	if plan.Recorded() {
		fmt.Fprintf(cmd.OutOrStdout(), "Redisson %s is in the catalogue, and recorded: there is nothing to adopt.\n", plan.Release)
		return nil
	}
	adoption, err := plan.Run(cmd.Context())
	if err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), adoption); err != nil {
		return err
	}
	if checkout != nil {
		if err := f.writeInto(cmd, checkout, plan, adoption); err != nil {
			return err
		}
	}
	if adoption.Differs() {
		return failure(errors.New(adoption.Summary()))
	}
	return nil
}

// plan turns argument and flags into a plan.
func (f *adoptFlags) plan(cmd *cobra.Command, version string) (*adopt.Plan, error) {
	release, err := wire.ParseRelease(version)
	if err != nil {
		return nil, usageError(err)
	}
	if err := server.CheckSpec(f.redis); err != nil {
		return nil, usageError(err)
	}
	if server.External(f.redis) {
		return nil, usageError(errors.New("--redis: expected auto, container[:image] or process[:path], got an address: a release is recorded on a server of its own"))
	}
	keep, err := conformance.Compile(f.run)
	if err != nil {
		return nil, usageError(err)
	}
	if f.run != "" && f.write != "" {
		return nil, usageError(errors.New("--write: expected all cases, got --run"))
	}
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	if err != nil {
		return nil, err
	}
	oracle, err := conformance.LoadOracle(recordings.Files, "redisson")
	if err != nil {
		return nil, err
	}
	stderr := cmd.ErrOrStderr()
	plan := &adopt.Plan{
		Release: release, Redis: f.redis, Cases: conformance.Select(sections, keep), Oracle: oracle,
		Notice: func(s string) { fmt.Fprintln(stderr, s) },
	}
	if len(plan.Cases) == 0 {
		return nil, usageError(fmt.Errorf("--run %q matches none of the cases", f.run))
	}
	done := 0
	plan.Finished = func(r conformance.Result) {
		if done++; done%20 == 0 && !f.verbose {
			fmt.Fprintf(stderr, "%d cases\n", done)
		}
		printProgress(stderr, r, f.verbose)
	}
	if f.verbose {
		plan.Log = stderr
	}
	return plan, nil
}

func (f *adoptFlags) print(w io.Writer, a *adopt.Adoption) error {
	if err := a.WriteText(w); err != nil || f.html == "" {
		return err
	}
	file, err := os.Create(f.html)
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return errors.Join(a.WriteHTML(file), file.Close())
}

// writeInto writes the adoption into the checkout, and then the column of the matrix, whose own
// failures are in its table.
func (f *adoptFlags) writeInto(cmd *cobra.Command, checkout *adopt.Checkout, plan *adopt.Plan, a *adopt.Adoption) error {
	files, left, err := checkout.Write(a)
	if err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	w := cmd.OutOrStdout()
	fmt.Fprintln(w, "\nWritten, for review:")
	for _, file := range adopt.Summary(files) {
		fmt.Fprintf(w, "  %s\n", file)
	}
	for _, text := range left {
		fmt.Fprintf(w, "Left as it was: %s\n", text)
	}
	plan.Notice("the column of the matrix: Redisson and dq, every case, and at one queue")
	err = checkout.Column(cmd.Context(), a.Release, f.redis, cmd.ErrOrStderr())
	var exited *exec.ExitError
	switch {
	case err == nil:
		fmt.Fprintln(w, "  recordings/MATRIX.md")
		return nil
	case errors.As(err, &exited) && exited.ExitCode() == exitFailed:
		fmt.Fprintln(w, "  recordings/MATRIX.md")
		return failure(errors.New("dq does not do what this release does: see recordings/MATRIX.md"))
	default:
		return fmt.Errorf("--write: all is written but the column of the matrix: %w", err)
	}
}
