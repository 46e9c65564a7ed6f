package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
)

// portFaults replace text of docs/guides/port.py: each makes the port break a MUST.
var portFaults = [][3]string{
	{"due a second late", "due = (now() +", "due = (now() + 1000 +"},
	{"due a second early", "due = (now() +", "due = (now() - 1000 +"},
	{"due a millisecond late", "// 10**6\ndef typed", "// 10**6 + 1\ndef typed"},
	{"due in seconds", "due, os.urandom(8)", "due // 1000, os.urandom(8)"},
	{"no pending entry", " redis.call('RPUSH', KEYS[2], member)", ""},
	{"pending entry in front", "'RPUSH', KEYS[2]", "'LPUSH', KEYS[2]"},
	{"publishes always", "if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == member then", "if true then"},
	{"publishes never", "if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == member then", "if false then"},
	{"publishes the id", "'PUBLISH', KEYS[3], ARGV[1]", "'PUBLISH', KEYS[3], ARGV[2]"},
	{"one id for all", "os.urandom(8)", `b"12345678"`},
	{"half an id", "os.urandom(8)", "os.urandom(4)"},
	{"the other layout", "struct.pack('Bc0Lc0', #ARGV[2], ARGV[2], #ARGV[3], ARGV[3])", "struct.pack('dLc0', 1, #ARGV[3], ARGV[3])"},
	{"another timeout set", `"redisson_delay_queue_timeout:" + tag`, `"redisson_delay_queue_timeouts:" + tag`},
	{"another pending list", `"redisson_delay_queue:" + tag`, `"redisson_delay_list:" + tag`},
	{"another channel", `"redisson_delay_queue_channel:" + tag`, `"redisson_delay_channel:" + tag`},
	{"names without braces", `tag = name if "{" in name else "{" + name + "}"`, "tag = name"},
	{"offers twice", `due, os.urandom(8), r["value"]["v"])`, `due, os.urandom(8), r["value"]["v"]); self.client.run("RPUSH", self.name, r["value"]["v"])`},
	{"takes negative delays", `if millis(r, "delay") < 0`, `if millis(r, "delay") < -10**18`},
	{"moves 99", "'LIMIT', 0, 100", "'LIMIT', 0, 99"},
	{"moves 101", "'LIMIT', 0, 100", "'LIMIT', 0, 101"},
	{"transfer leaves the pending list", " redis.call('LREM', KEYS[2], 1, member)", ""},
	{"transfer removes equal entries", "'LREM', KEYS[2], 1", "'LREM', KEYS[2], 0"},
	{"transfer leaves the timeout set", "if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end", ""},
	{"transfer pushes in front", "redis.call('RPUSH', KEYS[3], value)", "redis.call('LPUSH', KEYS[3], value)"},
	{"transfer pushes members", "KEYS[3], value", "KEYS[3], member"},
	{"transfers 2 s ahead", "*self.keys, now())", "*self.keys, now() + 2000)"},
	{"transfers 20 ms ahead", "*self.keys, now())", "*self.keys, now() + 20)"},
	{"transfers 2 s late", "max(0, (due - now()) / 1000)", "max(0, (due - now()) / 1000) + 2"},
	{"transfers 300 ms late", "max(0, (due - now()) / 1000)", "max(0, (due - now()) / 1000) + 0.3"},
	{"clock 2 s behind", "*self.keys, now())", "*self.keys, now() - 2000)"},
	{"no reply of the next due time", "return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]", "return false"},
	{"no transfer at the start", `b"message" else 0)`, `b"message" else now() + 10**9)`},
	{"hears no announcement", `int(news[2]) if news[0] == b"message" else 0`, `now() + 10**9 if news[0] == b"message" else 0`},
	{"subscribes once", "except OSError: time.sleep(0.1)", "except OSError: return"},
	{"one task for all queues", "name not in client.tasks", "not client.tasks"},
	{"a cancelled take loses a value", "if popped: return typed", `if popped and not r.get("cancelled"): return typed`},
	{"polls from the other end", `"LPOP", self.name`, `"RPOP", self.name`},
	{"takes from the other end", `"BLPOP", self.name`, `"BRPOP", self.name`},
	{"size of the wrong list", `"LLEN", self.name`, `"LLEN", self.pending`},
	{"dq.size of the wrong list", `"LLEN", self.pending`, `"LLEN", self.name`},
}

// BenchmarkMutants judges each mutant of the port at the level state, by the quick cases and by random histories. It fails
// below 95 % killed, and if the port itself is killed.
//
//	make mutants
func BenchmarkMutants(b *testing.B) {
	text, err := os.ReadFile("../../../docs/guides/port.py")
	require.NoError(b, err)
	faults := append([][3]string{{"the port itself", "", ""}}, portFaults...)
	causes := make([]string, len(faults))
	var running sync.WaitGroup
	free := make(chan struct{}, lanes/2)
	for i, f := range faults {
		mutant := strings.Replace(string(text), f[1], f[2], 1)
		require.True(b, i == 0 || mutant != string(text), "%s changes nothing", f[0])
		file := filepath.Join(b.TempDir(), "port.py")
		require.NoError(b, os.WriteFile(file, []byte(mutant), 0o600))
		free <- struct{}{}
		running.Go(func() { causes[i] = killed(b, file); <-free })
	}
	running.Wait()
	survived := 0
	for i, f := range faults[1:] {
		if causes[i+1] == "" {
			survived++
		}
		fmt.Printf("%-34s %.150s\n", f[0], cmp.Or(causes[i+1], "SURVIVED"))
	}
	fmt.Printf("%d of %d mutants killed at the level state\n", len(portFaults)-survived, len(portFaults))
	require.Empty(b, causes[0], "the port itself")
	require.LessOrEqual(b, survived*20, len(portFaults), "expected 95 % killed")
}

// killed returns the first failure of a port, or "".
func killed(b *testing.B, file string) string {
	driver, err := spec.ParseProgram(fmt.Sprintf("exec:python3 '%s'", file))
	require.NoError(b, err)
	sections, err1 := Load(os.DirFS("../../../scenarios"), "conformance")
	beyond, err2 := Load(os.DirFS("../../../scenarios"), "beyond")
	require.NoError(b, errors.Join(err1, err2))
	cases := slices.DeleteFunc(Select(append(sections, beyond...), nil), func(c *Case) bool { return c.Slow })
	plan := &Plan{Spec: driver, Redis: "process", Cases: cases, Level: State, MaxFailures: 1, Notice: func(string) {}, Finished: func(Result) {}, wait: 3 * time.Second}
	report, err := plan.Run(b.Context())
	if err != nil {
		return err.Error()
	}
	for _, r := range report.Cases {
		if r.Status == Fail {
			return r.ID + ": " + r.CauseText()
		}
	}
	plan.Cases = nil
	failure, _, err := plan.Random(b.Context(), 120)
	if err != nil {
		return err.Error()
	}
	return strings.SplitN(failure, "\n", 2)[0]
}
