package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/server"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// conformanceFlags are those that verify and record share.
type conformanceFlags struct {
	driver  string
	release string
	run     string
	redis   string
	verbose bool
	most    int
}

func (f *conformanceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.driver, "driver", "dq", "implementation: "+program.Forms)
	flags.StringVar(&f.release, "release", "", "Redisson release to behave as, of a --driver that names none (default: the newest, or what the program says)")
	flags.StringVar(&f.run, "run", "", "regular expression; only cases whose ids match are run")
	flags.StringVar(&f.redis, "redis", "auto", "server: auto, container[:image], process[:path], redis://…, redis+cluster://… or redis+sentinel://…, by TLS rediss://… and so on")
	flags.IntVar(&f.most, "max-failures", 10, "stop once so many cases in a row have failed alike, or the program in so many, or was silent in half as many; 0 for never")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print each case as it ends, and what an external program writes to stderr")
}

// plan turns the flags into a run that only lacks its oracle.
func (f *conformanceFlags) plan(cmd *cobra.Command) (*conformance.Plan, error) {
	spec, err := program.Parse(f.driver)
	if err != nil {
		return nil, usageError(err)
	}
	if err := server.CheckSpec(f.redis); err != nil {
		return nil, usageError(err)
	}
	if err := checkByTCP(f.redis); err != nil {
		return nil, err
	}
	keep, err := conformance.Compile(f.run)
	if err != nil {
		return nil, usageError(err)
	}
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	if err != nil {
		return nil, err
	}
	stderr := cmd.ErrOrStderr()
	plan := &conformance.Plan{
		Spec: spec, Redis: f.redis, MaxFailures: f.most, Cases: conformance.Select(sections, keep),
		Notice: func(s string) { fmt.Fprintln(stderr, s) },
	}
	plan.Finished = progressOf(stderr, len(plan.Cases), f.verbose)
	if f.verbose {
		plan.Log = stderr
	}
	if f.most < 0 {
		return nil, usageError(fmt.Errorf("--max-failures: expected 0 or more, got %d", f.most))
	}
	if len(plan.Cases) == 0 {
		return nil, usageError(fmt.Errorf("--run %q matches none of the cases", f.run))
	}
	if f.release != "" {
		release, err := wire.LookupRelease(f.release)
		if err != nil {
			return nil, usageError(fmt.Errorf("--release: %w", err))
		}
		named, ok := spec.NamedRelease()
		given := cmd.Flags().Changed
		switch {
		case !ok || named == release || given("release") && !given("driver"):
		case !given("release"): // it is a default, and the driver names its own
			release = named
		default:
			return nil, usageError(fmt.Errorf("--driver %s names another release than --release %s; leave --release out, or have both name the same", f.driver, release))
		}
		plan.Release, plan.Spec = release, spec.WithRelease(release)
	}
	return plan, nil
}

// progressEvery is how often it is said how far a run is.
const progressEvery = 5 * time.Second

// progressOf prints results as printProgress does, and how far the run is where these say it too
// seldom.
func progressOf(stderr io.Writer, cases int, verbose bool) func(conformance.Result) {
	done, last := 0, time.Now()
	return func(r conformance.Result) {
		printProgress(stderr, r, verbose)
		done++
		if !verbose && time.Since(last) >= progressEvery && done < cases {
			fmt.Fprintf(stderr, "%d of %d cases\n", done, cases)
			last = time.Now()
		}
	}
}

func printProgress(w io.Writer, r conformance.Result, verbose bool) {
	failed := r.Status == conformance.Fail || r.Status == conformance.Error
	switch {
	case failed && verbose:
		fmt.Fprint(w, text.Inert(r.Text()))
	case failed || verbose:
		fmt.Fprintln(w, text.Inert(r.Line()))
	}
}

