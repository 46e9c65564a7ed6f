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
	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/scenario"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// runFlags are the flags of 'dq-bench run', and what they ask for.
type runFlags struct {
	out, progress, percentiles, listen, tokenFile               string
	set, reports, redis, drivers, files, variants, slos, labels []string

	repeat, agents                  int
	full, json, list, force, beside bool

	scale   *float64
	plan    plan.Plan
	changed func(flag string) bool // on the command line

	cases     []series.Case
	quantiles []float64
	options   series.Options
	door      *load.Door // nil without --agents
}

// startedServers are the values of --redis for a server that the command starts.
const startedServers = ", or auto, process[:PATH], container[:IMAGE], embedded"

func newRunCmd() *cobra.Command {
	f := &runFlags{plan: plan.DefaultPlan(), percentiles: "50,90,99,99.9"}
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
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	for _, field := range planFlags(true) {
		row := flags.row(field.Flag())
		if flag := flags.VarPF(field.Value(&f.plan), row.name, row.short, row.help); flag.DefValue == "0s" {
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
	return cmd
}

// planFlags are the settings of a plan that have a flag, or those that --set has.
func planFlags(flagged bool) []plan.Field {
	return slices.DeleteFunc(slices.Clone(plan.Fields), func(field plan.Field) bool {
		_, row := rowOf(field.Flag())
		return !field.IsText() || row != flagged
	})
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

// readSet reads --set: fields of the plan without a flag, and how the run is made.
func (f *runFlags) readSet(given map[string]string) (err error) {
	known := []string{"full", "percentiles", "scale"}
	for _, field := range planFlags(false) {
		known = append(known, field.Key)
	}
	slices.Sort(known)
	for _, setting := range f.set {
		key, value, ok := strings.Cut(setting, "=")
		key = strings.ReplaceAll(key, "-", "_")
		if !ok {
			return fmt.Errorf("set: expected field=value such as poll=100ms, got %q", setting)
		}
		if !slices.Contains(known, key) {
			flag := strings.ReplaceAll(key, "_", "-")
			if _, ok := rowOf(flag); ok {
				return fmt.Errorf("set: pass --%s instead of %q", flag, setting)
			}
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

// choose finds what to run, with which drivers, on which servers: given settings override a scenario, which overrides the
// defaults. What is left out for the drivers that are given, stderr says.
func (f *runFlags) choose(ctx context.Context, stderr io.Writer) error {
	given, defaults := map[string]string{}, map[string]string{}
	standard := plan.DefaultPlan()
	for _, field := range planFlags(true) {
		if value := field.Value(&f.plan).String(); f.changed(field.Flag()) {
			given[field.Key] = value
		} else if value != field.Value(&standard).String() {
			defaults[field.Key] = value
		}
	}
	set, drivers := given, f.drivers
	if !f.changed("set") {
		set = defaults
	}
	if err := f.readSet(set); err != nil {
		return err
	}
	choice := scenario.Choice{Files: f.files, Variants: f.variants, Full: f.full, Scale: f.scale, Settings: given, Defaults: defaults, SLO: f.slos}
	if len(f.files) == 0 && !f.changed("variant") {
		choice.Variants = nil // a default for scenarios
	}
	runs, err := choice.Runs(ctx)
	if err != nil {
		return err
	}
	if !f.changed("driver") {
		drivers = nil // the scenario's, or else the default
		for i := range runs {
			runs[i].Driver = cmp.Or(runs[i].Driver, f.drivers[0])
		}
	}
	var left []string
	f.cases, left, err = series.Cases(runs, drivers, f.redis)
	for _, name := range left {
		fmt.Fprintf(stderr, "%s is left out: it names the driver of each member of its fleet, and --driver is given\n", name)
	}
	return err
}

// maxRepeat bounds the runs of each driver: all are known until the last has ended.
const maxRepeat = 10_000

// check checks everything that can be checked without a server, and makes the cases and options of it. Its errors
// are wrong usage, unless a scenario file cannot be read.
func (f *runFlags) check(ctx context.Context, stderr io.Writer) error {
	if f.repeat < 1 || f.repeat > maxRepeat {
		return fmt.Errorf("repeat: expected 1 to %d, got %d", maxRepeat, f.repeat)
	}
	labels, err := series.ParseLabels(f.labels)
	if err != nil {
		return err
	}
	progress := map[string]load.ProgressMode{"auto": load.ProgressPlain, "plain": load.ProgressPlain, "none": load.ProgressNone}[f.progress]
	if progress == "" {
		return fmt.Errorf("progress: expected auto, plain or none, got %q", f.progress)
	}
	if file, ok := stderr.(*os.File); ok && f.progress == "auto" && term.IsTerminal(int(file.Fd())) {
		progress = load.ProgressLine
	}
	f.out = cmp.Or(f.out, filepath.Join("out", "run-"+time.Now().UTC().Format("20060102T150405.000Z")))
	if err := f.choose(ctx, stderr); err != nil {
		return err
	}
	if f.quantiles, err = run.ParseQuantiles(f.percentiles); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f.options = series.Options{
		Redis: f.redis[0], Out: f.out, Tool: tool(), Labels: labels, Force: f.force, Beside: f.beside,
		Progress: load.ProgressWriter(stderr, progress), Notice: once(stderr), Serve: []string{self, "serve-driver"}, Live: &load.Live{},
	}
	if f.beside {
		if err := series.CheckBeside(f.cases, f.options.Redis); err != nil {
			return err
		}
	}
	if f.listen != "" {
		if err := web.CheckAddr(f.listen); err != nil {
			return err
		}
	}
	if f.agents != 0 || f.tokenFile != "" {
		if err := f.checkAgents(); err != nil {
			return fmt.Errorf("agents: %w", err)
		}
		token, err := readPassword(ctx, f.tokenFile)
		if err != nil {
			return fmt.Errorf("token-file: %w", err)
		}
		f.door = load.NewDoor(token)
		f.options.Agents = func(ctx context.Context, driver string) ([]*program.Link, error) {
			return f.door.Wait(ctx, f.agents, driver, f.options.Notice)
		}
	}
	return series.CheckFaults(f.cases, f.options.Redis)
}

// checkAgents refuses what agents cannot run.
func (f *runFlags) checkAgents() error {
	switch {
	case f.agents < 1 || f.listen == "" || f.tokenFile == "":
		return errors.New("expected --agents N of 1 or more, --listen and --token-file beside each other")
	case f.beside:
		return errors.New("expected runs one after the other, got --beside")
	}
	for _, c := range f.cases {
		for _, side := range c.Sides {
			at := cmp.Or(side.Redis, f.options.Redis)
			switch {
			case !redis.IsExternal(at):
				return fmt.Errorf("expected --redis with the address of a server that all agents reach, got %q", at)
			case len(c.Plan.Fleet) > 0 || len(c.Plan.Faults) > 0:
				return errors.New("expected a scenario without a fleet or faults")
			case c.Plan.Producers < f.agents || c.Plan.Consumers < f.agents:
				return fmt.Errorf("expected a producer and a consumer for each of %d agents", f.agents)
			}
		}
	}
	return nil
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

// run does the runs and reports them.
func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if err := f.check(ctx, stderr); err != nil {
		if unreadable := new(os.PathError); errors.As(err, &unreadable) || ctx.Err() != nil {
			return err
		}
		return usageError(err)
	}
	tidy, err := run.NewFolder(f.out)
	if err != nil {
		return err
	}
	defer tidy()
	if err := reports(f.reports).check(); err != nil { // which may be in that folder
		return err
	}
	var unwritten []error
	f.options.Unwritten = func(err error) { unwritten = append(unwritten, err) }
	r := &runs{runFlags: f, suite: series.NewSuite(f.cases), stdout: stdout, stderr: stderr}
	ctx, closePage, err := r.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closePage()) }()
	if err := r.all(ctx); err != nil {
		return err
	}
	if err := r.end(); err != nil {
		return err
	}
	if page := r.suite.Page(); page != nil {
		unwritten = append(unwritten, reports(f.reports).write(*page))
	}
	if err := errors.Join(unwritten...); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "run files in %s\n", f.out)
	return r.verdict()
}

// tool names this program and the version it was built from.
func tool() run.Tool {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return run.Tool{Name: "dq-bench", Version: version}
}
