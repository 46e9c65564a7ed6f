package simulate_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

var (
	seeds  = flag.Uint64("seeds", 20, "how many seeds")
	first  = flag.Uint64("seed", 1, "the first of them")
	every  = flag.Uint64("every", 1, "the step from one seed to the next, to share them among processes")
	budget = flag.Duration("for", 0, "start no seed after this time; 0 for no limit")
	length = flag.Duration("length", 5*time.Minute, "the life of a queue that a seed covers")
	trace  = flag.Bool("trace", false, "print what the seeds do")
	quick  = flag.Bool("quick", false, "end with the first violation")
)

// TestMain keeps to one processor: goroutines that wake at the same instant then run in the
// order in which they were woken, and a seed does the same again.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	logging.Disable()        // of connections that break
	debug.SetGCPercent(2000) // 200 MB; a seventh less time than with 400
	os.Exit(m.Run())
}

func run(t *testing.T, plan Plan, options Options) (report Report) {
	t.Helper()
	hangs := time.AfterFunc(time.Minute+plan.Length/10, func() { // whose clock may stand still
		debug.SetTraceback("all")
		panic(fmt.Sprintf("seed %d does not end", plan.Seed))
	})
	defer hangs.Stop()
	synctest.Test(t, func(*testing.T) { report = Run(plan, options) })
	return report
}

func TestKeepsItsWordWhateverBefallsIt(t *testing.T) {
	total := map[string]int{}
	began, done := time.Now(), 0
	for seed := *first; seed < *first+*seeds**every; seed += *every {
		if *budget > 0 && time.Since(began) > *budget {
			break
		}
		report := run(t, Draw(seed, *length), Options{Trace: *trace})
		if *trace {
			t.Log("\n" + strings.Join(report.Trace, "\n"))
		}
		if len(report.Violations) > 0 && *quick {
			t.Fatalf("seed %d after %s:\n%s", seed, time.Since(began).Round(time.Second), strings.Join(report.Violations, "\n"))
		}
		if len(report.Violations) > 0 {
			t.Errorf("seed %d:\n%s\nagain: go test ./harness/internal/simulate -run TestKeeps -args -seed %d -seeds 1 -length %s -trace",
				seed, strings.Join(report.Violations, "\n"), seed, *length)
		}
		if done++; done%100 == 0 {
			t.Logf("%d seeds in %s", done, time.Since(began).Round(time.Second))
		}
		for kind, n := range report.Kinds {
			total[kind] += n
		}
	}
	t.Logf("%d seeds of %s in %s", done, *length, time.Since(began).Round(time.Millisecond))
	if done < 10 {
		return // a few lives need not have all
	}
	for _, kind := range []string{"taken", "faults", "passes"} {
		require.Positive(t, total[kind], kind)
	}
	for _, kind := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%s=%.2g", kind, float64(total[kind])/float64(done))
	}
	if done < 200 || *length != 5*time.Minute {
		return
	}
	for _, figure := range strings.Fields(usual) {
		kind, text, _ := strings.Cut(figure, "=")
		want, _ := strconv.ParseFloat(text, 64)
		got, factor := float64(total[kind])/float64(done), 2.0
		if want < 3 {
			factor = 3
		}
		if got < want/factor || got > want*factor {
			t.Errorf("a life has %.3g %s, and not %.3g", got, kind, want)
		}
	}
}

// usual is how many commands and events of each kind a life of 5 minutes has on average.
const usual = `BLMOVE=63 BLPOP=180 CLIENT=160 DEL=0.82 EXISTS=370 HELLO=51 HGET=2.8 LLEN=3.3 LPOP=0.72 LPOS=1.9 PING=200 PUBLISH=56
RPOPLPUSH=1.9 SCRIPT=15 SUBSCRIBE=24 UNSUBSCRIBE=12 ZCARD=4.9 ZRANGE=11 ack=38 bury=0.9 cancel=10 dead=5.9
extend=6.3 find=7.6 guard=27 offer=120 release=0.56 retry=9.5 survey=82 take=320 transfer=100 unlist=21
dq.AckFailed=0.79 dq.Acknowledged=36 dq.Dead=0.9 dq.Disconnected=9.9 dq.Extended=6.2 dq.ExtensionFailed=1.9 dq.GivenBack=0.57
dq.Handled=48 dq.Held=48 dq.Offered=82 dq.Retry=9.3 dq.Subscribed=12 dq.TakeFailed=8.3 dq.Taken=100 dq.Transferred=120
dq.Unlisted=5.4`

// planted are faults of the kind that a delay queue can have, made of a script by find and put.
var planted = []struct {
	name, find, put string
	from            uint64 // the first seed that is tried
}{
	{"a transfer leaves what it moved in the timeout set", `call_with_all('zrem', T, members)`, ``, 1},
	{"a transfer leaves what it moved in the pending list", `for _, member in ipairs(members) do redis.call('lrem', Q, '1', member) end`, ``, 1},
	{"a transfer moves what is due in 5 s", `'zrangebyscore', T, '0', now, 'limit'`, `'zrangebyscore', T, '0', now + 5000, 'limit'`, 1},
	{"a transfer forgets to push", `call_with_all('rpush', D, delivered)`, ``, 1},
	{"a transfer does not say what is due next", `return { head or false,`, `return { false,`, 2},
	{"an acknowledged message is still held", "redis.call('hdel', V, id)\n    redis.call('hdel', N", "redis.call('hdel', N", 2},
	{"a message that is given back is lost", `if value then redis.call('lpush', D, value) end`, ``, 62},
	{"a lease is not extended", `if held and how == 'extend' then`, `if how == 'extend' then elseif held and how == 'extend' then`, 12},
	{"what is handed out stays in the list", `redis.call('ltrim', list, from, '-1')`, ``, 1},
	{"a pass ends before the end of the list", `if #entries == count then return again() end`, ``, 1},
	{"a failed message is not handed out again", "redis.call('hset', N, 'f' .. id, delivery)\n    redis.call('zadd', L, string.format('%.0f', now + tonumber(arg)), id)", `redis.call('zrem', L, id)`, 3},
	{"what a dead consumer held is not handed out again", `if #chosen < count then`, `if #chosen < count and lost == 0 then`, 45},
	{"what BLMOVE staged is not handed out", `ipairs({M, D})`, `ipairs({D})`, 5},
}

func TestFindsWhatIsPlanted(t *testing.T) {
	for _, p := range redistest.Sample(t, planted, 2) {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			changed := false
			options := Options{Script: func(body string) string {
				with := strings.Replace(body, p.find, p.put, 1)
				changed = changed || with != body
				return with
			}}
			for seed := p.from; seed < p.from+200; seed++ {
				plan := Draw(seed, time.Minute)
				if found := run(t, plan, options).Violations; len(found) > 0 {
					require.Empty(t, run(t, plan, Options{}).Violations, "without what is planted")
					t.Logf("by seed %d: %s", seed, found[0])
					return
				}
			}
			require.True(t, changed, "no script has the text that was to be changed")
			t.Fatal("200 seeds did not find it")
		})
	}
}
