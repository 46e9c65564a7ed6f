package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// quickCases are those of a run that is not thorough: none of them waits for seconds.
const quickCases = `^(DQ\.offer/(new|later|zero|negative|unit|without)|DQ\.start/|DQ\.names/|Q\.blocking/take)`

const guide = "../../../docs/guides/port.py"

// interpreter is Python itself: the python3 on PATH may be a script that looks for one at each start.
var interpreter = sync.OnceValues(func() ([]byte, error) {
	return exec.CommandContext(context.Background(), "python3", "-c", "import sys; print(sys.executable, end='')").Output()
})

func verify(t *testing.T, port string, level conformance.Level, pattern string) *conformance.Report {
	t.Helper()
	for name, command := range map[string]string{"redis": "redis-server", "python3": "python3"} {
		if _, err := exec.LookPath(command); err != nil {
			redistest.Missing(t, name, err)
		}
	}
	t.Parallel()
	python, err1 := interpreter()
	spec, err2 := spec.ParseProgram(fmt.Sprintf("exec:'%s' %s", python, port))
	require.NoError(t, cmp.Or(err1, err2))
	all, oracle := conformance.Loaded()
	cases, err := conformance.Matching(all, pattern)
	require.NoError(t, err)
	plan := conformance.Plan{
		Spec: spec, Redis: "process", Level: level, Cases: cases, Oracle: oracle, MaxFailures: 3,
		Notice: func(s string) { t.Log(s) }, Finished: func(conformance.Result) {},
	}
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	return report
}

func TestPortsPassTheirLevel(t *testing.T) {
	report := verify(t, guide, conformance.State, map[bool]string{false: quickCases}[redistest.Thorough()])
	require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
	require.GreaterOrEqual(t, report.Counts.Pass, 20, report.Text())
}

// A script of the port's own is another one on the wire, and that is said once.
func TestAPortFailsWireWithOneCause(t *testing.T) {
	report := verify(t, guide, conformance.Wire, quickCases)
	require.Contains(t, report.Stopped, "3 cases in a row failed alike")
	text := report.Text()
	require.Contains(t, text, "in place of EVALSHA")
	require.Contains(t, text, "and also")
}

func faulty(t *testing.T, old, new string) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	port := filepath.Join(t.TempDir(), "port.py")
	require.NoError(t, os.WriteFile(port, []byte(strings.ReplaceAll(string(text), old, new)), 0o600))
	return port
}

// A program that ends in the middle of a case fails that case, with what it said last, and is started anew for the next.
func TestAProgramThatEndsFailsItsCases(t *testing.T) {
	const sends = `self.client.run("EVAL", OFFER, 3`
	const third = `Client.offers = getattr(Client, "offers", 0) + 1
        if Client.offers == 3: print("panic: the third offer", file=sys.stderr, flush=True); os._exit(1)
        `
	report := verify(t, faulty(t, sends, third+sends), conformance.State, "^DQ.(offer|poll|read)/|retry-after")
	require.Zero(t, report.Counts.Error)
	require.Positive(t, report.Counts.Pass)
	require.Contains(t, report.Stopped, "in 3 cases the program failed")
	for _, r := range report.Cases {
		if r.Status == conformance.Fail {
			require.Contains(t, r.Detail, "panic: the third offer")
		}
	}
}

// A fault breaks the statements about what differs, and no others that its cases show.
func TestAFaultBreaksItsStatements(t *testing.T) {
	const transfers = "DQ.(transfer/(one|equal)|names/braces-stay|start/delivers)"
	for name, c := range map[string]struct {
		old, new, run, broken string
		level                 conformance.Level
	}{
		"scripts of its own":      {"", "", "DQ.offer/new|Q.list/poll|" + transfers, "W-OFFER-6 W-SCRIPT-2 W-TRANSFER-10", conformance.Wire},
		"offers store nothing":    {`self.client.run("EVAL", OFFER, 3`, `return; self.client.run("EVAL", OFFER, 3`, "DQ.offer/(new|later|unit)", "W-OFFER-1", conformance.State},
		"a length of 4 bytes":     {"Bc0Lc0", "Bc0Ic0", "DQ.offer/new-head-p|DQ.transfer/(one|equal)", "W-MEMBER-2 W-TRANSFER-2", conformance.State},
		"one id":                  {"os.urandom(8)", `b"12345678"`, "DQ.offer/(later|equal)", "W-MEMBER-4", conformance.State},
		"one id, of equal values": {"os.urandom(8)", `b"12345678"`, "DQ.offer/equal", "W-MEMBER-4", conformance.State},
		"leaves the timeout set":  {"redis.call('ZREM', KEYS[1], unpack(due))", "return string.format('%d', ARGV[1] + 100)", transfers, "W-TRANSFER-2", conformance.State}, // a pause, or it never ends
		"moves the last first":    {"for _, member in ipairs(due) do", "for i = #due, 1, -1 do local member = due[i]", transfers, "W-TRANSFER-1 W-TRANSFER-4", conformance.State},
		"alters values":           {"KEYS[3], value", "KEYS[3], value .. '.'", transfers, "W-TRANSFER-2", conformance.State},
		"another pending list":    {`"redisson_delay_queue:" + tag`, `"redisson_delay_list:" + tag`, "DQ.offer/(new-head-p|later)|DQ.transfer/(one|wrong)", "W-KEY-1", conformance.State},
		"an answer of a probe":    {`"LLEN", self.pending`, `"LLEN", self.name`, "DQ.transfer/(one|wrong)", "", conformance.State},
	} {
		t.Run(name, func(t *testing.T) {
			port := guide
			if c.old != "" {
				port = faulty(t, c.old, c.new)
			}
			report := verify(t, port, c.level, "^(?:"+c.run+")")
			require.Positive(t, report.Counts.Fail)
			var broken []string
			for _, v := range report.Verdicts() {
				if v.Verdict == conformance.Broken {
					broken = append(broken, v.ID)
				}
			}
			require.Equal(t, c.broken, strings.Join(broken, " "), report.Text())
		})
	}
}
