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
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// runCall is a call of run: its flags, the cases that they ask for, and finished runs.
type runCall struct {
	*call
	tokenFile   string
	mode        string // of progress
	set, labels []string
	repeat      int
	scenarios   bool
	plan        plan.Plan
	choice      series.Choice
	options     series.Options

	cases       []series.Case
	standings   report.Cases
	neverRan    []string  // of the standings
	page        *web.Live // nil without --listen
	done        []*run.Document
	comparisons []*compare.Comparison
}

func newRun() *call {
	r := &runCall{call: newCall("run", onlyFlags), plan: plan.DefaultPlan()}
	for _, field := range planFlags(true) {
		row, _ := rowOf(field.Flag())
		if flag := r.Flags().VarPF(field.Value(&r.plan), row.name, row.short, row.help); flag.DefValue == "0s" {
			flag.DefValue = "" // which the help does not show, as for a flag of pflag's own
		}
	}
	r.list(&r.set, "set")
	r.list(&r.choice.Servers, "redis", "auto")
	r.more("redis", startedServers+", embedded")
	r.list(&r.choice.Drivers, "driver", "dq")
	r.more("driver", " memory redis-list redis-zset")
	r.num(&r.repeat, "repeat", 1)
	r.yes(&r.choice.Beside, "beside")
	r.list(&r.choice.Files, "file")
	r.yes(&r.scenarios, "list")
	r.list(&r.choice.Variants, "variant")
	r.yes(&r.options.Load.Force, "force")
	r.str(&r.options.Out, "out", "")
	r.more("out", " (default out/run-<time>)")
	r.prints(true)
	r.list(&r.choice.SLO, "slo")
	r.list(&r.labels, "label")
	r.str(&r.listen, "listen", "")
	r.num(&r.options.Load.Agents, "agents", 0)
	r.str(&r.tokenFile, "token-file", "")
	r.str(&r.mode, "progress", "auto")
	r.RunE = func(*cobra.Command, []string) error { // it checks its reports behind the folder of the run, which they may be in
		if r.scenarios {
			return r.listScenarios()
		}
		return r.run()
	}
	return r.call
}

// planFlags are the settings of a plan that have a flag, or only --set.
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
	if name := text.Meant(args[0], series.ScenarioNames()); name != "" {
		return fmt.Errorf("%w; a scenario is run by -f %s", err, name)
	}
	return err
}

// readSet reads --set: fields of the plan without a flag.
func (r *runCall) readSet(given map[string]string) error {
	var known []string
	for _, field := range planFlags(false) {
		known = append(known, field.Key)
	}
	slices.Sort(known)
	for _, setting := range r.set {
		key, value, ok := strings.Cut(setting, "=")
		key = strings.ReplaceAll(key, "-", "_")
		if !ok {
			return fmt.Errorf("set: expected field=value such as poll=100ms, got %q", setting)
		}
		if !slices.Contains(known, key) {
			if flag := strings.ReplaceAll(key, "_", "-"); r.Flag(flag) != nil {
				return fmt.Errorf("set: pass --%s instead of %q", flag, setting)
			}
			return fmt.Errorf("set: no field %q%s; known are %s", key, text.DidYouMean(key, known), strings.Join(known, ", "))
		}
		given[key] = value
	}
	return nil
}

// choose finds what to run, with which drivers, on which servers: given settings override a scenario, which overrides the
// defaults. Stderr lists members of a scenario that --driver leaves out.
func (r *runCall) choose(ctx context.Context, stderr io.Writer) error {
	of := map[bool]map[string]string{true: {}, false: {}} // of the command line, and of the environment
	for _, field := range planFlags(true) {
		of[r.given(field.Flag())][field.Key] = field.Value(&r.plan).String()
	}
	if err := r.readSet(of[r.given("set")]); err != nil {
		return err
	}
	r.choice.Settings, r.choice.Defaults = of[true], of[false]
	if len(r.choice.Files) == 0 && !r.given("variant") {
		r.choice.Variants = nil // a default for scenarios
	}
	r.choice.Override, r.options.Beside = r.given("driver"), r.choice.Beside
	cases, left, err := r.choice.Cases(ctx)
	r.cases = cases
	for _, name := range left {
		fmt.Fprintf(stderr, "%s is left out: it names the driver of each member of its fleet, and --driver is given\n", name)
	}
	return err
}

