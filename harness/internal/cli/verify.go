package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// casesCall is a call of verify or record.
type casesCall struct {
	*call
	drivers             []string
	release, id         string
	verbose, ofServer   bool // ofServer: the server is judged, which may be an imitation
	baseline, writeBase string
}

const (
	mostFailures  = 10              // cases in a row that fail alike, before a run without --verbose stops
	progressEvery = 5 * time.Second // between two lines about how far a run is
)

func newCases(name string) *casesCall {
	v := &casesCall{call: newCall(name, noArgs)}
	v.list(&v.drivers, "driver", "dq")
	v.str(&v.release, "release", "")
	v.str(&v.id, "run", "")
	v.str(&v.redis, "redis", "auto")
	v.more("redis", startedServers)
	_ = v.Flags().SetAnnotation("redis", ignoredKinds, []string{"embedded"})
	v.yes(&v.verbose, "verbose")
	return v
}

// plan turns the flags into a run that only lacks its oracle. At the level state it has cases that no recording judges.
func (v *casesCall) plan(level string) (*conformance.Plan, error) {
	if len(v.drivers) != 1 && len(v.drivers) != 2 {
		return nil, usageError(fmt.Errorf("--driver: expected the driver to judge, and perhaps one beside it, got %d", len(v.drivers)))
	}
	plan := &conformance.Plan{Redis: v.redis, Server: v.ofServer, MaxFailures: mostFailures, Notice: func(s string) { v.notice("%s", s) }}
	for i, driver := range v.drivers {
		parsed, err := spec.ParseProgram(driver)
		switch {
		case err != nil:
			return nil, usageError(err)
		case i == 0:
			plan.Spec = parsed
		default:
			plan.Beside = &parsed
		}
	}
	if err := checkOneReal(v.redis); err != nil && (!v.ofServer || v.redis != "embedded") {
		return nil, err
	}
	if err := Cases(plan, v.id, conformance.Level(level)); err != nil {
		return nil, err
	}
	if len(plan.Cases) == 0 {
		return nil, usageError(fmt.Errorf("--run %q matches none of the cases; see --verbose for their names", v.id))
	}
	plan.Finished = v.progress(len(plan.Cases))
	if v.verbose {
		plan.Log, plan.MaxFailures = v.ErrOrStderr(), 0
	}
	if v.release == "" {
		return plan, nil
	}
	release, err := wire.LookupRelease(v.release)
	if err != nil {
		return nil, usageError(named("--release", err))
	}
	switch {
	case !plan.Spec.NamesRelease() || plan.Spec.Release == release || v.given("release") && !v.given("driver"):
	case !v.given("release"): // it is a default, and the driver names its own
		release = plan.Spec.Release
	default:
		return nil, usageError(fmt.Errorf("--driver %s names another release than --release %s; leave --release out, or have both name the same", v.drivers[0], release))
	}
	plan.Release, plan.Spec.Release = release, release
	return plan, nil
}

// Cases gives a plan the cases of a level whose ids match a regular expression, and in plan.All all cases.
func Cases(plan *conformance.Plan, ids string, level conformance.Level) error {
	runs := map[string]bool{"conformance": true, "beyond": level != "", "beside": plan.Beside != nil}
	for _, folder := range []string{"conformance", "beyond", "beside"} {
		cases, err := conformance.Load(scenarios.Conformance, folder)
		if err != nil {
			return err
		}
		plan.All = append(plan.All, cases...)
		if runs[folder] {
			plan.Cases = append(plan.Cases, cases...)
		}
	}
	cases, err := conformance.Matching(plan.Cases, ids)
	if plan.Cases = cases; err != nil {
		return usageError(err)
	}
	return nil
}

// progress prints failures, with --verbose each case, and how far the run is where these say it too seldom.
func (v *casesCall) progress(cases int) func(conformance.Result) {
	done, last := 0, time.Now()
	return func(r conformance.Result) {
		done++
		failed := r.Status == conformance.Fail || r.Status == conformance.Error
		switch {
		case failed && v.verbose:
			fmt.Fprint(v.ErrOrStderr(), text.Inert(r.Text()))
		case failed || v.verbose:
			v.notice("%s", text.Inert(r.Line()))
		}
		if !v.verbose && time.Since(last) >= progressEvery && done < cases {
			v.notice("%d of %d cases", done, cases)
			last = time.Now()
		}
	}
}

