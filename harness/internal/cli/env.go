package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/redis"
)

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
		if value == "" || ignored(f, value, stderr) {
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
