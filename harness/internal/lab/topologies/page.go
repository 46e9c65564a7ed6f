package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// page is TOPOLOGIES.md.
func page(jobs []*job, absent []string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Topologies\n\ndq on real servers of every kind, all on one machine, by `make topologies`, %s, %s on %s/%s, %d CPUs.\n\n",
		at.UTC().Format("2006-01-02 15:04 UTC"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	writeCases(&b, jobs, absent)
	writeLoads(&b, jobs)
	writeFaults(&b, jobs)
	return b.String()
}

func writeCases(b *strings.Builder, jobs []*job, absent []string) {
	b.WriteString("## Conformance\n\nThe cases that hold for the newest release, as `dq-bench verify` runs them, with dq connected by the topology. *By state*: replies, keys and order are\n" +
		"compared, and not commands, for MONITOR shows all clients of a Unix socket as one, and Redis before 7.0 has not all commands. A Cluster refuses a call whose keys are in two slots; the user of the [rights](../dq/README.md#rights) for\n" +
		"offers and takes is refused others. [MATRIX.md](MATRIX.md) has all releases, on one server.\n\n" +
		"| servers | topology | | passed | failed | cannot be carried |\n|---|---|---|---:|---:|---|\n")
	for _, j := range jobs {
		fmt.Fprintf(b, "| %s | **%s** | %s |", j.program, j.kind.Name, j.kind.About)
		switch {
		case j.unfit != "":
			fmt.Fprintf(b, " | | not run: %s |\n", j.unfit)
		case j.verdict != nil && j.verdict.Unjudged != "":
			fmt.Fprintf(b, " | | not judged: %s |\n", j.verdict.Unjudged)
		case j.verdict == nil:
			b.WriteString(" | | **not judged** |\n")
		default:
			level := ""
			if j.verdict.Level != "wire" {
				level = ", by " + string(j.verdict.Level)
			}
			fmt.Fprintf(b, " %d%s | %s | %s |\n", j.verdict.Passed, level, marked(len(j.verdict.Failed)), j.verdict.LeftText())
		}
	}
	for _, name := range absent {
		fmt.Fprintf(b, "| %s | | not run: no program of it is here; `DQ_REDIS_SERVERS=path:path` takes more, and `make servers` fetches them from Debian | | | |\n", name)
	}
}

func writeLoads(b *strings.Builder, jobs []*job) {
	fmt.Fprintf(b, "\n## Under load\n\nOne service offers to two queues, 300 messages a second in all, due 0.1 to 0.4 s later, and another takes from one of them, and reserves and acknowledges from the other,\n"+
		"while the fault happens. *Lost* is what was acknowledged and never came: `Take` hands a message over at most once, and replication does not wait. What nothing of that accounts for is *beyond*,\n"+
		"and fails. *Twice* came by `Take`, because the master that gave it out had not told its successor; *again* from the `ReliableQueue`, which promises at least once.\n"+
		"*Gap* is the longest time without a delivery, the fault included; *resumed* from the end of the fault, when all servers are whole again, to the next delivery at most %s late;\n"+
		"all topologies share one machine here, and a server that is killed has appendfsync always, so that these two are no more than an impression.\n\n", run.OnTime)
	b.WriteString("| servers | topology | fault | Redis may lose | offered | acknowledged | refused | uncertain (came) | lost on the way | lost unreplicated | beyond | twice | again | early | fault | gap | resumed |\n" +
		"|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, j := range jobs {
		for _, o := range j.outcomes {
			uncertain := fmt.Sprint(o.Uncertain)
			if o.Uncertain > 0 {
				uncertain = fmt.Sprintf("%d (%d)", o.Uncertain, o.UncertainCame)
			}
			twice := fmt.Sprint(o.Twice)
			if o.TwiceBeyond > 0 {
				twice = fmt.Sprintf("**%d**, %d beyond", o.Twice, o.TwiceBeyond)
			}
			resumed := "late"
			if o.Resumed >= 0 {
				resumed = run.FormatNs(int64(o.Resumed))
			}
			fmt.Fprintf(b, "| %s | **%s** | %s | %s | %d | %d | %d | %s | %d | %d | %s | %s | %d | %s | %s | %s | %s |\n",
				j.program, j.kind.Name, o.fault.Name, o.fault.Loses, o.Offered, o.Acknowledged, o.Refused, uncertain,
				o.LostPopped, o.LostUnreplicated, marked(o.LostBeyond), twice, o.Again, marked(o.Early),
				run.FormatNs(int64(o.Fault)), run.FormatNs(int64(o.Gap)), resumed)
		}
	}
	b.WriteString("\nThe faults:\n\n")
	told := map[string]bool{}
	for _, j := range jobs {
		for _, o := range j.outcomes {
			if line := fmt.Sprintf("- %s, %s: %s\n", j.kind.Name, o.fault.Name, o.fault.About); !told[line] {
				told[line] = true
				b.WriteString(line)
			}
		}
	}
}

func writeFaults(b *strings.Builder, jobs []*job) {
	b.WriteString("\n## What failed\n\n")
	none := true
	for _, j := range jobs {
		for _, f := range j.faults() {
			none = false
			fmt.Fprintf(b, "%s:\n\n```\n%s\n```\n\n", j, text.Inert(strings.TrimSpace(f)))
		}
	}
	if none {
		b.WriteString("Nothing.\n")
	}
}

// marked makes what should be none stand out.
func marked(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("**%d**", n)
}
