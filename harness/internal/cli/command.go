package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/text"
)

// commands makes each command of door.txt; a verb of queue is made by newQueueVerb.
var commands = map[string]func() *call{
	"run": newRun, "agent": newAgent, "compare": newCompare, "serve": newServe, "serve-driver": newServeDriver,
	"verify": newVerify, "record": newRecord, "replay": newReplay, "diff": newDiff,
	"doctor": newDoctor, "guard": newGuard, "analyze": newAnalyze, "changes": newChanges, "migrate": newMigrate,
	"queue": func() *call { return newCall("queue", noArgs) },
	"codec": func() *call { return newCall("codec", noArgs) }, "codec decode": newDecode, "codec types": newTypes,
}

// call is one command with its flags and, while it runs, its context and streams.
type call struct {
	*cobra.Command
	check         func(args []string) error // of arguments and flags; an error is wrong usage
	redis, listen string
	at            load.Address // of listen, or of join
	rights        string       // on that server
	json          bool
	reports       []string
}

// newCall returns the command of that name with the texts of door.txt.
func newCall(name string, args cobra.PositionalArgs) *call {
	p := pages[slices.IndexFunc(pages, func(p page) bool { return p.name == name })]
	return &call{Command: &cobra.Command{Use: p.use, Short: p.short, Long: p.long, Example: p.examples, Args: args, Hidden: p.group == "-"}}
}

// does has the command check its arguments and its reports, and then do something.
func (c *call) does(run func(args []string) error) *call {
	c.RunE = func(_ *cobra.Command, args []string) error {
		if c.check != nil {
			if err := c.check(args); err != nil {
				return usageError(err)
			}
		}
		if err := c.checkReports(); err != nil {
			return err
		}
		return run(args)
	}
	return c
}

// add adds a flag of some type with the texts of its row.
func add[T any](typed func(at *T, name, short string, def T, help string), at *T, name string, def T) {
	row, _ := rowOf(name) // TestHelp finds a flag without one
	typed(at, name, row.short, def, row.help)
}

func (c *call) str(at *string, name, def string)  { add(c.Flags().StringVarP, at, name, def) }
func (c *call) num(at *int, name string, def int) { add(c.Flags().IntVarP, at, name, def) }
func (c *call) yes(at *bool, name string)         { add(c.Flags().BoolVarP, at, name, false) }
func (c *call) span(at *time.Duration, name string, def time.Duration) {
	add(c.Flags().DurationVarP, at, name, def)
}
func (c *call) list(at *[]string, name string, def ...string) {
	add(c.Flags().StringArrayVarP, at, name, def)
}

// prints adds --json, and with reports --report.
func (c *call) prints(reports bool) {
	c.yes(&c.json, "json")
	if reports {
		c.list(&c.reports, "report")
		c.more("report", ": "+strings.Join(report.Endings, ", "))
	}
}

// more appends to the help of a flag what differs from command to command: the values that it takes.
func (c *call) more(name, help string) { c.Flag(name).Usage += help }

// ifGiven is a value that the command line has, and not the environment.
func ifGiven[T any](c *call, flag string, value T) (zero T) {
	if c.given(flag) {
		return value
	}
	return zero
}

// given reports whether the command line has a flag. A default from the environment is not given.
func (c *call) given(name string) bool { return c.Flags().Changed(name) }

func init() { cobra.EnableCommandSorting = false }

func newRootCmd() *cobra.Command {
	root := &call{Command: &cobra.Command{
		Use:           "dq-bench",
		Short:         "Measure, verify and explain Redisson-compatible delay queues",
		Version:       tool().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return flagsFromEnv(cmd.Flags(), os.LookupEnv, cmd.ErrOrStderr())
		},
	}}
	root.SetVersionTemplate(version())
	root.yes(new(bool), "version")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if !mistyped(cmd) {
			fmt.Fprint(cmd.OutOrStdout(), form("help.tmpl", cmd))
		}
	})
	made := map[string]*cobra.Command{"": root.Command}
	for _, p := range pages {
		parent, name, below := strings.Cut(p.name, " ")
		if !below {
			parent, name = "", parent
		}
		if commands[p.name] == nil {
			made[p.name] = newQueueVerb(name).Command
		} else {
			made[p.name] = commands[p.name]().Command
		}
		if !below && p.group != "-" {
			if made[p.name].GroupID = p.group; !root.ContainsGroup(p.group) {
				root.AddGroup(&cobra.Group{ID: p.group, Title: p.group})
			}
		}
		made[parent].AddCommand(made[p.name])
	}
	const setUp = "Set up"
	root.AddGroup(&cobra.Group{ID: setUp, Title: setUp})
	root.SetHelpCommand(newHelpCmd())
	root.SetHelpCommandGroupID(setUp)
	root.SetCompletionCommandGroupID(setUp)
	root.InitDefaultCompletionCmd()
	finish(root.Command)
	return root.Command
}

// finish gives a command and the commands below it what all have: wrong arguments are wrong usage, a group of commands shows
// its help, an address may have its password in a file, and the shell completes the values of flags.
func finish(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return seeHelp(cmd, check(cmd, args)) }
	}
	if cmd.Flags().Lookup("redis") != nil {
		addPassword(&call{Command: cmd})
	}
	for _, sub := range cmd.Commands() {
		finish(sub)
	}
}

// mistyped reports whether a group of commands was called with arguments.
func mistyped(cmd *cobra.Command) bool { return cmd.HasSubCommands() && cmd.Flags().NArg() > 0 }

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

const many = -1

// needs refuses fewer or more arguments than a command takes.
func needs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most != many && len(args) > most {
			return fmt.Errorf("expected %s, got %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"), text.Plural(int64(len(args)), "argument"))
		}
		return nil
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
	if mistyped(cmd) {
		return seeHelp(cmd, unknownCommand(cmd, cmd.Flags().Arg(0)))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := text.Meant(unknown.GetSpecifiedName(), names); meant != "" && unknown.GetSpecifiedShortnames() == "" {
		err = fmt.Errorf("%w (did you mean --%s?)", err, meant)
	}
	return seeHelp(cmd, err)
}

// seeHelp makes wrong usage of an error, and names the command that prints the right one.
func seeHelp(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError(fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath()))
}
