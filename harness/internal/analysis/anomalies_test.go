package analysis_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// tell has a story of steps happen. A step is an offer of a value for so many ms after the beginning, also "again" with the member of
// before, a transfer of members that is whole or fails behind them, a script with its keys and arguments, a wait until so many ms, or
// a command: of a script after ">". T, Q and C are the keys, @a is the member of a, and #a what made its id.
func (s *story) tell(t *testing.T, steps string) {
	t.Helper()
	known := map[string]string{"T": orders.TimeoutSet, "Q": orders.Pending, "C": orders.Channel}
	member := func(value string) { known["#"+value], known["@"+value] = s.member(value) }
	for step := range strings.SplitSeq(steps, "; ") {
		words := strings.Fields(step)
		for i, word := range words {
			if meant, ok := known[word]; ok {
				words[i] = meant
			}
		}
		what, of, last := words[0], words[1:], words[len(words)-1]
		n, _ := strconv.ParseInt(last, 10, 64)
		switch what {
		case "release":
			s.release = release(t, last)
		case "peer":
			s.peer = last
		case "skew":
			s.skew = n
		case "wait":
			s.wait(n)
		case "member":
			member(last)
		case "offer", "again":
			if what == "offer" {
				member(of[0])
			}
			due := storyBegins/1000 + n + s.skew
			if last == "overflow" {
				due = math.MinInt64 + 1000
			}
			s.offerMember(of[0], known["#"+of[0]], known["@"+of[0]], due)
		case "transfer", "fail":
			s.transfer(what == "transfer", of...)
		case "script":
			keys, args, _ := strings.Cut(strings.Join(of[1:], " "), " with ")
			s.script(wire.ScriptName(of[0]), strings.Fields(keys), strings.Fields(args)...)
		case ">":
			s.inner(of...)
		default:
			s.client(words...)
		}
	}
}

func TestAnomalies(t *testing.T) {
	type kindsOf = []analysis.Kind
	for name, test := range map[string]struct {
		steps  string
		kinds  kindsOf
		detail string // of the first one
		lines  []int64
	}{
		"foreign member": {"transfer; release 3.21.0; offer old 9000; release 4.7.0; transfer",
			kindsOf{analysis.ForeignMember}, "transfer-v2 reads Bc0Lc0", []int64{8, 4}},
		"unreadable member": {"ZADD T 1700000009000 what-a-tool-has-put-here; RPUSH Q what-a-tool-has-put-here; transfer",
			kindsOf{analysis.ForeignMember}, "the first of neither layout", []int64{3, 1}},
		"poison loop": {"offer good 500; release 3.21.0; offer old 600; release 4.7.0; wait 1000; fail @good; wait 1400; fail @good; PING",
			kindsOf{analysis.ForeignMember, analysis.PoisonLoop}, "1 member", []int64{9, 5}},
		"stall": {"transfer; offer a 1000; wait 48000; transfer @a", kindsOf{analysis.Stall, analysis.Overdue}, "for 47.", []int64{4, 8}},
		"a transfer that waits to be sent": {"transfer; offer a 1000; wait 9000; skew -7900; transfer @a", // it named its time before it waited
			kindsOf{analysis.Stall, analysis.Overdue}, "7.901s later", []int64{4, 8}},
		"nobody transfers": {"offer a 1000; wait 48000; PING", kindsOf{analysis.NoSubscriber, analysis.Overdue}, "no client was subscribed", []int64{1}},
		"the one that transfers leaves": {"SUBSCRIBE C; transfer; UNSUBSCRIBE C; offer a 1000; wait 48000; PING",
			kindsOf{analysis.NoSubscriber, analysis.Overdue}, "no client was subscribed", []int64{6}},
		"backlog": {"transfer; offer a 1000; offer b 1000; wait 3000; transfer @a; wait 6500; transfer @b",
			kindsOf{analysis.Overdue, analysis.Overdue}, "late", []int64{4, 12}},
		"a clock that is ahead": {"transfer; offer a 9000; wait 2000; peer 10.0.0.7:1; skew 7500; transfer @a", kindsOf{analysis.Early}, "early", []int64{4, 8}},
		"offer sent again": {"offer a 9000; wait 4500; again a 9000; wait 9010; transfer @a",
			kindsOf{analysis.ResentOffer, analysis.Ghost}, "offered again", []int64{1, 5}},
		"value offered twice": {"offer a 9000; offer a 9000", kindsOf{analysis.DuplicateOffer}, "1 time", []int64{1, 5}},
		"orphan": {"offer a 9000; script retainAll Q with b; > lrange Q 0 -1; > LREM Q 0 @a; PING",
			kindsOf{analysis.Orphan}, "will be delivered", []int64{1, 5}},
		"ghost by hand":  {"RPUSH Q x", kindsOf{analysis.Ghost}, "never delivered", []int64{1}},
		"unknown script": {"EVAL return(redis.call('zcard',KEYS[1])) 1 T; > zcard T", kindsOf{analysis.UnknownScript}, "no Redisson release sends it", []int64{1}},
		"overflow":       {"transfer; offer a overflow; wait 3000; PING", kindsOf{analysis.Overdue}, "overflowed", []int64{4}},

		// What is fine must not be called wrong.
		"clocks that differ":               {steps: "release 3.16.6; skew -4264; transfer; offer a 5000; wait 5060; transfer @a"},
		"a transfer that the log ends in":  {steps: "offer a 500; wait 510; fail @a"},
		"an offer that the log ends in":    {steps: "member a; script offer orders T Q C with 1700000009000 #a a; > zadd T 1700000009000 @a"},
		"members from before the log":      {steps: "member a; member b; transfer @a; script remove Q T with b; > zrem T @b; > lrem Q 1 @b"},
		"poll and clear":                   {steps: "offer a 9000; offer b 9000; script poll Q T; > lpop Q; > zrem T @a; DEL Q T; wait 20000; PING"},
		"two releases on queues of theirs": {steps: "offer a 9000; release 3.16.6; peer 10.0.0.5:1; script readAll redisson_delay_queue:{other}; > lrange redisson_delay_queue:{other} 0 -1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory("4.7.0")
			s.tell(t, test.steps)
			d := s.read(t)
			require.Equal(t, append([]analysis.Kind{}, test.kinds...), kinds(d), "%+v", d.Anomalies)
			if len(test.kinds) == 0 {
				return
			}
			first := d.Anomalies[0]
			require.Equal(t, "orders", first.Queue)
			require.Contains(t, first.Detail, test.detail)
			numbers := []int64{}
			for _, l := range first.Lines {
				numbers = append(numbers, l.Number)
			}
			require.Equal(t, test.lines, numbers)
			require.NotZero(t, d.AnomalyCounts[first.Kind])
		})
	}
}
