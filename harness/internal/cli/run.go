package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/scenario"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/internal/text"
)

// runFlags are the flags of 'dq-bench run' as they were given.
type runFlags struct {
	out, progress, percentiles, table string

	redis    []string
	drivers  []string
	files    []string
	variants []string
	plan     plan.Plan
	slos     []string
	labels   []string
	scale    float64
	repeat   int
	full     bool
	json     bool
	force    bool

	overProtocol bool
	beside       bool
	shared       shareFlags

	// changed tells which flags were given, by the command line or environment.
	changed func(flag string) bool
}

// runRequest is what the flags ask for, all of it found valid.
type runRequest struct {
	cases     []series.Case
	repeat    int
	quantiles []float64
	options   series.Options
}

func newRunCmd() *cobra.Command {
	f := &runFlags{plan: plan.DefaultPlan()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Load a delay queue and measure lateness",
		Long: `Run offers messages at a fixed rate, takes them when they come, and accounts for
every one: lateness (delivered - due), offer round trip, schedule lag, and what
was lost, duplicated, early or left pending.

The load is open: message i is sent at start + i/rate, plus up to a millisecond of
its own, whatever became of those before it. The first interrupt, or the button of the page that
--web serves, stops the offers, drains what is due and still reports: what ran, of several runs
those that there are, is judged, its pages are written, and the exit code is that of the
judgement. The second interrupt ends at once.

A server that refuses connections for two fifths of --drain-timeout, or does not answer for 30s, ends
the run; sentinels and a cluster have a minute for another master, while any of them takes connections.
The run is invalid then, and messages that did not come count as unknown: nobody can tell what became of
them. Where a scenario breaks the server by its faults, it is waited for.

-f takes the plan from a scenario, by name or file; flags override it. See
'dq-bench scenarios'.

With several --driver, or --repeat, the runs are interleaved (A B B A ...), each on
a fresh server, and end in a comparison with the first driver. A comparison that
comes out worse is no failure here: that is for 'dq-bench compare' to say.

--beside has the drivers run at the same time instead, each on a server of its own: once
all are warm they begin at one instant, and what is compared is how those of a pair
differ. On a machine that others use as well this finds what turns cannot. The sides
share the processors, so the rate must leave room for all; progress and metrics are
those of the first.

Several processes or hosts split one load with --worker i/n: producers, consumers
and messages go to them in turn, and any of them may take any message. They agree
on the beginning by --start-at, warm up before it if there is time, and end when the
server holds nothing any more. Each of them alone exits with 0: 'dq-bench merge'
joins what they wrote, and judges it by the objectives they were given. Clocks are
measured against the server's by TIME, and the difference is stated, not corrected
for.

run.json, report.html, lateness.hlog and lateness.hgrm are written to --out; below
it, to <variant>/<driver>/<n> as far as there are several, and a report.html of
them all to <variant>. A folder that holds runs already is refused: they would be
overwritten, or counted with the new ones.

Exit codes: 0 fine; 1 no such server, queue in use, folder used or not writable; 2
wrong usage; 99 a message lost, duplicated, early or overdue, an offer failed, an
SLO missed, what a scenario expects to go wrong did not, or the load that was asked
for was not made, which makes the run invalid.`,
		Example: `  dq-bench run --producers 50 --delay 5s
  dq-bench run -f spring-demo
  dq-bench run -f scenarios/load/upgrade.yaml --variant across
  dq-bench run --driver dq --driver redisson:4.7.0 --repeat 6 --out out/r
  dq-bench run --driver dq:4.7.0,faithful --driver dq --beside --repeat 10 --duration 30s
  dq-bench run --redis redis://localhost:6379 --driver dq:3.16.6 --slo 'lateness.p99<=20ms'
  dq-bench run --redis redis://db:6379 --start-at +10s --worker 2/4 --out out/w/2
  dq-bench run --metrics-addr 127.0.0.1:9090 --duration 1h
  dq-bench run --web 127.0.0.1:0 --duration 10m
  dq-bench run --rate 5000/s --delay 1s..10s --duration 1m --json > run.json`,
		Args: onlyFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			return runLoad(cmd.Context(), f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// onlyFlags refuses arguments; a scenario's name is likely to be meant for -f.
func onlyFlags(cmd *cobra.Command, args []string) error {
	err := noArgs(cmd, args)
	if err == nil {
		return nil
	}
	if name := text.Meant(args[0], scenario.Names()); name != "" {
		return fmt.Errorf("%w; a scenario is run by -f %s", err, name)
	}
	return err
}

func (f *runFlags) register(flags *pflag.FlagSet) {
	for _, field := range plan.Fields {
		if field.Value == nil {
			continue
		}
		flag := flags.VarPF(field.Value(&f.plan), field.Flag(), "", field.Help)
		if flag.DefValue == "0s" {
			flag.DefValue = "" // which the help does not show, as for a flag of pflag's own
		}
	}
	flags.StringArrayVar(&f.redis, "redis", []string{"auto"}, "server, may be repeated to compare: auto, container[:image], process[:path], embedded, redis://…, redis+cluster://…, redis+sentinel://…, by TLS rediss://… and so on, unix:///path of a socket")
	flags.StringArrayVar(&f.drivers, "driver", []string{series.DefaultDriver}, "implementation, may be repeated to compare: "+spec.Forms)
	flags.IntVar(&f.repeat, "repeat", 1, fmt.Sprintf("runs of each driver; %d or more bear a judgement", compare.MinRuns))
	flags.BoolVar(&f.beside, "beside", false, fmt.Sprintf("run the drivers at the same time, each on a server of its own, instead of by turns; %d or more of --repeat bear a judgement", compare.MinPairs))
	flags.StringArrayVarP(&f.files, "file", "f", nil, "scenario: a name that 'dq-bench scenarios' lists, or a YAML file; may be repeated")
	flags.StringArrayVar(&f.variants, "variant", nil, "variant of the scenario; may be repeated")
	flags.BoolVar(&f.full, "full", false, "all variants of the scenario, and its real times: --scale 1")
	flags.Float64Var(&f.scale, "scale", 0, "factor for all times of the scenario, in place of its own")
	flags.BoolVar(&f.overProtocol, "over-protocol", false, "have a program that cannot run the plan by itself make each call of it, which is part of every figure then")
	flags.BoolVar(&f.force, "force", false, "run on a --queue that holds messages, which are taken and counted as foreign")
	flags.StringVar(&f.out, "out", "", "folder of the run files (default out/run-<time>)")
	flags.StringVar(&f.table, "table", "", "file to write a Markdown table of several drivers or servers to, ratios first")
	flags.BoolVar(&f.json, "json", false, "print the run file on stdout and nothing else; of several runs, a list of them")
	flags.StringArrayVar(&f.slos, "slo", nil, "objective such as 'lateness.p99<=20ms', 'lost<=0' or 'delivered==offered'; may be repeated")
	flags.StringArrayVar(&f.labels, "label", nil, "key=value kept in the run file; may be repeated")
	flags.StringVar(&f.percentiles, "percentiles", "50,90,99,99.9", "percentiles of the table")
	f.shared.register(flags)
	flags.StringVar(&f.progress, "progress", "auto", "progress on stderr: auto, plain, none")
}

// settings are the settings of the plan, by their keys: the given ones override a scenario, which overrides the defaults.
func (f *runFlags) settings() (given, defaults map[string]string) {
	given, defaults = map[string]string{}, map[string]string{}
	for _, field := range plan.Fields {
		if field.Value == nil {
			continue
		}
		if value := field.Value(&f.plan).String(); f.changed(field.Flag()) {
			given[field.Key] = value
		} else if standard := plan.DefaultPlan(); value != field.Value(&standard).String() {
			defaults[field.Key] = value
		}
	}
	return given, defaults
}

// cases are what to run, with which drivers, on which servers. What is left out for the
// drivers that are given, stderr says.
func (f *runFlags) cases(stderr io.Writer) ([]series.Case, error) {
	given, defaults := f.settings()
	choice := scenario.Choice{Files: f.files, Variants: f.variants, Full: f.full, Settings: given, Defaults: defaults, SLO: f.slos}
	if len(f.files) == 0 && !f.changed("variant") {
		choice.Variants = nil // a default for scenarios
	}
	if f.changed("scale") {
		choice.Scale = &f.scale
	}
	runs, err := choice.Runs()
	if err != nil {
		return nil, err
	}
	drivers := f.drivers
	if !f.changed("driver") {
		drivers = nil // the scenario's, or else the default
		for i := range runs {
			runs[i].Driver = cmp.Or(runs[i].Driver, f.drivers[0])
		}
	}
	cases, left, err := series.Cases(runs, drivers, f.redis)
	for _, name := range left {
		fmt.Fprintf(stderr, "%s is left out: it names the driver of each member of its fleet, and --driver is given\n", name)
	}
	return cases, err
}

// maxRepeat bounds the runs of each driver: all are known until the last has ended.
const maxRepeat = 10_000

// request checks everything that can be checked without a server. Its errors
// are wrong usage, unless a scenario file cannot be read.
func (f *runFlags) request(stderr io.Writer) (*runRequest, error) {
	r := &runRequest{repeat: f.repeat}
	if f.repeat < 1 || f.repeat > maxRepeat {
		return nil, fmt.Errorf("repeat: expected 1 to %d, got %d", maxRepeat, f.repeat)
	}
	labels, err := series.ParseLabels(f.labels)
	if err != nil {
		return nil, err
	}
	if r.quantiles, err = run.ParseQuantiles(f.percentiles); err != nil {
		return nil, err
	}
	progress, err := progressMode(f.progress, stderr)
	if err != nil {
		return nil, err
	}
	if f.out == "" {
		f.out = filepath.Join("out", "run-"+time.Now().UTC().Format("20060102T150405.000Z"))
	}
	if r.cases, err = f.cases(stderr); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r.options = series.Options{
		Redis: f.redis[0], Out: f.out, Tool: tool(), Labels: labels, Force: f.force, OverProtocol: f.overProtocol,
		Beside: f.beside, Progress: load.ProgressWriter(stderr, progress), Notice: once(stderr),
		Serve: []string{self, "serve-driver"},
	}
	if f.beside {
		if err := series.CheckBeside(r.cases, r.options.Redis); err != nil {
			return nil, err
		}
	}
	if r.options.Share, err = f.shared.share(r); err != nil {
		return nil, err
	}
	return r, series.CheckFaults(r.cases, r.options.Redis, r.options.Share)
}

// once prints each line the first time it comes: a series says it for each run.
func once(w io.Writer) func(string) {
	seen := map[string]bool{}
	return func(line string) {
		if !seen[line] {
			seen[line] = true
			fmt.Fprintln(w, line)
		}
	}
}

func progressMode(text string, stderr io.Writer) (load.ProgressMode, error) {
	switch text {
	case "auto":
		if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
			return load.ProgressLine, nil
		}
		return load.ProgressPlain, nil
	case "plain":
		return load.ProgressPlain, nil
	case "none":
		return load.ProgressNone, nil
	}
	return "", fmt.Errorf("progress: expected auto, plain or none, got %q", text)
}

// runLoad does the runs and reports them.
func runLoad(ctx context.Context, f *runFlags, stdout, stderr io.Writer) (err error) {
	req, err := f.request(stderr)
	if err != nil {
		var unreadable *os.PathError
		if errors.As(err, &unreadable) {
			return err
		}
		return usageError(err)
	}
	tidy, err := run.NewFolder(req.options.Out)
	if err != nil {
		return err
	}
	defer tidy()
	if err := checkWritable("--table", f.table); err != nil { // which may be in that folder
		return err
	}
	req.options.Live = &load.Live{}
	stopMetrics, err := f.shared.serveMetrics(ctx, req.options.Live, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMetrics()) }()
	ctx, pages, err := serveWeb(ctx, f.shared.web, req.options.Live, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pages.close()) }()
	silenceRedis()
	printer := newRunPrinter(f, req, stdout, stderr)
	if err := runCases(ctx, req, printer, pages); err != nil {
		return err
	}
	if err := printer.end(); err != nil {
		return err
	}
	if err := printer.writeTable(f.table, strings.Join(f.labels, ", ")); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "run files in %s\n", req.options.Out)
	return printer.verdict()
}

