package cli

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/recordings"
)

// doorText has the texts of each command and of each flag, in the order of help and docs/reference.md.
//
//go:embed door.txt
var doorText string

// page has the texts of one command.
type page struct{ group, name, use, short, long, examples string }

// flagRow describes one flag. A flag means the same in each command that has it.
type flagRow struct{ name, short, arg, group, help string }

var pages, flagTable = readDoor()

// sharedServer is the promise of verify, record and replay for a shared server.
const sharedServer = `An external server must hold no keys and no cached scripts, and have no other client. If another client connects,
the run stops with exit code 1 and deletes nothing further. The user needs all keys and channels, MONITOR,
SCRIPT FLUSH, MULTI, DEL and SCAN.`

// readDoor reads the text: a group, which is a line "= Group", has blocks, which begin with a line "== name". The last group
// is of flags.
func readDoor() (pages []page, flags []flagRow) {
	filled := strings.NewReplacer("{shared}", sharedServer, "{runs}", fmt.Sprint(compare.MinRuns), "{pairs}", fmt.Sprint(compare.MinPairs)).Replace(doorText)
	for _, part := range strings.Split("\n"+filled, "\n= ")[1:] {
		group, blocks, _ := strings.Cut(part, "\n")
		for _, block := range strings.Split(blocks, "\n== ")[1:] {
			name, body, _ := strings.Cut(block, "\n")
			if group == "Flags" {
				for _, m := range flagLine.FindAllStringSubmatch(body, -1) {
					flags = append(flags, flagRow{name: m[1], short: m[2], arg: m[3], group: name, help: m[4]})
				}
				continue
			}
			body, examples, _ := strings.Cut(body, "\nExamples:\n")
			head, long, _ := strings.Cut(body, "\n\n")
			use, short, _ := strings.Cut(strings.TrimSpace(head), "\n")
			pages = append(pages, page{group, name, use, short, strings.TrimSpace(long), strings.TrimRight(examples, "\n")})
		}
	}
	return pages, flags
}

// flagLine is a line such as "--file -f NAME    help".
var flagLine = regexp.MustCompile(`(?m)^--(\S+)(?: -(\w))?(?: (\S+))? {2,}(.+)$`)

// rowOf returns the row of a flag.
func rowOf(name string) (flagRow, bool) {
	if i := slices.IndexFunc(flagTable, func(row flagRow) bool { return row.name == name }); i >= 0 {
		return flagTable[i], true
	}
	return flagRow{}, false
}

// helpWidth is the widest line of help, in columns.
const helpWidth = 100

// flagsOf has a line for each flag of a command: its head, which begins with the group if the flag is the first one of it, and its help.
func flagsOf(cmd *cobra.Command) (lines [][2]string) {
	group := ""
	for _, row := range flagTable {
		f := cmd.Flags().Lookup(row.name)
		if f == nil {
			continue
		}
		title := ""
		if row.group != group {
			title, group = row.group, row.group
		}
		name := "--" + row.name
		if row.short != "" {
			name = "-" + row.short + ", " + name
		}
		usage := f.Usage
		if def := strings.Trim(f.DefValue, "[]"); def != "" && def != "false" && def != "0s" && !strings.Contains(usage, "(default") && !strings.HasPrefix(usage, def) {
			usage += " (default " + def + ")"
		}
		lines = append(lines, [2]string{fmt.Sprintf("%-8s %-21s ", title, strings.TrimSpace(name+" "+row.arg)), usage})
	}
	return lines
}

// columns puts a text behind its head, with each further line below the first.
func columns(head, words string) string {
	return text.WrapAt(helpWidth, len(head), head, strings.Join(strings.Fields(words), " "))
}

// envName returns the environment twin of a flag: payload-size → DQ_PAYLOAD_SIZE.
func envName(flag string) string {
	return "DQ_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// flagsFromEnv makes environment twins the defaults of the flags that the command line left out. Such a flag does not count as given,
// so an exported twin conflicts with no other flag. An empty variable counts as unset. A flag that may be repeated takes one value from
// the environment. --help, --version, --list, --force and --yes have no twin: an exported DQ_FORCE would lift the checks of every command.
func flagsFromEnv(flags *pflag.FlagSet, lookup func(string) (string, bool), stderr io.Writer) error {
	var firstErr error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || slices.Contains([]string{"help", "version", "list", "force", "yes", "allow-changes"}, f.Name) || firstErr != nil {
			return
		}
		value, _ := lookup(envName(f.Name))
		if value == "" || f.Name == "release" && strings.Contains(value, ":") && flags.Lookup("codec") == nil || ignored(f, value, stderr) { // OLD:NEW is for codecs
			return
		}
		if err := f.Value.Set(value); err != nil {
			if f.Value.Type() == "bool" {
				err = fmt.Errorf("expected true or false, got %q", value)
			}
			firstErr = usageError(fmt.Errorf("%s: %w", envName(f.Name), err))
		}
	})
	return firstErr
}

// ignored reports, also to the user, whether DQ_REDIS names a kind of server that the command does not take.
func ignored(f *pflag.Flag, server string, stderr io.Writer) bool {
	spec, err := redis.Parse(server)
	if err != nil || !slices.Contains(f.Annotations[ignoredKinds], string(spec.Kind)) {
		return false
	}
	fmt.Fprintf(stderr, "dq-bench: DQ_REDIS=%s is ignored: this command takes no such server, it uses %s\n", server, f.DefValue)
	return true
}

// namingTwin has wrong usage name the environment twin that the wrong value came from.
func namingTwin(flags *pflag.FlagSet, err error) error {
	flags.VisitAll(func(f *pflag.Flag) {
		twin := envName(f.Name)
		value := os.Getenv(twin)
		if value == "" || f.Changed || strings.Contains(err.Error(), twin) {
			return
		}
		for _, mention := range []string{f.Name + ": ", strings.ReplaceAll(f.Name, "-", " ") + ": ", "--" + f.Name + " " + value, strconv.Quote(value)} {
			if strings.Contains(err.Error(), mention) {
				err = fmt.Errorf("%s: %w", twin, err)
				return
			}
		}
	})
	return err
}

// version returns the text of 'dq-bench --version': the module's version, the commit if this program was built
// in a checkout, and the Redisson releases that the program knows.
func version() string {
	built := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
	}
	return form("version.tmpl", map[string]any{
		"Version": tool().Version, "Built": built, "Go": fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		"Known": wire.Releases(), "Newest": wire.Newest(), "Recorded": recordings.Releases(),
	})
}