func newVerify() *call {
	v := newCases("verify")
	var level, subject string
	var random int
	var most time.Duration
	v.str(&level, "level", string(conformance.Wire))
	v.str(&subject, "subject", "driver")
	v.str(&v.baseline, "baseline", "")
	v.num(&random, "random", 0)
	v.span(&most, "for", 0)
	v.str(&v.writeBase, "write-baseline", "")
	v.prints(true)
	return v.does(func([]string) error {
		switch v.ofServer = subject == "server"; {
		case !v.ofServer && subject != "driver":
			return usageError(fmt.Errorf("--subject %q: expected driver or server", subject))
		case v.ofServer && v.given("level") && level != string(conformance.State):
			return usageError(fmt.Errorf("--subject server: a server is judged at the level state, got --level %s", level))
		case v.ofServer:
			level = string(conformance.State)
		}
		plan, err := v.plan(level)
		if err != nil {
			return err
		}
		plan.Oracle = conformance.NewOracle(recordings.Releases(), recordings.Redisson)
		if plan.Level, err = conformance.ParseLevel(level); err != nil {
			return usageError(err)
		}
		if v.given("for") && !v.given("random") {
			return usageError(errors.New("--for bounds --random: expected both"))
		}
		for _, other := range []string{"json", "report", "run", "baseline", "write-baseline"} {
			if v.given("random") && v.given(other) {
				return usageError(fmt.Errorf("--random draws histories and prints the first that fails: --%s does not go with it", other))
			}
		}
		if v.given("random") {
			return v.random(plan, random, most)
		}
		return v.judge(plan)
	})
}

func (v *casesCall) judge(plan *conformance.Plan) error {
	var old conformance.Baseline // the file that is written anew
	var err1, err2 error
	if v.baseline != "" {
		plan.Baseline, err1 = conformance.ReadBaseline(v.Context(), v.baseline, plan.All)
	}
	if _, missing := os.Stat(v.writeBase); v.writeBase != "" && missing == nil {
		old, err2 = conformance.ReadBaseline(v.Context(), v.writeBase, plan.All)
	}
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	if v.writeBase != "" {
		plan.MaxFailures = 0 // a file of half of them would not be one
	}
	if err := checkWritable("--write-baseline", v.writeBase); err != nil {
		return err
	}
	report, err := plan.Run(v.Context())
	stopped := errors.Is(err, trace.ErrServerInUse) || errors.Is(err, conformance.ErrForbidden)
	if errors.Is(err, context.Canceled) && !stopped {
		err = fmt.Errorf("interrupted; what the run had made on the server is removed: %w", err)
	}
	if err != nil && report == nil {
		return subjectAtFault(err)
	}
	if err == nil && v.writeBase != "" { // after an error, not all cases are known
		err = named("--write-baseline", run.WriteWhole(v.writeBase, report.Baseline(old).Text()))
	}
	err = errors.Join(err, v.report(report.Page()))
	if v.json {
		err = errors.Join(err, report.WriteJSON(v.OutOrStdout()))
	} else {
		fmt.Fprint(v.OutOrStdout(), text.Inert(report.Text()))
	}
	if stopped {
		return err // a run that was stopped is no verdict
	}
	return errors.Join(err, conformanceVerdict(report))
}

// random runs drawn histories: so many, or for a time.
func (v *casesCall) random(plan *conformance.Plan, n int, most time.Duration) error {
	ctx, cancel := context.WithTimeout(v.Context(), cmp.Or(max(most, 0), math.MaxInt64))
	defer cancel()
	if n < 0 || n == 0 && most == 0 {
		return usageError(fmt.Errorf("--random: expected 1 or more, or 0 and a time --for, got %d", n))
	}
	plan.Cases = nil
	shrunk, histories, err := plan.Random(ctx, uint64(n))
	switch {
	case err != nil:
		return subjectAtFault(err)
	case shrunk != "":
		fmt.Fprint(v.OutOrStdout(), text.Inert(shrunk))
		return failed(true, "random history %d is not as Redisson's", histories)
	}
	fmt.Fprintf(v.OutOrStdout(), "%d random histories: no statement broken\n", histories)
	return nil
}

// subjectAtFault makes exit code 99 of a fault of the program under test before the first case.
func subjectAtFault(err error) error {
	return cmp.Or(failed(errors.As(err, new(*conformance.ProgramError)), "%w", err), err)
}

// conformanceVerdict makes failures exit code 99. Errors without a failure are the environment's.
func conformanceVerdict(report *conformance.Report) error {
	switch {
	case report.Counts.Fail > 0:
		return failed(true, "%d of %d cases failed", report.Counts.Fail, len(report.Cases))
	case report.Counts.Error > 0:
		return fmt.Errorf("%d of %d cases could not be judged", report.Counts.Error, len(report.Cases))
	case report.Counts.Pass+report.Counts.FailedAsExpected == 0:
		return failed(true, "nothing was judged: all %d cases were skipped; the program names no operation, or no codec, that one of them needs", len(report.Cases))
	}
	return nil
}

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
