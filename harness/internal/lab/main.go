// Command lab has the programs that only developers run: reports for docs/results.md, and what is made of recordings.
//
//	go run ./harness/internal/lab PROGRAM [flags]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

var programs = map[string]func(){
	"faults": faults, "fold": foldMain, "generate": generateMain, "growth": growth, "latency": latency, "performance": performance,
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: lab PROGRAM, one of", strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
		os.Exit(2)
	}
	program := programs[os.Args[1]]
	os.Args = os.Args[1:]
	program()
}

// runReport runs a report program, for so long at most, and writes the section that it returns. The
// section is written beside an error too: the error then says what the section shows to be wrong.
func runReport(name string, bound time.Duration, report func(context.Context) (section string, err error)) {
	page := flag.String("results", filepath.Join("docs", "results.md"), "the page whose section is written")
	flag.DurationVar(&bound, "bound", bound, "how long all may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	head := machine(ctx)
	section, err := report(ctx)
	if section != "" {
		err = errors.Join(err, writeSection(*page, name, head+"\n\n"+section))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // nothing is left to be done
	}
}

// machine says when, and on what, a report is made.
func machine(ctx context.Context) string {
	version := ""
	if said, err := exec.CommandContext(ctx, "redis-server", "--version").Output(); err == nil {
		if fields := strings.Fields(string(said)); len(fields) > 2 {
			version = ", redis " + strings.TrimPrefix(fields[2], "v=")
		}
	}
	return fmt.Sprintf("%s, %d processors, %s/%s, %s%s.",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), version)
}

// writeSection puts the text of a section between its marks, <!-- name: command --> and <!-- end -->.
func writeSection(page, name, section string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), "<!-- "+name+": ")
	command, rest, marked := strings.Cut(rest, " -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !marked || !ended {
		return fmt.Errorf("%s: expected the marks <!-- %s: command --> and <!-- end -->", page, name)
	}
	whole := before + "<!-- " + name + ": " + command + " -->\n\n" + strings.TrimSpace(section) + "\n\n<!-- end -->\n" + after
	return run.WriteWhole(page, []byte(whole))
}

// asTable writes rows of cells. Cells have no spaces around them, so that a page stays short.
func asTable(head []string, rows [][]string) string {
	var b strings.Builder
	for _, row := range slices.Concat([][]string{head, slices.Repeat([]string{"-"}, len(head))}, rows) {
		b.WriteString("|" + strings.Join(row, "|") + "|\n")
	}
	return b.String()
}

// grouped writes a whole number with its thousands apart.
func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// goCommand builds with the go command, as in goCommand(ctx, "build", …).
func goCommand(ctx context.Context, args ...string) error {
	if said, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return nil
}

// stopped is a command that ends by an interrupt, so that it ends its servers.
func stopped(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// runLoad has dq-bench run a load, and returns the runs in the order in which they began. out keeps
// their files. A run that failed says so in its file.
func runLoad(ctx context.Context, out string, args ...string) ([]*run.Document, error) {
	folder, err := os.MkdirTemp("", "lab")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "dq-bench")
	if err := goCommand(ctx, "build", "-o", binary, "./cmd/dq-bench"); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	cmd := stopped(ctx, binary, append([]string{"run", "--redis", "process", "--progress", "none", "--json", "--out", out}, args...)...)
	cmd.Stderr = os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 99) {
		return nil, fmt.Errorf("dq-bench run: %w", err)
	}
	runs, err := compare.Read(ctx, out)
	slices.SortFunc(runs, func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	return runs, err
}
