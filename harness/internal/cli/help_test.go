package cli

import (
	"bytes"
	"cmp"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	maxHelpLines = 40
	maxExamples  = 3
	// maxFlags is the limit of distinct flags.
	maxFlags = 55
)

// eachCommand calls f with each visible command of our own: completion is cobra's.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			eachCommand(sub, f)
		}
	}
}

// The help of each command fits a screen, its examples parse, and each flag has a row; the flags only get fewer.
func TestHelp(t *testing.T) {
	flags := map[string]bool{}
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		var out bytes.Buffer
		out.WriteString(form("help.tmpl", cmd))
		require.LessOrEqual(t, strings.Count(out.String(), "\n"), maxHelpLines, out.String())
		for line := range strings.Lines(out.String()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), helpWidth, line)
		}
		require.LessOrEqual(t, strings.Count(cmd.Example, "\n"), maxExamples-1)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, ok := rowOf(f.Name)
			require.True(t, ok || f.Name == "help", "--%s of %s has no row in flagTable", f.Name, cmd.CommandPath())
			flags[f.Name] = true
		})
		for line := range strings.Lines(cmd.Example) {
			command := line[max(0, strings.Index(line, "dq-bench")):]
			for _, end := range []string{"#", "|", ">"} {
				command, _, _ = strings.Cut(command, " "+end+" ")
			}
			var words []string
			for word := range strings.FieldsSeq(command) {
				words = append(words, strings.Trim(word, "')"))
			}
			if len(words) == 0 || words[0] != "dq-bench" {
				continue
			}
			found, rest, err := newRootCmd().Find(words[1:])
			require.NoError(t, err, line)
			require.NoError(t, found.ParseFlags(rest), line)
			require.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
		}
	})
	delete(flags, "help")
	require.LessOrEqual(t, len(flags), maxFlags)
	for _, row := range flagTable {
		require.True(t, flags[row.name], "no command has --%s", row.name)
	}
}

// reference is docs/reference.md: each command with its exit codes, each flag once, the schemas, and what a scenario file has.
func reference(t *testing.T) string {
	t.Helper()
	var commands, flags [][]string
	users, byCommand := map[string][]string{}, map[string]string{}
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		user := strings.Fields(cmd.CommandPath())[min(1, strings.Count(cmd.CommandPath(), " "))] // "queue" for all commands of queue
		for _, row := range flagTable {
			if cmd.Flags().Lookup(row.name) != nil && !slices.Contains(users[row.name], user) {
				users[row.name] = append(users[row.name], user)
			}
		}
		if cmd.HasParent() && cmd.Name() != "help" {
			commands = append(commands, []string{strings.TrimSuffix(strings.TrimPrefix(cmd.UseLine(), "dq-bench "), " [flags]"), cmd.Short})
		}
	})
	for _, row := range flagTable {
		flags = append(flags, []string{strings.TrimSpace("--" + row.name + " " + row.arg), row.help, strings.Join(users[row.name], ", ")})
	}
	for name, document := range documents {
		byCommand[name] = document.command
	}
	needs := func(k plan.FaultInfo) string {
		var all []string
		if k.Reach != plan.Network {
			all = append(all, string(k.Reach))
		}
		for _, key := range k.Needs {
			all = append(all, "`"+key+"`")
		}
		return strings.Join(all, ", ")
	}
	page := must(template.New("reference.tmpl").Funcs(template.FuncMap{"cell": tableCell, "file": schemaFile, "needs": needs}).ParseFiles("testdata/reference.tmpl"))
	var out strings.Builder
	require.NoError(t, page.Execute(&out, map[string]any{
		"Commands": commands, "Flags": flags, "Documents": byCommand, "Scenarios": must(series.StoredScenarios()), "Faults": plan.FaultKinds,
	}))
	for _, f := range plan.Fields {
		if _, flag := rowOf(f.Flag()); !flag && !f.FlagOnly {
			require.Contains(t, out.String(), "\n|`"+f.Key+"`|")
		}
	}
	return out.String()
}

func tableCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func TestReferenceIsCurrent(t *testing.T) {
	const path = "../../../docs/reference.md"
	if *updateSchemas {
		require.NoError(t, os.WriteFile(path, []byte(reference(t)), 0o644))
	}
	is := must(os.ReadFile(path))
	require.Equal(t, reference(t), string(is), "write it by: go test ./harness/internal/cli -run Reference -args -update")
}

// docker/release.sh keeps the pages in the folder DQ_MAN.
func TestManPages(t *testing.T) {
	folder := cmp.Or(os.Getenv("DQ_MAN"), t.TempDir())
	require.NoError(t, doc.GenManTree(newRootCmd(), &doc.GenManHeader{Section: "1", Source: tool().Version}, folder))
	eachCommand(newRootCmd(), func(cmd *cobra.Command) {
		require.FileExists(t, filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
	})
}

// slowCommands run only with DQ_THOROUGH: they take longer than a few seconds.
var slowCommands = regexp.MustCompile(`^dq-bench (run|compare|verify)\b`)

var endlessCommands = regexp.MustCompile(`^dq-bench guard\b`)

// readme returns README.md and the root of the repository.
func readme() (text, root string) {
	root = must(filepath.Abs("../../.."))
	return string(must(os.ReadFile(filepath.Join(root, "README.md")))), root
}

// Every dq-bench command of README.md runs in an empty folder, in the order of the page.
func TestREADMECommandsRun(t *testing.T) {
	t.Parallel()
	text, root := readme()
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
	text, root := readme()
	_, program, found := strings.Cut(text, "```go\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "```")
	address := must(url.Parse(redistest.Redis(t).URL())).Host
	require.Contains(t, program, "127.0.0.1:6379")
	program = strings.Replace(program, "127.0.0.1:6379", address, 1)
	module := regexp.MustCompile(`(?m)^    (go mod edit .*)$`).FindStringSubmatch(text)
	require.NotNil(t, module)
	require.Contains(t, text, "`values, err := java.NewMarshalling[string]()` for 3.16.6")
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
	// -e: nothing is downloaded, and the tests of dependencies need modules that nobody builds.
	run("go mod init example && " + strings.NewReplacer("/path/to/checkout", root, "tidy", "tidy -e").Replace(module[1]))
	require.Regexp(t, `order 7 *<nil>\n(?s:.*)order 7 *<nil>\n$`, run("go run ."))
}

func TestREADMEIsShort(t *testing.T) {
	text, _ := readme()
	require.LessOrEqual(t, strings.Count(text, "\n"), 120)
	prose := regexp.MustCompile("(?ms)^```.*?^```|^    .*?$|^[|#].*?$").ReplaceAllString(text, ".")
	for _, sentence := range regexp.MustCompile(`[.:;]\s`).Split(prose, -1) {
		require.LessOrEqual(t, len(strings.Fields(sentence)), 30, sentence)
	}
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestREADMEInChineseHasTheSameCommands(t *testing.T) {
	text, root := readme()
	code := regexp.MustCompile("(?m)^(?:    |\t).*$")
	require.Equal(t, code.FindAllString(text, -1), code.FindAllString(string(must(os.ReadFile(filepath.Join(root, "README.zh-CN.md")))), -1))
}

// The run in README.md prints the lines that stand there, whatever the figures.
func TestREADMEShowsWhatARunPrints(t *testing.T) {
	t.Parallel()
	text, _ := readme()
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

// A command line that can never be right ends with 2, says why in one line, and writes nothing.
func TestUsage(t *testing.T) {
	lines := must(os.ReadFile("testdata/usage.txt"))
	folder := t.TempDir()
	t.Chdir(folder)
	for line := range strings.Lines(string(lines)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			command, pattern, _ := strings.Cut(strings.TrimSpace(line), " =>")
			args := strings.Fields(command)
			for strings.HasPrefix(args[0], "DQ_") {
				name, value, _ := strings.Cut(args[0], "=")
				t.Setenv(name, value)
				args = args[1:]
			}
			var out, errs strings.Builder
			require.Equal(t, exitUsage, Execute(args, strings.NewReader(""), &out, &errs), errs.String())
			require.Empty(t, out.String())
			require.Regexp(t, strings.TrimSpace(pattern), errs.String())
		})
	}
	require.Empty(t, must(os.ReadDir(folder)))
}
