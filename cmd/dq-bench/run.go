package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
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
	"github.com/dq-bench/dq-bench/harness/load"
	"github.com/dq-bench/dq-bench/harness/report"
	"github.com/dq-bench/dq-bench/harness/server"
)

// runFlags are the flags of 'dq-bench run' as they were given.
type runFlags struct {
	redis, driver, out, rate, delay, progress, percentiles string

	plan   load.Plan
	slos   []string
	labels []string
	json   bool
	force  bool
}

// runRequest is what the flags ask for, all of it found valid.
type runRequest struct {
	plan      load.Plan
	driver    driver.Driver
	slos      []report.SLO
	quantiles []float64
	labels    map[string]string
	progress  load.ProgressMode
	runID     uint32
	ownQueue  bool
	out       string
}

func newRunCmd() *cobra.Command {
	f := &runFlags{plan: load.DefaultPlan()}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Load a delay queue and measure lateness",
		Long: `Run offers messages at a fixed rate, takes them when they come, and accounts for
every one: lateness (delivered - due), offer round trip, schedule lag, and what
was lost, duplicated, early or left pending.

The load is open: message i is sent at start + i/rate whatever became of those
before it. The first interrupt stops the offers, drains what is due and still
reports; the second one ends at once.

run.json, report.html, lateness.hlog and lateness.hgrm are written to --out.

Exit codes: 0 fine; 1 no such server, queue in use or folder not writable; 2
wrong usage; 99 a message lost, duplicated, early or overdue, or an SLO missed.`,
		Example: `  dq-bench run --producers 50 --delay 5s
  dq-bench run --redis redis://localhost:6379 --driver dq:3.16.6 --slo 'lateness.p99<=20ms'
  dq-bench run --rate 5000/s --delay 1s..10s --duration 1m --json > run.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLoad(cmd.Context(), f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *runFlags) register(flags *pflag.FlagSet) {
	p := &f.plan
	flags.StringVar(&f.redis, "redis", "auto", "server: auto, container[:image], process[:path], embedded, redis://…, rediss://…, redis+cluster://…, redis+sentinel://…")
	flags.StringVar(&f.driver, "driver", "dq", "implementation: "+driver.Forms)
	flags.IntVar(&p.Producers, "producers", p.Producers, "goroutines that offer")
	flags.IntVar(&p.Consumers, "consumers", p.Consumers, "goroutines that take")
	flags.StringVar(&f.rate, "rate", p.Rate.String(), "offers over all producers: 1000/s, 90/m")
	flags.DurationVar(&p.Duration, "duration", p.Duration, "how long messages are offered")
	flags.StringVar(&f.delay, "delay", p.Delay.String(), "delay of each message: 5s, or 1s..10s to draw it uniformly")
	flags.IntVar(&p.PayloadSize, "payload-size", p.PayloadSize, fmt.Sprintf("bytes of each value, at least %d", load.HeaderSize))
	flags.Uint64Var(&p.Seed, "seed", p.Seed, "seed of drawn delays")
	flags.DurationVar(&p.Warmup, "warmup", p.Warmup, "offer messages that do not count before, and drain them; 0s for none")
	flags.DurationVar(&p.DrainTimeout, "drain-timeout", p.DrainTimeout, "how long to wait for missing messages once nothing comes any more")
	flags.StringVar(&p.Queue, "queue", "", "destination queue (default: one of its own, removed at the end)")
	flags.BoolVar(&f.force, "force", false, "run on a --queue that holds messages, which are taken and counted as foreign")
	flags.StringVar(&f.out, "out", "", "folder of the run files (default out/run-<time>)")
	flags.BoolVar(&f.json, "json", false, "print the run file on stdout and nothing else")
	flags.StringArrayVar(&f.slos, "slo", nil, "objective such as 'lateness.p99<=20ms' or 'lost<=0'; may be repeated")
	flags.StringArrayVar(&f.labels, "label", nil, "key=value kept in the run file; may be repeated")
	flags.StringVar(&f.percentiles, "percentiles", "50,90,99,99.9", "percentiles of the table")
	flags.StringVar(&f.progress, "progress", "auto", "progress on stderr: auto, plain, none")
}

// request checks everything that can be checked without a server. Its errors
// are wrong usage.
func (f *runFlags) request(stderr io.Writer) (*runRequest, error) {
	r := &runRequest{plan: f.plan, labels: map[string]string{}, out: f.out}
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	r.runID = binary.BigEndian.Uint32(id[:])
	if r.plan.Queue == "" {
		r.plan.Queue, r.ownQueue = fmt.Sprintf("dq-bench:%08x", r.runID), true
	}
	var err, errRate, errDelay error
	r.plan.Rate, errRate = load.ParseRate(f.rate)
	r.plan.Delay, errDelay = load.ParseDelay(f.delay)
	if err = errors.Join(errRate, errDelay); err != nil {
		return nil, err
	}
	if err := r.plan.Validate(); err != nil {
		return nil, err
	}
	if r.driver, err = driver.Parse(f.driver); err != nil {
		return nil, err
	}
	for _, text := range f.slos {
		slo, err := report.ParseSLO(text)
		if err != nil {
			return nil, err
		}
		r.slos = append(r.slos, slo)
	}
	for _, text := range f.labels {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("label: expected key=value, got %q", text)
		}
		r.labels[key] = value
	}
	if r.quantiles, err = report.ParseQuantiles(f.percentiles); err != nil {
		return nil, err
	}
	if r.progress, err = progressMode(f.progress, stderr); err != nil {
		return nil, err
	}
	if r.out == "" {
		r.out = filepath.Join("out", "run-"+time.Now().UTC().Format("20060102T150405.000Z"))
	}
	return r, server.CheckSpec(f.redis)
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

// runLoad does the run and reports it.
func runLoad(ctx context.Context, f *runFlags, stdout, stderr io.Writer) (err error) {
	req, err := f.request(stderr)
	if err != nil {
		return usageError(err)
	}
	if err := report.PrepareFolder(req.out); err != nil {
		return err
	}
	redis.SetLogger(silentRedis{})
	options := load.Options{
		Plan: req.plan, Driver: req.driver, RunID: req.runID, OwnQueue: req.ownQueue, Force: f.force,
		Progress: load.ProgressWriter(stderr, req.progress),
	}
	notice := func(line string) { fmt.Fprintln(stderr, line) }
	options.Notice = notice
	var used *report.Server
	if _, serverless := req.driver.(driver.Serverless); !serverless {
		srv, err := server.Start(ctx, f.redis, notice)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, srv.Close()) }()
		client := srv.NewClient()
		defer client.Close()
		options.RedisURL = srv.URL()
		options.Redis = &load.Redis{Client: client, Queue: req.plan.Queue}
		used = &report.Server{Product: srv.Product, Version: srv.Version, How: srv.How, Embedded: srv.Embedded()}
	}
	result, err := load.Run(ctx, options)
	if err != nil {
		return err
	}
	out := result.Report
	out.Tool, out.Server, out.Labels = tool(), used, req.labels
	out.Judge(req.slos)
	if err := report.WriteFolder(req.out, out, result.Log); err != nil {
		return err
	}
	if err := printRun(out, f.json, req.quantiles, stdout); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "run files in %s\n", req.out)
	return runVerdict(out)
}

func printRun(r *report.Run, asJSON bool, quantiles []float64, w io.Writer) error {
	if !asJSON {
		return r.WriteText(w, quantiles)
	}
	data, err := r.Encode()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// runVerdict turns a failed run into its exit code.
func runVerdict(r *report.Run) error {
	if r.Verdict.Passed {
		return nil
	}
	return failure(errors.New(r.Verdict.Text))
}

// silentRedis keeps the client library's own log lines out of the progress:
// what fails is counted, and the first error is in the notes.
type silentRedis struct{}

func (silentRedis) Printf(context.Context, string, ...any) {}

// tool names this program and the version it was built from.
func tool() report.Tool {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return report.Tool{Name: "dq-bench", Version: version}
}
