package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// envName returns the environment twin of a flag: payload-size → DQ_PAYLOAD_SIZE.
func envName(flag string) string {
	return "DQ_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// flagsFromEnv gives every flag that the command line left out the value of its
// environment twin. An empty variable counts as unset. A flag that may be
// repeated takes one value from the environment. The flags that only print something
// have no twin.
func flagsFromEnv(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var firstErr error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || f.Name == "version" || firstErr != nil {
			return
		}
		value, ok := lookup(envName(f.Name))
		if !ok || value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			firstErr = usageError(fmt.Errorf("%s: %w", envName(f.Name), err))
		}
	})
	return firstErr
}
