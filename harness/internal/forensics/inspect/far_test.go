package inspect_test

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A due time that never comes is not said to be delivered.
func TestDueTimesThatNeverCome(t *testing.T) {
	b := setup(t)
	b.subscribe()
	for score, want := range map[float64]struct{ what, does string }{
		-5:           {"before 1970: 1 member", "transfers without a pause"},
		-9.2e18:      {"long before 1970, as a delay gives it that overflows: 1 member", "no later offer is announced"},
		math.Inf(-1): {"long before 1970", "no later offer is announced"},
		1 << 53:      {"after the year 9999: 1 member", "waits for one from after the year 9999"},
		9.9e16:       {"after the year 9999: 1 member", "waits for one from after the year 9999"},
		1e17:         {"long after the year 9999: 1 member", "NumberFormatException"},
		9.2e18:       {"long after the year 9999: 1 member", "NumberFormatException"},
		1e300:        {"long after the year 9999: 1 member", "NumberFormatException"},
		math.Inf(1):  {"long after the year 9999: 1 member", "NumberFormatException"},
	} {
		b.clear()
		b.offer(b.pack(bc0Lc0, "x"), hour)
		far := b.pack(bc0Lc0, "far")
		require.NoError(t, b.client.ZAdd(b.ctx, b.names.TimeoutSet, goredis.Z{Score: score, Member: far}).Err())
		b.listed(far)
		q := b.look(inspect.Options{})
		require.Equal(t, []string{inspect.StuckHead}, anomalies(q), "%g", score)
		f := finding(t, q, inspect.StuckHead)
		require.Contains(t, f.What, want.what, "%g", score)
		require.Contains(t, f.New, want.does, "%g", score)
		require.Equal(t, 1, q.Redisson[1].Delivers, "%g", score)
		require.Equal(t, 1, q.Redisson[1].Never, "%g", score)
		require.Equal(t, "delivers 1 member; never due: 1 member", q.Redisson[1].Text, "%g", score)
	}
}

// calls is how often a transfer has looked for due members.
func (b *bundle) calls() int {
	b.t.Helper()
	found := regexp.MustCompile(`cmdstat_zrangebyscore:calls=(\d+)`).FindStringSubmatch(b.client.Info(b.ctx, "commandstats").Val())
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(b.t, err)
	return n
}

// What a real Redisson does with such a head is what is said of it.
func TestRealRedissonsWithAHeadThatIsNeverDue(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"3.16.6", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Redis(t)
			client := redistest.Client(srv)
			t.Cleanup(func() { client.Close() })
			b := with(t, client, "orders")
			never := func(score string) {
				require.NoError(t, client.Do(b.ctx, "ZADD", b.names.TimeoutSet, score, "never "+score).Err())
			}
			never("1e300")
			redisson := redistest.OpenRedisson(t, srv, release, "orders", "string")
			offered := func(delay int) {
				redisson.Call("dq.offer", map[string]any{"value": map[string]any{"t": "string", "v": "x"}, "delay": delay})
			}
			delivered := func() {
				require.NoError(t, client.BLPop(b.ctx, 30*time.Second, "orders").Err())
			}
			require.Eventually(t, func() bool { return b.calls() == 2 }, 30*time.Second, 10*time.Millisecond, "it cannot read the time, and asks again")
			offered(1)
			delivered()
			never("9007199254740992")
			offered(1)
			delivered()
			before := b.calls()
			never("-5")
			offered(1)
			require.NoError(t, client.Publish(b.ctx, b.names.Channel, "0").Err()) // the head is not the offer
			require.Eventually(t, func() bool { return b.calls() > before+1000 }, 30*time.Second, 10*time.Millisecond, "transfers without a pause")
		})
	}
}

// Spans of time are right however long they are.
func TestLongSpans(t *testing.T) {
	b := setup(t)
	b.subscribe()
	b.timed(b.pack(bc0Lc0, "x"), -float64(b.now)+1)
	b.timed(b.pack(bc0Lc0, "y"), 7000*365*24*hour+hour)
	var text bytes.Buffer
	seen := &inspect.Inspection{Queues: []inspect.Queue{b.look(inspect.Options{})}}
	require.NoError(t, seen.WriteText(&text))
	days := strconv.FormatInt(b.now/int64(24*hour), 10)
	days = days[:2] + "," + days[2:] + " days"
	require.Contains(t, text.String(), "1970-01-01 00:00:00.001 UTC ("+days+" ago)")
	require.Contains(t, text.String(), "UTC (in 2,555,000 days)")
	require.Contains(t, text.String(), "the oldest since 1970-01-01 00:00:00.001 UTC ("+days+")")
	require.Contains(t, seen.Lines(), "next="+strings.ReplaceAll(days, " ", "")+"ago")
}

