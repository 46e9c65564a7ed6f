package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/matrix"
	"github.com/dq-bench/dq-bench/internal/server"
	"github.com/dq-bench/dq-bench/scenarios"
)

// newMatrixCmd is for those who work on dq: it needs Java, and most of an hour.
func newMatrixCmd() *cobra.Command {
	var releases []string
	var pattern, redis, out, into string
	plan := matrix.Plan{}
	cmd := &cobra.Command{
		Use:    "matrix",
		Short:  "Compare dq with the real Redisson at many releases, and write the table",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range releases {
				release, err := wire.LookupRelease(text)
				if err != nil {
					return usageError(fmt.Errorf("--releases: %w", err))
				}
				plan.Releases = append(plan.Releases, release)
			}
			keep, err := conformance.Compile(pattern)
			if err != nil {
				return usageError(err)
			}
			if err := server.CheckSpec(redis); err != nil {
				return usageError(err)
			}
			if server.External(redis) {
				return usageError(errors.New("--redis: expected container[:image] or process[:path], got an address: each column needs a server of its own"))
			}
			sections, err := conformance.Load(scenarios.Conformance, "conformance")
			if err != nil {
				return err
			}
			plan.Cases, plan.Redis = conformance.Select(sections, keep), redis
			plan.Notice = func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }
			result, err := plan.Run(cmd.Context())
			if err != nil {
				return err
			}
			write := func() error { return writeMatrix(out, result) }
			if into != "" {
				out, write = into, func() error { return insertMatrix(into, result) }
			}
			if err := write(); err != nil {
				return err
			}
			if n := result.Failed(); n > 0 {
				return failure(fmt.Errorf("%d cells show a failure: see the end of %s", n, out))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&releases, "releases", matrix.DefaultReleases, "Redisson releases, the columns")
	flags.StringVar(&pattern, "run", "", "regular expression; only cases whose ids match are run")
	flags.StringVar(&redis, "redis", "process", "server for each column: container[:image] or process[:path]")
	flags.StringVar(&out, "out", filepath.Join("recordings", "MATRIX.md"), "file for the table")
	flags.StringVar(&into, "into", "", "file with a table, in which the columns take their places, instead of --out")
	flags.IntVar(&plan.Parallel, "parallel", 2, "columns that run at once")
	flags.DurationVar(&plan.ColumnTimeout, "timeout", 20*time.Minute, "most that a column may take")
	return cmd
}

func writeMatrix(path string, m *matrix.Matrix) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return m.WriteMarkdown(f)
}

// insertMatrix puts columns into a table whole or not at all.
func insertMatrix(path string, m *matrix.Matrix) error {
	table, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--into: %w", err)
	}
	text, err := m.InsertInto(string(table))
	if err != nil {
		return fmt.Errorf("--into %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return fmt.Errorf("--into: %w", err)
	}
	return os.Rename(path+".new", path)
}
