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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/scenario"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// runFlags are the flags of 'dq-bench run' as they were given.
type runFlags struct {
	out, progress, percentiles string

	set, reports []string

	redis    []string
	drivers  []string
	files    []string
	variants []string
	plan     plan.Plan
	slos     []string
	labels   []string
	scale    *float64
	repeat   int
	full     bool
	json     bool
	list     bool
	force    bool

	beside bool

	listen, tokenFile string
	agents            int

	// changed tells which flags were given, by the command line or environment.
	changed func(flag string) bool
}

func newRunFlags() *runFlags {
	return &runFlags{plan: plan.DefaultPlan(), percentiles: "50,90,99,99.9"}
}

// runRequest is what the flags ask for, all of it found valid.
type runRequest struct {
	cases     []series.Case
	repeat    int
	quantiles []float64
	options   series.Options
	door      *load.Door // nil without --agents
}

func newRunCmd() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Load a delay queue and measure lateness",
		Example: `  dq-bench run --producers 50 --delay 5s
  dq-bench run -f spring-demo --slo 'lateness.p99<=20ms'
  dq-bench run --driver redisson:4.7.0 --driver dq --repeat 6 --out out/r`,
		Args: onlyFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed
			if f.list {
				return listScenarios(cmd.OutOrStdout(), f.json)
			}
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

func (f *runFlags) register(set *pflag.FlagSet) {
	flags := flagSet{set}
	for _, field := range plan.Fields {
		row, ok := rowOf(field.Flag())
		if !ok || field.Value == nil {
			continue
		}
		flag := flags.VarPF(field.Value(&f.plan), row.name, row.short, row.help)
		if flag.DefValue == "0s" {
			flag.DefValue = "" // which the help does not show, as for a flag of pflag's own
		}
	}
	flags.list(&f.set, "set")
	flags.list(&f.redis, "redis", "auto")
	flags.more("redis", startedServers)
	flags.list(&f.drivers, "driver", series.DefaultDriver)
	flags.more("driver", " memory redis-list redis-zset")
	flags.num(&f.repeat, "repeat", 1)
	flags.yes(&f.beside, "beside")
	flags.list(&f.files, "file")
	flags.yes(&f.list, "list")
	flags.list(&f.variants, "variant")
	flags.yes(&f.force, "force")
	flags.str(&f.out, "out", "")
	flags.more("out", " (default out/run-<time>)")
	flags.reported(&f.reports)
	flags.yes(&f.json, "json")
	flags.list(&f.slos, "slo")
	flags.list(&f.labels, "label")
	flags.str(&f.listen, "listen", "")
	flags.num(&f.agents, "agents", 0)
	flags.str(&f.tokenFile, "token-file", "")
	flags.str(&f.progress, "progress", "auto")
}

// startedServers are the values of --redis for a server that the command starts.
const startedServers = ", or auto, process[:PATH], container[:IMAGE], embedded"

// readSet reads --set: fields of the plan without a flag, and how the run is made.
func (f *runFlags) readSet(given map[string]string) (err error) {
	for _, setting := range f.set {
		key, value, ok := strings.Cut(setting, "=")
		key = strings.ReplaceAll(key, "-", "_")
		known := []string{"full", "percentiles", "scale"}
		for _, field := range plan.Fields {
			if _, flag := rowOf(field.Flag()); !flag && field.Value != nil {
				known = append(known, field.Key)
			}
		}
		switch _, flag := rowOf(strings.ReplaceAll(key, "_", "-")); {
		case !ok:
			return fmt.Errorf("set: expected field=value such as poll=100ms, got %q", setting)
		case !slices.Contains(known, key) && flag:
			return fmt.Errorf("set: pass --%s instead of %q", strings.ReplaceAll(key, "_", "-"), setting)
		case !slices.Contains(known, key):
			slices.Sort(known)
			return fmt.Errorf("set: no field %q%s; known are %s", key, text.DidYouMean(key, known), strings.Join(known, ", "))
		}
		switch key {
		case "full":
			f.full, err = strconv.ParseBool(value)
		case "percentiles":
			f.percentiles = value
		case "scale":
			f.scale = new(float64)
			*f.scale, err = strconv.ParseFloat(value, 64)
		default:
			given[key] = value
		}
		if err != nil {
			return fmt.Errorf("set: %s: expected true, false or a number, got %q", key, value)
		}
	}
	return nil
}

