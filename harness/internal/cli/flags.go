package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagRow describes one flag. A flag means the same in each command that has it.
type flagRow struct{ name, short, arg, group, help string }

// flagTable has each flag of dq-bench, in the order of help and docs/reference.md.
var flagTable = []flagRow{
	{"producers", "", "N", "Load", "goroutines that offer"},
	{"consumers", "", "N", "Load", "goroutines that take"},
	{"rate", "", "RATE", "Load", "offers of all producers: 1000/s, 90/m, 1k/s..20k/s"},
	{"delay", "", "DELAY", "Load", "5s, 1s..10s to draw it, or @10s for one instant"},
	{"duration", "", "TIME", "Load", "how long messages are offered"},
	{"payload-size", "", "SIZE", "Load", "size of each value: 100, 64KiB"},
	{"warmup", "", "TIME", "Load", "length of the warm-up (default: until steady, at most 30s)"},
	{"drain-timeout", "", "TIME", "Load", "wait for missing messages after the last delivery"},
	{"seed", "", "N", "Load", "seed of drawn delays"},
	{"queue", "", "NAME", "Load", "destination queue (default: a new one, removed at the end)"},
	{"set", "", "FIELD=VALUE", "Load", "another field of the plan, such as poll=100ms; repeatable"},
	{"file", "f", "NAME", "Scenario", "scenario, by name or YAML file; repeatable"},
	{"list", "", "", "Scenario", "list the scenarios and their variants, and run nothing"},
	{"variant", "", "NAME", "Scenario", "variant of the scenario; repeatable"},
	{"driver", "", "DRIVER", "Driver", "dq[:RELEASE] redisson:VERSION exec:CMD"},
	{"repeat", "", "N", "Driver", "runs of each driver, in turn; 6 bear a verdict"},
	{"beside", "", "", "Driver", "run the drivers at the same time, each on its own server"},
	{"agents", "", "N", "Driver", "wait at --listen for N agents, which make the load"},
	{"join", "", "HOST:PORT", "Driver", "--listen address of the run, or its URL"},
	{"token-file", "", "FILE", "Driver", "file with the token that lets agents in"},
	{"redis", "", "ADDRESS", "Server", "redis://… rediss://… redis+cluster://… redis+sentinel://… unix:///…"},
	{"redis-password-file", "", "", "Server", "file with the Redis password"},
	{"run", "", "REGEXP", "Cases", "run only cases with a matching id"},
	{"level", "", "LEVEL", "Cases", "how alike: wire, exchange or state"},
	{"baseline", "", "FILE", "Cases", "YAML file of cases that must fail"},
	{"write-baseline", "", "FILE", "Cases", "write the failed cases as a baseline; runs all cases"},
	{"random", "", "N", "Cases", "draw N histories in the place of cases, and shrink one that fails; 0: for the time of --for"},
	{"all", "", "", "Queues", "all delayed queues of the server or cluster"},
	{"watch", "", "", "Queues", "repeat until interrupted"},
	{"for", "", "TIME", "Queues", "stop after this time"},
	{"ahead", "", "TIME", "Queues", "if both layouts wait, take members out this long before they are due"},
	{"when-stalled", "", "TIME", "Queues", "otherwise, deliver messages overdue by this time"},
	{"where", "", "FILTER", "Queues", "part of the value; '.field == value' of JSON; due=never, due<5m, due>1h"},
	{"of", "", "PARTS", "Queues", "waiting, ready, held, retry, dead, aside; several with commas"},
	{"redact", "", "", "Queues", "show no values"},
	{"to", "", "RELEASE", "Change", "rewrite members for this Redisson release or layout (dLc0, Bc0Lc0)"},
	{"release", "", "RELEASE", "Change", "Redisson release of the driver or of the services; OLD:NEW for --codec"},
	{"codec", "", "CODEC", "Change", "codec of the values, such as kryo5; FROM:TO rewrites them"},
	{"classpath", "", "FILE", "Change", "jar, Spring Boot jar, folder or 'lib/*' of the application, for Java; repeatable"},
	{"class", "", "CLASS", "Change", "full name of the class of the values"},
	{"allow-changes", "", "", "Safety", "the page at --listen offers the verbs of queue, behind its token"},
	{"yes", "", "", "Safety", "make the changes; without it, the plan is printed"},
	{"force", "", "", "Safety", "continue where the command would refuse"},
	{"slo", "", "OBJECTIVE", "Verdict", "such as 'lateness.p99<=20ms' or 'lost<=0'; repeatable"},
	{"by", "", "WHAT", "Verdict", "make the sets by version, commit, server or label:KEY"},
	{"min-effect", "", "SHARE", "Verdict", "smallest change that matters, as a share"},
	{"min-delta", "", "TIME", "Verdict", "smallest change of a time that matters"},
	{"hex", "", "", "Output", "read or write bytes as hexadecimal digits"},
	{"out", "", "FOLDER", "Output", "folder of the files written"},
	{"report", "", "FILE", "Output", "write a report in the form of its ending"},
	{"json", "", "", "Output", "print one JSON document on stdout and nothing else"},
	{"label", "", "KEY=VALUE", "Output", "label kept in the run file; repeatable"},
	{"listen", "", "HOST:PORT", "Output", "serve pages and /metrics here; :0 picks a free local port"},
	{"progress", "", "MODE", "Output", "progress on stderr: auto, plain, none"},
	{"verbose", "v", "", "Output", "run all cases; print each, and the log of the program"},
	{"version", "", "", "Output", "print the version, the commit and the Redisson releases known"},
}

// rowOf returns the row of a flag.
func rowOf(name string) (flagRow, bool) {
	i := slices.IndexFunc(flagTable, func(row flagRow) bool { return row.name == name })
	if i < 0 {
		return flagRow{}, false
	}
	return flagTable[i], true
}

// flagSet adds flags of the table to a command.
type flagSet struct{ *pflag.FlagSet }

func flagsOf(cmd *cobra.Command) flagSet { return flagSet{cmd.Flags()} }

// row returns the row of a flag. A flag that the table lacks is a mistake of the program.
func (flagSet) row(name string) flagRow {
	row, ok := rowOf(name)
	if !ok {
		panic("no row in flagTable for --" + name)
	}
	return row
}

func (s flagSet) str(at *string, name, def string) {
	row := s.row(name)
	s.StringVarP(at, name, row.short, def, row.help)
}

func (s flagSet) list(at *[]string, name string, def ...string) {
	row := s.row(name)
	s.StringArrayVarP(at, name, row.short, def, row.help)
}

func (s flagSet) num(at *int, name string, def int) { s.IntVar(at, name, def, s.row(name).help) }

func (s flagSet) share(at *float64, name string, def float64) {
	s.Float64Var(at, name, def, s.row(name).help)
}

func (s flagSet) span(at *time.Duration, name string, def time.Duration) {
	s.DurationVar(at, name, def, s.row(name).help)
}

func (s flagSet) yes(at *bool, name string) {
	row := s.row(name)
	s.BoolVarP(at, name, row.short, false, row.help)
}

// more appends to the help of a flag what differs from command to command: the values that it takes.
func (s flagSet) more(name, help string) { s.Lookup(name).Usage += help }