// sharedServerHelp is what verify and record promise to everybody on a server.
const sharedServerHelp = `A server started for the run is emptied before each case. An external one must
hold no keys and no cached scripts, and have no other client. Keys are deleted
there only if the run made them, CLIENT KILL ends only its own connections, and
SCRIPT FLUSH drops only its own scripts. When a key, a command or a client of
somebody else is seen, the run stops with exit code 1 and deletes nothing more. An
element that somebody else pushes into a queue of a running case may be taken by
that case before it is seen; the run then stops too, and names the command.
The program reaches an external server through 127.0.0.1, where dq-bench listens
to know its connections, and which speaks TLS for it. Of a Cluster each case is run on the
master that has its keys, behind sentinels on the master, whose address the program gets:
that it follows when they change is not judged. The user must be allowed all keys and channels and, besides
what the release sends, DEL, WATCH, MULTI, INFO, SCAN, TYPE, LRANGE, ZRANGE, PTTL,
SCRIPT FLUSH, MONITOR and CLIENT INFO; CLIENT LIST should be. A right that is missing
ends the run with exit code 1, mostly before the first case.`

func newVerifyCmd() *cobra.Command {
	var f conformanceFlags
	var out verificationOutput
	var level, baseline string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Run the conformance cases against a driver",
		Long: `Verify does the steps of every conformance case with an implementation, and
compares its replies, the keys it leaves and every command that the server saw
with what the real Redisson of that release was recorded to do. A release
without recordings is judged by those of the nearest one that sends the same scripts,
earlier ones first, and its script texts by the catalogue; the last line says by what. Due times and the clocks of
transfers are judged by the calls that made them, on one host to the millisecond.

How like Redisson it must be, --level says:

  wire      the same commands, byte for byte but for random ids and clocks
  exchange  the same calls with the same changes: how a command or a script is written
            does not matter, nor the order in which a script changes different keys, nor
            what is read besides
  state     the same replies, keys and order of delivery; what Redisson changes at once
            is changed at once, and nothing is delivered before it is due

How late a transfer comes is not judged, but for the cases' own time limits: dq-bench run
measures it. A case that needs an operation or a codec which the program does not name in
answer to hello is skipped. A program that ends, or does not answer, fails the case, and is started
anew for the next. Failures are grouped by cause at the end, with the statements of the
specification, docs/spec, that the first case of each shows; after --max-failures alike
in a row the run stops.

--baseline names a YAML file of cases that are known to fail, "id: reason" on each line.
They must fail: one that passes is a failure too. --write-baseline writes such a file from
what failed in this run; an old reason stays.

` + sharedServerHelp + `

Exit codes: 0 all passed; 1 the environment cannot serve, or the program cannot be
started or does not introduce itself; 2 no such release, or a bad pattern; 99 a case
failed, nothing was judged, or the program cannot be used.`,
		Example: `  dq-bench verify --driver dq:3.16.6
  dq-bench verify --driver redisson:4.7.0 --run '^DQ.offer/'
  dq-bench verify --driver 'exec:node driver.js' --release 3.50.0 --json
  dq-bench verify --driver exec:./my-port --level exchange --html out/verify.html
  dq-bench verify --driver exec:./my-port --baseline known.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := f.plan(cmd)
			if err != nil {
				return err
			}
			if plan.Oracle, err = conformance.LoadOracle(recordings.Files, "redisson"); err != nil {
				return err
			}
			if plan.Level, err = conformance.ParseLevel(level); err != nil {
				return usageError(err)
			}
			if baseline != "" {
				if plan.Baseline, err = readBaseline(baseline); err != nil {
					return err
				}
			}
			if out.baseline != "" && !cmd.Flags().Changed("max-failures") {
				plan.MaxFailures = 0 // a file of half of them would not be one
			}
			if err := out.check(); err != nil {
				return err
			}
			report, err := plan.Run(cmd.Context())
			stopped := errors.Is(err, conformance.ErrServerInUse) || errors.Is(err, conformance.ErrForbidden)
			if errors.Is(err, context.Canceled) && !stopped {
				err = fmt.Errorf("interrupted; what the run had made on the server is removed: %w", err)
			}
			if err != nil && report == nil {
				return subjectAtFault(err)
			}
			if err != nil {
				out.baseline = "" // what was not run is not known
			}
			err = errors.Join(err, out.print(cmd.OutOrStdout(), report))
			if stopped {
				return err // a run that was stopped is no verdict
			}
			return errors.Join(err, conformanceVerdict(report))
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&level, "level", string(conformance.Wire), "how like Redisson: wire, exchange or state")
	flags.StringVar(&baseline, "baseline", "", "YAML file of cases that are known to fail, and must")
	flags.StringVar(&out.baseline, "write-baseline", "", "write the cases that fail to this file, as a baseline; runs all unless --max-failures is given")
	flags.StringVar(&out.junit, "junit", "", "also write the results to this file, as JUnit XML")
	flags.StringVar(&out.page, "html", "", "also write the results to this file, as a page for the browser")
	flags.BoolVar(&out.json, "json", false, "print one JSON document on stdout and nothing else")
	return cmd
}

// readBaseline reads a baseline of any of the cases, also of those that --run leaves out.
func readBaseline(path string) (conformance.Baseline, error) {
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	if err != nil {
		return nil, err
	}
	return conformance.ReadBaseline(path, conformance.Select(sections, nil))
}

// verificationOutput is where a report goes; an empty file name is for none.
type verificationOutput struct {
	json                  bool
	junit, page, baseline string
}

// check finds out before the first case whether the files can be written.
func (o *verificationOutput) check() error {
	seen := map[string]string{}
	for _, file := range []struct{ flag, name string }{{"--junit", o.junit}, {"--html", o.page}, {"--write-baseline", o.baseline}} {
		if file.name == "" {
			continue
		}
		path := filepath.Clean(file.name)
		if other, taken := seen[path]; taken {
			return usageError(fmt.Errorf("%s and %s name the same file, %s: one would overwrite the other", other, file.flag, file.name))
		}
		seen[path] = file.flag
		if err := checkWritable(file.flag, file.name); err != nil {
			return err
		}
	}
	return nil
}

func (o *verificationOutput) print(w io.Writer, report *conformance.Report) error {
	var errs []error
	if o.junit != "" {
		errs = append(errs, writeJUnit(o.junit, report))
	}
	if o.page != "" {
		errs = append(errs, named("--html", page.WriteVerificationFile(o.page, report)))
	}
	if o.baseline != "" {
		content, err := report.Baseline().Text()
		if err == nil {
			err = run.WriteWhole(o.baseline, content)
		}
		errs = append(errs, named("--write-baseline", err))
	}
	if o.json {
		return errors.Join(append(errs, report.WriteJSON(w))...)
	}
	_, err := io.WriteString(w, text.Inert(report.Text()))
	return errors.Join(append(errs, err)...)
}

func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

func writeJUnit(path string, report *conformance.Report) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return report.WriteJUnit(f)
}

// subjectAtFault makes exit code 99 of what the program under test did wrong before the
// first case.
func subjectAtFault(err error) error {
	var broken *conformance.ProgramError
	if errors.As(err, &broken) {
		return failure(err)
	}
	return err
}

// conformanceVerdict makes failures exit code 99. Errors alone are the
// environment's.
func conformanceVerdict(report *conformance.Report) error {
	switch {
	case report.Counts.Fail > 0:
		return failure(fmt.Errorf("%d of %d cases failed", report.Counts.Fail, len(report.Cases)))
	case report.Counts.Error > 0:
		return fmt.Errorf("%d of %d cases could not be judged", report.Counts.Error, len(report.Cases))
	case report.Counts.Pass+report.Counts.FailedAsExpected == 0:
		return failure(fmt.Errorf("nothing was judged: all %d cases were skipped; the program names no operation, or no codec, that one of them needs", len(report.Cases)))
	}
	return nil
}
