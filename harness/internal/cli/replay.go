package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/replay"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/spf13/cobra"
)

func newReplayCmd() *cobra.Command {
	var server string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Send a recording's commands to a server and check the resulting keys",
		Long: `Sends the commands of each MONITOR log to a server, one connection for each recorded client. Compares the
server's own MONITOR with the recording line by line, and the keys at the end.

A server started for it is emptied before each file. CONFIG, FLUSHALL and other commands beyond the
recording's keys are never sent.

` + sharedServerHelp + `

Exit codes: 1 a file or the server cannot be used; 99 they differ.`,
		Example: `  dq-bench replay recordings/documents/*.monitor
  dq-bench replay --redis redis://localhost:6379 production.monitor`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := checkByTCP(server); err != nil {
				return err
			}
			files, remove, err := unpackRecorded(files)
			if err != nil {
				return err
			}
			defer remove()
			plans, err := replayPlans(files)
			if err != nil {
				return err
			}
			notice := func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }
			results, srv, err := replayAll(cmd.Context(), server, notice, plans)
			if err != nil {
				return err
			}
			if err := printReplay(cmd.OutOrStdout(), asJSON, srv, results); err != nil {
				return err
			}
			return replayVerdict(results)
		},
	}
	flags := flagsOf(cmd)
	flags.str(&server, "redis", "auto")
	flags.more("redis", startedServers)
	flags.yes(&asJSON, "json")
	return cmd
}

// replayPlans reads every file before a server is started, and names all that
// cannot be used.
func replayPlans(files []string) ([]*replay.Plan, error) {
	var plans []*replay.Plan
	var errs []error
	for _, file := range files {
		tree, err := monitor.ReadTree(file)
		errs = append(errs, err)
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			if tree[name] == nil {
				continue
			}
			plan, err := replay.NewPlan(tree[name])
			errs = append(errs, err)
			plans = append(plans, plan)
		}
	}
	return plans, errors.Join(errs...)
}

func replayAll(ctx context.Context, spec string, notice func(string), plans []*replay.Plan) (_ []*replay.Result, _ *redis.Server, err error) {
	srv, err := redis.Start(ctx, spec, notice)
	if err != nil {
		var bad *redis.SpecError
		if errors.As(err, &bad) {
			return nil, nil, usageError(err)
		}
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	target := replay.Target{URL: srv.URL(), Own: srv.How != "external"}
	var results []*replay.Result
	for _, plan := range plans {
		result, err := replay.Run(ctx, target, plan)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", plan.Recording.Path, err)
		}
		results = append(results, result)
	}
	return results, srv, nil
}

// replayDocument is what `replay --json` prints.
type replayDocument struct {
	Schema string           `json:"schema"`
	Server replayServer     `json:"server"`
	Files  []*replay.Result `json:"files"`
}

// replayServer is the server that recordings were sent to.
type replayServer struct {
	Product string `json:"product"`
	Version string `json:"version"`
	// How says where it runs, as people read it.
	How string `json:"how"`
}

func printReplay(w io.Writer, asJSON bool, srv *redis.Server, results []*replay.Result) error {
	if !asJSON {
		for _, r := range results {
			if _, err := io.WriteString(w, text.Inert(r.Text())); err != nil {
				return err
			}
		}
		return nil
	}
	return printJSON(w, replayDocument{"dq-bench/replay/v1", replayServer{srv.Product, srv.Version, srv.How}, results})
}

func replayVerdict(results []*replay.Result) error {
	different := 0
	for _, r := range results {
		if !r.Identical {
			different++
		}
	}
	if different > 0 {
		return failure(fmt.Errorf("%d of %d recordings differ from what the server does", different, len(results)))
	}
	return nil
}
