package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// conformanceFlags are those that verify and record share.
type conformanceFlags struct {
	drivers []string
	release string
	run     string
	redis   string
	verbose bool
}

// mostFailures is how many cases in a row fail alike before a run without --verbose stops.
const mostFailures = 10

func (f *conformanceFlags) register(cmd *cobra.Command) {
	flags := flagsOf(cmd)
	flags.list(&f.drivers, "driver", "dq")
	flags.str(&f.release, "release", "")
	flags.str(&f.run, "run", "")
	flags.str(&f.redis, "redis", "auto")
	flags.more("redis", ", or auto, process[:PATH], container[:IMAGE]")
	_ = flags.SetAnnotation("redis", ignoredKinds, []string{"embedded"})
	flags.yes(&f.verbose, "verbose")
}

// plan turns the flags into a run that only lacks its oracle. At the level state it has cases that no recording judges.
func (f *conformanceFlags) plan(cmd *cobra.Command, level string) (*conformance.Plan, error) {
	if len(f.drivers) != 1 && len(f.drivers) != 2 {
		return nil, usageError(fmt.Errorf("--driver: expected the driver to judge, and perhaps one beside it, got %d", len(f.drivers)))
	}
	var specs []spec.Program
	for _, driver := range f.drivers {
		parsed, err := spec.ParseProgram(driver)
		if err != nil {
			return nil, usageError(err)
		}
		specs = append(specs, parsed)
	}
	driver := specs[0]
	if _, err := redis.Parse(f.redis); err != nil {
		return nil, usageError(err)
	}
	if err := checkOneReal(f.redis); err != nil {
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
	for folder, more := range map[string]bool{"beside": len(specs) == 2, "beyond": level == string(conformance.State)} {
		if !more {
			continue
		}
		others, err := conformance.Load(scenarios.Conformance, folder)
		if err != nil {
			return nil, err
		}
		sections = append(sections, others...)
	}
	stderr := cmd.ErrOrStderr()
	plan := &conformance.Plan{
		Spec: driver, Redis: f.redis, MaxFailures: mostFailures, Cases: conformance.Select(sections, keep),
		Notice: func(s string) { fmt.Fprintln(stderr, s) },
	}
	if len(specs) == 2 {
		plan.Beside = &specs[1]
	}
	plan.Finished = progressOf(stderr, len(plan.Cases), f.verbose)
	if f.verbose {
		plan.Log, plan.MaxFailures = stderr, 0
	}
	if len(plan.Cases) == 0 {
		return nil, usageError(fmt.Errorf("--run %q matches none of the cases", f.run))
	}
	if f.release != "" {
		release, err := wire.LookupRelease(f.release)
		if err != nil {
			return nil, usageError(fmt.Errorf("--release: %w", err))
		}
		named, ok := driver.NamedRelease()
		given := cmd.Flags().Changed
		switch {
		case !ok || named == release || given("release") && !given("driver"):
		case !given("release"): // it is a default, and the driver names its own
			release = named
		default:
			return nil, usageError(fmt.Errorf("--driver %s names another release than --release %s; leave --release out, or have both name the same", f.drivers[0], release))
		}
		plan.Release, plan.Spec = release, driver.WithRelease(release)
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

// sharedServerHelp is the promise of verify, record and replay for a shared server.
const sharedServerHelp = `An external server must hold no keys and no cached scripts, and have no other client. If another client comes,
the run stops with exit code 1 and deletes nothing further. The user needs all keys and channels, MONITOR,
SCRIPT FLUSH, MULTI, DEL and SCAN.`

func newVerifyCmd() *cobra.Command {
	var f conformanceFlags
	var out verificationOutput
	var level, baseline string
	var random int
	var most time.Duration
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Run the conformance cases against a driver",
		Long: `Runs the steps of every conformance case with an implementation, and compares its replies, keys and commands
with a recording of the real Redisson of that release, or of the nearest release with the same scripts.
--level wire: the same commands, byte for byte but for random ids and clocks. exchange: the same calls and
changes. state: the same replies, keys, order of delivery and atomicity. Cases that need an operation or
codec missing from the program's hello reply are skipped. A second --driver shares queues with the first, in cases
of two. --random draws histories, judged by the rules and against dq as Redisson does it on a second server. A case of --baseline that passes is a failure too.

` + sharedServerHelp + `

Exit codes: 1 the program cannot be started; 99 a case failed, or nothing was judged.`,
		Example: `  dq-bench verify --driver dq:3.16.6
  dq-bench verify --driver exec:./my-port --level state --baseline known.yaml --report v.html
  dq-bench verify --driver exec:./my-port --driver redisson:4.7.0 --level state --run SHARED`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, err := f.plan(cmd, level)
			if err != nil {
				return err
			}
			if plan.Oracle, err = conformance.LoadOracle(recordings.Redisson(), "."); err != nil {
				return err
			}
			if plan.Level, err = conformance.ParseLevel(level); err != nil {
				return usageError(err)
			}
			if cmd.Flags().Changed("random") {
				return verifyRandom(cmd, plan, random, most)
			}
			if baseline != "" {
				if plan.Baseline, err = readBaseline(baseline); err != nil {
					return err
				}
			}
			if out.baseline != "" {
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
	flags := flagsOf(cmd)
	flags.str(&level, "level", string(conformance.Wire))
	flags.str(&baseline, "baseline", "")
	flags.num(&random, "random", 0)
	flags.span(&most, "for", 0)
	flags.str(&out.baseline, "write-baseline", "")
	flags.reported(&out.reports)
	flags.yes(&out.json, "json")
	return cmd
}

// verifyRandom runs drawn histories: so many, or for a time.
func verifyRandom(cmd *cobra.Command, plan *conformance.Plan, n int, most time.Duration) error {
	ctx := cmd.Context()
	if most > 0 {
		bounded, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		ctx = bounded
	}
	if n < 0 || n == 0 && most == 0 {
		return usageError(fmt.Errorf("--random: expected 1 or more, or 0 and a time --for, got %d", n))
	}
	plan.Cases = nil
	failed, histories, err := plan.Random(ctx, uint64(n))
	switch {
	case err != nil:
		return subjectAtFault(err)
	case failed != "":
		fmt.Fprint(cmd.OutOrStdout(), text.Inert(failed))
		return failure(fmt.Errorf("random history %d is not as Redisson's", histories))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d random histories: no statement broken\n", histories)
	return nil
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
	json     bool
	baseline string
	reports  []string
}

// check finds out before the first case whether the files can be written.
func (o *verificationOutput) check() error {
	if err := checkWritable("--write-baseline", o.baseline); err != nil {
		return err
	}
	return reports(o.reports).check()
}

func (o *verificationOutput) print(w io.Writer, report *conformance.Report) error {
	errs := []error{reports(o.reports).write(report.Page())}
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
