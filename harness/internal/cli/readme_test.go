package cli

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

// slowCommands run only with DQ_THOROUGH: they take longer than a few seconds.
var slowCommands = regexp.MustCompile(`^dq-bench (run|compare|verify)\b`)

// endlessCommands run until they are interrupted.
var endlessCommands = regexp.MustCompile(`^dq-bench guard\b`)

// readme returns README.md and the root of the repository.
func readme(t *testing.T) (text, root string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return string(content), root
}

// Every dq-bench command of README.md runs in an empty folder, in the order of the page.
func TestREADMECommandsRun(t *testing.T) {
	t.Parallel()
	text, root := readme(t)
	folder := t.TempDir()
	program := filepath.Join(t.TempDir(), "dq-bench")
	require.NoError(t, os.Symlink(must(os.Executable()), program))
	address := must(url.Parse(redistest.Redis(t).URL())).Host
	replace := strings.NewReplacer(
		"127.0.0.1:6379", address,
		"./my-port", "python3 "+filepath.Join(root, "docs/guides/port.py"),
		"production.monitor", filepath.Join(root, "recordings/documents/002-zlyx.monitor"),
		"recordings/documents/*.monitor", filepath.Join(root, "recordings/documents/*.monitor"),
	)
	commands := 0
	for _, m := range regexp.MustCompile(`(?m)^    (?:\$ )?(?:go run \./cmd/)?(dq-bench .*)$`).FindAllStringSubmatch(text, -1) {
		line := replace.Replace(m[1])
		commands++
		if slowCommands.MatchString(line) && !redistest.Thorough() {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		if endlessCommands.MatchString(line) {
			ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+line)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 20 * time.Second
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "DQ_REDIS=redis://"+address, "DQ_PROGRESS=none")
		output, err := cmd.CombinedOutput()
		ended := ctx.Err() != nil
		cancel()
		if endlessCommands.MatchString(line) {
			require.True(t, ended, "%s ended by itself:\n%s", line, output)
			continue
		}
		// A comparison and a run may fail on a busy machine: the verdict is not this test's.
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !slowCommands.MatchString(line) {
			require.NoError(t, err, "%s:\n%s", line, output)
		}
	}
	require.GreaterOrEqual(t, commands, 10, "commands in README.md")
}

// The Go program of README.md compiles in a module of its own, made as README.md says, and delivers its message: as text, and by
// the codec that README.md names for the release.
func TestREADMEProgramRuns(t *testing.T) {
	t.Parallel()
	text, root := readme(t)
	_, program, found := strings.Cut(text, "```go\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "```")
	address := must(url.Parse(redistest.Redis(t).URL())).Host
	require.Contains(t, program, "127.0.0.1:6379")
	program = strings.Replace(program, "127.0.0.1:6379", address, 1)
	module := regexp.MustCompile(`(?m)^    (go mod edit .*)$`).FindStringSubmatch(text)
	require.NotNil(t, module)
	require.Contains(t, text, "`java.NewMarshalling[string]()` for 3.16.6")
	byDefault := strings.NewReplacer("func main()", "func init()", `dq/codec"`, `dq/codec/java"`, "	orders, err :=", "	values, err := java.NewMarshalling[string]()\n	if err != nil {\n		log.Fatal(err)\n	}\n	orders, err :=",
		"codec.String{}", "values", `"orders"`, `"others"`).Replace(program)
	folder := t.TempDir()
	run := func(line string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOPROXY=off", "GONOSUMDB=*", "GOFLAGS=-mod=mod")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
		return string(output)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "default.go"), []byte(byDefault), 0o644)) // it runs before main
	run("go mod init example && " + strings.Replace(module[1], "/path/to/checkout", root, 1))
	require.Regexp(t, `order 7 *<nil>\n(?s:.*)order 7 *<nil>\n$`, run("go run ."))
}

// README.md fits two screens and has short sentences.
func TestREADMEIsShort(t *testing.T) {
	text, _ := readme(t)
	require.LessOrEqual(t, strings.Count(text, "\n"), 120)
	prose := regexp.MustCompile("(?ms)^```.*?^```|^    .*?$|^[|#].*?$").ReplaceAllString(text, ".")
	for _, sentence := range regexp.MustCompile(`[.:;]\s`).Split(prose, -1) {
		require.LessOrEqual(t, len(strings.Fields(sentence)), 30, sentence)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// README.zh-CN.md has the commands and the programs of README.md.
func TestREADMEInChineseHasTheSameCommands(t *testing.T) {
	text, root := readme(t)
	code := regexp.MustCompile("(?m)^(?:    |\t).*$")
	require.Equal(t, code.FindAllString(text, -1), code.FindAllString(string(must(os.ReadFile(filepath.Join(root, "README.zh-CN.md")))), -1))
}

// The run in README.md prints the lines that stand there, whatever the figures.
func TestREADMEShowsWhatARunPrints(t *testing.T) {
	t.Parallel()
	text, _ := readme(t)
	block := regexp.MustCompile(`(?s)run --producers 50 --delay 5s\n(.*?)\n\n\*Past due`).FindStringSubmatch(text)[1]
	cmd := exec.CommandContext(t.Context(), must(os.Executable()), "run", "--producers", "50", "--delay", "500ms", "--duration", "1s", "--warmup", "0s", "--slo", "none",
		"--redis", redistest.Redis(t).URL(), "--progress", "none", "--out", t.TempDir()+"/out")
	cmd.Args[0] = "dq-bench"
	output, _ := cmd.CombinedOutput() // a busy machine may have it end as invalid
	figure := regexp.MustCompile(`[~−]?[\d.]+( [nµm]?s\b)?`)
	shape := func(line string) string { return figure.ReplaceAllString(strings.Join(strings.Fields(line), " "), "N") }
	printed := shape(string(output))
	for line := range strings.Lines(block) {
		if line = shape(line); line != "…" && !strings.HasPrefix(line, "All N messages") {
			require.Contains(t, printed, line)
		}
	}
}