// What a script makes of a length that no value has is what is said of it.
func TestHugeLengths(t *testing.T) {
	b := setup(t)
	for _, length := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\xfc\xff\xff\xff\xff\xff\xff", "\xff\xfb\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x80"} {
		b.clear()
		b.offer("\x08\x40\x00\x00\x00\x40\x40\x40\x40"+length+"hello", -1000)
		side := b.look(inspect.Options{}).Redisson[1]
		require.Equal(t, b.transfer(bc0Lc0) != nil, side.StopsAt != nil, "%q: %s", length, side.Text)
		require.Len(t, b.delivered(), side.Delivers, "%q: %s", length, side.Text)
	}
}

// Who subscribes is unknown where the user may not ask, in every form of the report.
func TestSubscribersThatCannotBeAsked(t *testing.T) {
	b := setup(t)
	b.offer(b.pack(bc0Lc0, "x"), hour)
	b.subscribe()
	for _, right := range []string{"-client|list", "-pubsub"} {
		require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "default", right).Err())
		q := b.look(inspect.Options{})
		require.Empty(t, anomalies(q))
		seen := &inspect.Inspection{Queues: []inspect.Queue{q}}
		var text bytes.Buffer
		require.NoError(t, seen.WriteText(&text))
		document, err := json.Marshal(q.Subscribers)
		require.NoError(t, err)
		if right == "-pubsub" {
			require.Contains(t, text.String(), "subscribers  unknown: NOPERM")
			require.Contains(t, seen.Lines(), " subscribers=unknown ")
			require.Regexp(t, `^\{"unknown":"NOPERM.*","count":null\}$`, string(document))
		} else {
			require.Contains(t, text.String(), "subscribers  1\n")
			require.JSONEq(t, `{"count":1}`, string(document), "how many is known")
		}
	}
}

// Queues have names of any bytes: they stay apart in the document, and commands about them can be
// pasted into a shell.
func TestNamesOfAnyBytes(t *testing.T) {
	b := setup(t)
	names := []string{"\xfe", "\xff", `\xff`, "my  orders of $HOME's \"`x`\" and more words", "a\nb", "-x"}
	for _, name := range names {
		with(t, b.client, name).offer(b.pack(dLc0, "x"), hour)
	}
	seen, err := inspect.Look(b.ctx, redis.On(b.client), inspect.Server{}, nil, inspect.Options{Samples: 1})
	require.NoError(t, err)
	document, err := json.Marshal(seen)
	require.NoError(t, err)
	require.NotContains(t, string(document), `\ufffd`)
	require.NotContains(t, string(document), "\ufffd")
	require.NotContains(t, seen.Table(200, 100), "a\nb")
	commands := map[string]string{
		"\xfe": `$'\376'`, "\xff": `$'\377'`, `\xff`: `'\xff'`, names[3]: `'my  orders of $HOME'\''s "` + "`x`" + `" and more words'`, "a\nb": `$'a\012b'`,
	}
	for _, q := range seen.Queues {
		name := q.Name
		require.Contains(t, names, name)
		var text bytes.Buffer
		require.NoError(t, (&inspect.Inspection{Queues: []inspect.Queue{q}}).WriteText(&text))
		what := finding(t, q, inspect.OtherSide).Do
		if name == "-x" {
			require.Contains(t, what, "dq-bench migrate --to Bc0Lc0 -- -x")
			continue
		}
		require.Contains(t, what, "dq-bench migrate "+commands[name]+" --to Bc0Lc0")
		require.Contains(t, text.String(), commands[name], "no line ends in it")
	}
	var read struct {
		Queues []struct {
			Name  string
			Bytes []byte `json:"name_base64"`
		}
	}
	require.NoError(t, json.Unmarshal(document, &read))
	told := map[string]string{}
	for _, q := range read.Queues {
		told[q.Name] = string(q.Bytes)
	}
	require.Equal(t, map[string]string{
		`\xfe`: "\xfe", `\xff`: "\xff", `\x5cxff`: `\xff`, names[3]: "", "a\nb": "", "-x": "",
	}, told)
}
