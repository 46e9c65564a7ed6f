// Package cli holds the commands of dq-bench: one thin file per command, which turns flags into a call of a harness package.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Exit codes of every subcommand.
const (
	exitOK          = 0   // done, and fine
	exitEnvironment = 1   // the environment or an input file cannot serve
	exitUsage       = 2   // a command, flag or value that can never be right
	exitFailed      = 99  // the thing under test failed
	exitInterrupted = 130 // ended by a second interrupt
)

// exitError carries the exit code that an error ends the program with.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError marks err as wrong usage: exit code 2, unless err has a code or is about a file.
func usageError(err error) error {
	if coded, file := new(exitError), new(os.PathError); errors.As(err, &coded) || errors.As(err, &file) {
		return err
	}
	return &exitError{exitUsage, err}
}

// failed is the verdict on the thing under test, under a condition: exit code 99.
func failed(is bool, format string, args ...any) error {
	if !is {
		return nil
	}
	return &exitError{exitFailed, fmt.Errorf(format, args...)}
}

// Execute runs one command line, without the program's name, and returns its exit code.
// It cancels the command at the first SIGINT, SIGTERM or SIGHUP.
func Execute(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	redis.Silence() // commands say themselves what failed
	root := newRootCmd()
	root.SetArgs(args)
	root.SetIn(in)
	printed := &printer{Writer: out}
	root.SetOut(printed)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && mistyped(cmd) { // --help behind a mistyped command
		err = seeHelp(cmd, noArgs(cmd, cmd.Flags().Args()))
	}
	if !errors.Is(err, printed.err) {
		err = errors.Join(err, printed.err)
	}
	if err == nil {
		return exitOK
	}
	coded := &exitError{code: exitEnvironment}
	_ = errors.As(err, &coded)
	if coded.code == exitUsage {
		err = namingTwin(cmd.Flags(), err)
	} else if errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "interrupted") {
		err = fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintln(errOut, "dq-bench:", text.Inert(err.Error()))
	return coded.code
}

// printer is the standard output up to the first write that fails: a command whose text is lost does not end with 0.
type printer struct {
	io.Writer
	err error
}

func (p *printer) Write(text []byte) (n int, err error) {
	if p.err == nil {
		n, p.err = p.Writer.Write(text)
	}
	return n, p.err
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels; the second ends the process with exit code 130.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP) // the terminal is gone: servers and files of the run must not stay
	}
	go func() {
		awaitInterrupts(signals, cancel)
		fmt.Fprintln(os.Stderr, "\ndq-bench: interrupted twice, stopping without a report")
		program.KillAll()
		os.Exit(exitInterrupted)
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// oneInterrupt is how long signals belong to the first one: timeout(1), shells and supervisors signal a process and its group.
const oneInterrupt = 500 * time.Millisecond

// awaitInterrupts calls first with the first signal, and returns with the first that is another interrupt.
func awaitInterrupts(signals <-chan os.Signal, first func()) {
	<-signals
	began := time.Now()
	first()
	for range signals {
		if time.Since(began) > oneInterrupt {
			return
		}
	}
}
