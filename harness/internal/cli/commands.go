package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/internal/text"
)

// commandTable has each command, by its group, in the order of help and docs/reference.md.
var commandTable = []struct {
	group    string
	commands []func() *cobra.Command
}{
	{"Measure", []func() *cobra.Command{newRunCmd, newAgentCmd, newCompareCmd, newServeCmd}},
	{"Judge", []func() *cobra.Command{newVerifyCmd, newRecordCmd, newReplayCmd, newDiffCmd}},
	{"Operate", []func() *cobra.Command{newDoctorCmd, newQueueCmd, newGuardCmd, newAnalyzeCmd}},
	{"Upgrade", []func() *cobra.Command{newChangesCmd, newMigrateCmd, newCodecCmd}},
	{"Set up", nil}, // cobra's completion, and help
	{"", []func() *cobra.Command{newServeDriverCmd}},
}

func newRootCmd() *cobra.Command {
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:           "dq-bench",
		Short:         "Measure, verify and explain Redisson-compatible delay queues",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return flagsFromEnv(cmd.Flags(), os.LookupEnv, cmd.ErrOrStderr())
		},
	}
	root.SetVersionTemplate("{{.Version}}")
	flagsOf(root).yes(new(bool), "version")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
	for _, row := range commandTable {
		if row.group != "" {
			root.AddGroup(&cobra.Group{ID: row.group, Title: row.group})
		}
		for _, command := range row.commands {
			cmd := command()
			cmd.GroupID = row.group
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommand(newHelpCmd())
	root.SetHelpCommandGroupID("Set up")
	root.SetCompletionCommandGroupID("Set up")
	root.InitDefaultCompletionCmd()
	finish(root)
	return root
}

// finish gives a command and those below it what all have: wrong arguments are wrong usage, a group of commands shows its
// help, an address may have its password in a file, and the shell completes the values of flags.
func finish(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return seeHelp(cmd, check(cmd, args)) }
	}
	if cmd.Flags().Lookup("redis") != nil {
		addPassword(cmd)
	}
	completeFlags(cmd)
	for _, sub := range cmd.Commands() {
		finish(sub)
	}
}

// newHelpCmd prints the help of a command.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the flags of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				of, rest = cmd.Root(), args
			}
			if len(rest) > 0 {
				return seeHelp(of, unknownCommand(of, rest[0]))
			}
			return of.Help()
		},
	}
}

// noArgs refuses arguments: of a group of commands they are mistyped commands.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return fmt.Errorf("expected flags only, got the argument %q", args[0])
}

func unknownCommand(of *cobra.Command, name string) error {
	var names []string
	for _, sub := range of.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s", name, text.DidYouMean(name, names))
}

// flagError is wrong usage of flags. Flags behind an unknown command are unknown too, but the command was mistyped.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return seeHelp(cmd, err)
	}
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return seeHelp(cmd, unknownCommand(cmd, cmd.Flags().Arg(0)))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := text.Meant(unknown.GetSpecifiedName(), names); meant != "" && unknown.GetSpecifiedShortnames() == "" {
		err = fmt.Errorf("%w (did you mean --%s?)", err, meant)
	}
	return seeHelp(cmd, err)
}

// seeHelp makes wrong usage of an error, and says where the right one is.
func seeHelp(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError(fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath()))
}