// settings are the settings of the plan, by their keys: the given ones override a scenario, which overrides the defaults.
func (f *runFlags) settings() (given, defaults map[string]string) {
	given, defaults = map[string]string{}, map[string]string{}
	for _, field := range plan.Fields {
		if _, ok := rowOf(field.Flag()); !ok || field.Value == nil {
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
	set := given
	if !f.changed("set") {
		set = defaults
	}
	if err := f.readSet(set); err != nil {
		return nil, err
	}
	choice := scenario.Choice{Files: f.files, Variants: f.variants, Full: f.full, Scale: f.scale, Settings: given, Defaults: defaults, SLO: f.slos}
	if len(f.files) == 0 && !f.changed("variant") {
		choice.Variants = nil // a default for scenarios
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
	if r.quantiles, err = run.ParseQuantiles(f.percentiles); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r.options = series.Options{
		Redis: f.redis[0], Out: f.out, Tool: tool(), Labels: labels, Force: f.force,
		Beside: f.beside, Progress: load.ProgressWriter(stderr, progress), Notice: once(stderr),
		Serve: []string{self, "serve-driver"},
	}
	if f.beside {
		if err := series.CheckBeside(r.cases, r.options.Redis); err != nil {
			return nil, err
		}
	}
	if f.listen != "" {
		if err := web.CheckAddr(f.listen); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	}
	if r.door, err = f.door(r); err != nil {
		return nil, err
	}
	return r, series.CheckFaults(r.cases, r.options.Redis)
}

// door is where agents come in; nil without --agents.
func (f *runFlags) door(r *runRequest) (*load.Door, error) {
	switch {
	case f.agents == 0 && f.tokenFile == "":
		return nil, nil
	case f.agents < 1 || f.listen == "" || f.tokenFile == "":
		return nil, errors.New("agents: expected --agents N of 1 or more, --listen and --token-file beside each other")
	case f.beside:
		return nil, errors.New("agents: expected runs one after the other, got --beside")
	}
	for _, c := range r.cases {
		for _, side := range c.Sides {
			at := cmp.Or(side.Redis, r.options.Redis)
			switch {
			case !redis.IsExternal(at):
				return nil, fmt.Errorf("agents: expected --redis with the address of a server that all agents reach, got %q", at)
			case len(c.Plan.Fleet) > 0 || len(c.Plan.Faults) > 0:
				return nil, errors.New("agents: expected a scenario without a fleet or faults")
			case c.Plan.Producers < f.agents || c.Plan.Consumers < f.agents:
				return nil, fmt.Errorf("agents: expected a producer and a consumer for each of %d agents", f.agents)
			}
		}
	}
	token, err := readPassword(f.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("token-file: %w", err)
	}
	door := load.NewDoor(token)
	r.options.Agents = func(ctx context.Context, driver string) ([]*program.Link, error) {
		return door.Wait(ctx, f.agents, driver, r.options.Notice)
	}
	return door, nil
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
	if err := reports(f.reports).check(); err != nil { // which may be in that folder
		return err
	}
	req.options.Live = &load.Live{}
	var unwritten []error
	req.options.Unwritten = func(err error) { unwritten = append(unwritten, err) }
	ctx, pages, err := serveWeb(ctx, f.listen, req, stderr)
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
	if err := errors.Join(append(unwritten, printer.report(f.reports))...); err != nil {
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
		if all := suite.Page(); all != nil && suite.Cases() != nil {
			if unwritten := all.Save(filepath.Join(req.options.Out, report.File)); unwritten != nil {
				req.options.Notice("warning: " + unwritten.Error())
			}
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
func silenceRedis() { redis.Silence() }

// tool names this program and the version it was built from.
func tool() run.Tool {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return run.Tool{Name: "dq-bench", Version: version}
}
