package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/text"
)

// noArgs refuses arguments of a command that has none, as cobra.NoArgs does, which calls
// them unknown commands.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("expected flags only, got the argument %q", args[0])
	}
	return nil
}

// noCommand refuses what the root is given that is none of its commands.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range root.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s", args[0], text.DidYouMean(args[0], names))
}

// flagError is wrong usage of flags. Flags behind an unknown command are unknown too, but
// it is the command that was mistyped.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return seeHelp(cmd, err)
	}
	if !cmd.HasParent() {
		if wrong := noCommand(cmd, cmd.Flags().Args()); wrong != nil {
			return seeHelp(cmd, wrong)
		}
	}
	if meant := text.Meant(unknown.GetSpecifiedName(), flagNames(cmd)); meant != "" && unknown.GetSpecifiedShortnames() == "" {
		err = fmt.Errorf("%w (did you mean --%s?)", err, meant)
	}
	return seeHelp(cmd, err)
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// seeHelp makes wrong usage of an error, and says where the right one is.
func seeHelp(cmd *cobra.Command, err error) error {
	return usageError(fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath()))
}

// wrapArgErrors makes a wrong number of arguments, and an unknown command, a
// usage error.
func wrapArgErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return seeHelp(cmd, err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgErrors(sub)
	}
}