// maxRepeat bounds the runs of each driver: all are known until the last has ended.
const maxRepeat = 10_000

// prepare checks everything that can be checked without a server, and makes the cases and options of it. Its errors
// are wrong usage, unless a scenario file cannot be read.
func (r *runCall) prepare(ctx context.Context, stderr io.Writer) error {
	if r.repeat < 1 || r.repeat > maxRepeat {
		return fmt.Errorf("repeat: expected 1 to %d, got %d", maxRepeat, r.repeat)
	}
	labels := map[string]string{}
	for _, label := range r.labels {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return fmt.Errorf("label: expected key=value, got %q", label)
		}
		labels[key] = value
	}
	if !slices.Contains([]string{"auto", "plain", "none"}, r.mode) {
		return fmt.Errorf("progress: expected auto, plain or none, got %q", r.mode)
	}
	all := &r.options.Load
	if file, ok := stderr.(*os.File); r.mode != "none" {
		all.Progress = load.ProgressWriter(stderr, ok && r.mode == "auto" && term.IsTerminal(int(file.Fd())))
	}
	r.options.Out = cmp.Or(r.options.Out, filepath.Join("out", "run-"+time.Now().UTC().Format("20060102T150405.000Z")))
	if err := r.choose(ctx, stderr); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all.Notice, all.Serve, all.Live = once(stderr), []string{self, "serve-driver"}, &load.Live{}
	all.About = load.About{Tool: tool(), Labels: labels}
	if err := r.checkListen(); err != nil {
		return err
	}
	if all.Agents != 0 || ifGiven(r.call, "token-file", r.tokenFile) != "" {
		if err := r.checkAgents(); err != nil {
			return fmt.Errorf("agents: %w", err)
		}
		token, err := readSecret(ctx, "token", r.tokenFile)
		if err != nil {
			return &exitError{exitEnvironment, named("--token-file", err)}
		}
		all.Door = load.NewDoor(token)
		r.warnPlain()
	}
	return nil
}

// checkAgents refuses what agents cannot run.
func (r *runCall) checkAgents() error {
	switch agents := r.options.Load.Agents; {
	case agents < 1 || r.listen == "" || r.tokenFile == "":
		return errors.New("expected --agents N of 1 or more, --listen and --token-file beside each other")
	case r.options.Beside:
		return errors.New("expected runs one after the other, got --beside")
	}
	for _, c := range r.cases {
		for _, side := range c.Sides {
			switch {
			case !redis.IsExternal(side.Redis):
				return fmt.Errorf("expected --redis with the address of a server that all agents reach, got %q", side.Redis)
			case len(c.Plan.Fleet) > 0 || len(c.Plan.Faults) > 0:
				return errors.New("expected a scenario without a fleet or faults")
			case min(c.Plan.Producers, c.Plan.Consumers) < r.options.Load.Agents:
				return fmt.Errorf("expected a producer and a consumer for each of %d agents", r.options.Load.Agents)
			}
		}
	}
	return nil
}

// once prints each line the first time it comes: a series says it for each run.
func once(w io.Writer) func(string) {
	var seen sync.Map
	return func(line string) {
		if _, again := seen.LoadOrStore(line, nil); !again {
			fmt.Fprintln(w, line)
		}
	}
}

// run does the runs and reports them.
func (r *runCall) run() (err error) {
	ctx := r.Context()
	if err := r.prepare(ctx, r.ErrOrStderr()); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return usageError(err)
	}
	tidy, err := run.NewFolder(r.options.Out)
	if err != nil {
		return err
	}
	defer tidy()
	if err := r.checkReports(); err != nil { // which may be in that folder
		return err
	}
	var unwritten []error
	r.options.Unwritten = func(err error) { unwritten = append(unwritten, err) }
	r.standings = series.Standings(r.cases)
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
	if page := r.lastPage(); page != nil {
		unwritten = append(unwritten, r.report(*page))
	}
	if err := errors.Join(unwritten...); err != nil {
		return err
	}
	r.notice("run files in %s", r.options.Out)
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
