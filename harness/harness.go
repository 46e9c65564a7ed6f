// Package harness is the whole of dq-bench behind one function, and the judge of ports for their own tests.
package harness

import (
	"cmp"
	"context"
	"io"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/cli"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	_ "github.com/dq-bench/dq-bench/internal/redis/container" // --redis container
	"github.com/dq-bench/dq-bench/recordings"
)

// Main runs one command line of dq-bench, without the program's name. It returns the exit code:
// 0 fine, 1 the environment or an input file cannot serve, 2 wrong usage, 99 the thing under test
// failed. The first SIGINT, SIGTERM or SIGHUP ends the command in order; the second ends the process.
func Main(args []string, in io.Reader, out, err io.Writer) int {
	return cli.Execute(args, in, out, err)
}

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

// Verify judges a port of delayed queues in this process, for its own tests: serve is the method Serve of a serve.Port, and
// may run twice at a time. An error means that the port or the server could not be had; the report has what the port does wrong.
func Verify(ctx context.Context, serve func(in io.Reader, out io.Writer) error, o VerifyOptions) (*Report, error) {
	level, err1 := conformance.ParseLevel(cmp.Or(o.Level, string(conformance.State)))
	release, err2 := wire.LookupRelease(cmp.Or(o.Release, wire.Newest().String()))
	plan := &conformance.Plan{
		Redis: cmp.Or(o.Redis, "process"), Level: level, Release: release, Oracle: conformance.NewOracle(recordings.Releases(), recordings.Redisson), Notice: func(string) {}, Finished: func(conformance.Result) {},
		Start: func(ctx context.Context) (program.Program, error) { return program.Local(ctx, "port", serve) },
	}
	if err := cmp.Or(err1, err2, cli.Cases(plan, o.Run, level)); err != nil {
		return nil, err
	}
	return plan.Run(ctx)
}
