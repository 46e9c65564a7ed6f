package harness

import (
	"context"
	"io"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// VerifyOptions say how a port is judged. The zero value judges it as the newest Redisson by its effects, on a server
// program of its own.
type VerifyOptions struct {
	// Release is the Redisson release to behave as, such as "3.16.6"; empty for the newest.
	Release string
	// Level is state, exchange or wire, as of dq-bench verify; empty for state.
	Level string
	// Run is a regular expression for the ids of cases; empty for all.
	Run string
	// Redis is an address, or process, which is the default, or container; as --redis of dq-bench verify.
	Redis string
}

// Report is the result of the cases and the rules. Text is for people; WriteJSON is the document of dq-bench verify --json.
type Report = conformance.Report

// Verify judges a port of delayed queues in this process, for its own tests: serve is the method Serve of a serve.Port.
// An error means that the port or the server could not be had; what the port does wrong is in the report.
func Verify(ctx context.Context, serve func(in io.Reader, out io.Writer) error, o VerifyOptions) (*Report, error) {
	plan := &conformance.Plan{
		Redis: "process", Level: conformance.State, Release: wire.Newest(), Notice: func(string) {}, Finished: func(conformance.Result) {},
		Start: func(ctx context.Context) (program.Program, error) { return program.Local(ctx, "port", serve) },
	}
	var err error
	if o.Redis != "" {
		plan.Redis = o.Redis
	}
	if o.Level != "" {
		if plan.Level, err = conformance.ParseLevel(o.Level); err != nil {
			return nil, err
		}
	}
	if o.Release != "" {
		if plan.Release, err = wire.LookupRelease(o.Release); err != nil {
			return nil, err
		}
	}
	keep, err := conformance.Compile(o.Run)
	if err != nil {
		return nil, err
	}
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	if err != nil {
		return nil, err
	}
	if plan.Level == conformance.State {
		beyond, err := conformance.Load(scenarios.Conformance, "beyond")
		if err != nil {
			return nil, err
		}
		sections = append(sections, beyond...)
	}
	plan.Cases = conformance.Select(sections, keep)
	if plan.Oracle, err = conformance.LoadOracle(recordings.Redisson(), "."); err != nil {
		return nil, err
	}
	return plan.Run(ctx)
}
