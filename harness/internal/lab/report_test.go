// Package lab has what only developers run, as benchmarks and tests: reports for docs/results.md, the packing of recordings, and the
// tables of docs/spec. CONTRIBUTING.md names the make targets.
package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// A report measures, keeps its raw files in a folder, and returns its section of docs/results.md. A section beside an error
// is written too: the error then names the fault that the section shows.
type report func(b *testing.B, out string) (section string, err error)

// write makes a report, from the root of the checkout.
func (r report) write(b *testing.B, name string) {
	b.Helper()
	b.Chdir("../../..")
	head := machine(b.Context())
	section, err := r(b, filepath.Join("out", name))
	if section != "" {
		err = errors.Join(err, writeSection(filepath.Join("docs", "results.md"), name, head+"\n\n"+section))
	}
	require.NoError(b, err)
}

func machine(ctx context.Context) string {
	version := ""
	if output, err := exec.CommandContext(ctx, "redis-server", "--version").Output(); err == nil {
		if fields := strings.Fields(string(output)); len(fields) > 2 {
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

// asTable writes rows of cells, without spaces around the cells.
func asTable(head []string, rows [][]string) string {
	var b strings.Builder
	for _, row := range slices.Concat([][]string{head, slices.Repeat([]string{"-"}, len(head))}, rows) {
		b.WriteString("|" + strings.Join(row, "|") + "|\n")
	}
	return b.String()
}

// compact writes a duration without a space before its unit.
func compact(d time.Duration) string { return strings.ReplaceAll(run.FormatNs(int64(d)), " ", "") }

func goCommand(ctx context.Context, args ...string) error {
	if output, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// stopped is a command that an interrupt ends, so that the command stops its servers.
func stopped(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// runLoad has dq-bench run a load, and returns the runs in the order of their begin. out keeps their files. The file of
// a failed run says so.
func runLoad(ctx context.Context, b *testing.B, out string, args ...string) ([]*run.Document, error) {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "dq-bench")
	require.NoError(b, goCommand(ctx, "build", "-o", binary, "./cmd/dq-bench"))
	require.NoError(b, os.RemoveAll(out))
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

const results = "../../../docs/results.md"

var update = flag.Bool("update", false, "write the conformance section of docs/results.md")

// The conformance section of docs/results.md is the table of recordings/counts.tsv.
func TestConformanceSection(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(string(must(os.ReadFile("../../../recordings/counts.tsv")))), "\n")[1:]
	var releases [][]string
	for i := 0; i < len(rows); i += 2 {
		dq, redisson := strings.Split(rows[i], "\t"), strings.Split(rows[i+1], "\t")
		releases = append(releases, append(append(dq[:1:1], dq[3:]...), redisson[3:]...))
	}
	section := asTable([]string{"release", "dq: pass", "skip", "fail", "Redisson: pass", "skip", "fail"}, releases)
	if *update {
		require.NoError(t, writeSection(results, "conformance", section))
	}
	page := must(os.ReadFile(results))
	require.Contains(t, string(page), section, "write it by: go test ./harness/internal/lab -update")
	require.LessOrEqual(t, len(strings.Fields(string(page))), 900)
}