// runCases does the cases one after the other, and writes the page of them all. An interrupt ends them after the
// one under way, and is an error where nothing ran.
func runCases(ctx context.Context, req *runRequest, printer *runPrinter, pages *webPage) (err error) {
	suite := printer.suite
	defer func() {
		suite.Over(err)
		pages.show(suite)
		if all := suite.Page(); all != nil && all.Cases != nil {
			err = errors.Join(err, all.WriteFile(filepath.Join(req.options.Out, page.File)))
		}
	}()
	for _, c := range req.cases {
		printer.begin(c)
		req.options.Turn = suite.Begin()
		pages.show(suite)
		names := series.Names(c.Sides)
		result, err := series.Do(ctx, req.options, c, req.repeat, func(turn series.Turn, r *run.Document) {
			printer.one(names[turn.Side], turn.N, r)
		})
		if ctx.Err() != nil && errors.Is(err, context.Canceled) && len(printer.runs) > 0 {
			return nil // in a case of which nothing ran, after others
		}
		if err == nil {
			suite.Ended(result)
			err = printer.done(result)
		}
		if err != nil {
			var lacks *driver.CapabilityError
			if errors.As(err, &lacks) {
				return usageError(err)
			}
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// runVerdict turns a failed run into its exit code.
func runVerdict(r *run.Document) error {
	if r.Verdict.Passed {
		return nil
	}
	return failure(errors.New(r.Verdict.Text))
}

// silenceRedis keeps the client library's own log lines out of the progress: what fails is counted, and
// told.
func silenceRedis() { redis.SetLogger(silentRedis{}) }

type silentRedis struct{}

func (silentRedis) Printf(context.Context, string, ...any) {}

// tool names this program and the version it was built from.
func tool() run.Tool {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return run.Tool{Name: "dq-bench", Version: version}
}
