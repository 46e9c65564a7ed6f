package analysis_test

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

// An EVALSHA that the server does not know does nothing, and the SCRIPT LOAD and EVALSHA behind it are one offer.
func TestScriptMissIsNoOffer(t *testing.T) {
	s := newStory("4.7.0")
	script, _ := s.release.Script(wire.ScriptOffer)
	s.tell(t, "member a; script offer orders T Q C with 1700000009000 #a a")
	s.client("SCRIPT", "LOAD", script.Body)
	s.tell(t, "again a 9000")
	d := s.read(t)
	require.Empty(t, d.Anomalies)
	require.EqualValues(t, 1, d.Queues[0].Offers)
	require.EqualValues(t, 1, d.Queues[0].StillPending)
}

// Releases that no single one explains are told apart by connection.
func TestMixedFleet(t *testing.T) {
	s := newStory("4.7.0")
	s.tell(t, "offer a 9000; PING; peer 10.0.0.5:1; release 3.16.6; offer b 9000")
	d := s.read(t)
	require.Nil(t, d.Redisson)
	require.Len(t, d.Groups, 2)
	require.Equal(t, []string{"10.0.0.1:4000"}, d.Groups[0].Peers)
	require.Equal(t, []analysis.Range{{From: "3.21.1", To: wire.Newest().String()}}, d.Groups[0].Ranges)
	require.Equal(t, []string{"10.0.0.5:1"}, d.Groups[1].Peers)
	require.Equal(t, []analysis.Range{{From: "2.7.0", To: "2.15.2"}, {From: "3.2.0", To: "3.21.0"}}, d.Groups[1].Ranges)
	require.Equal(t, "mixed", d.Queues[0].Layout)
}

// A client that says what it is, as no Redisson does, tells nothing about Redisson.
func TestOtherClients(t *testing.T) {
	s := newStory("4.7.0")
	s.tell(t, "offer a 9000; peer 10.0.0.5:1")
	s.client("client", "setinfo", "lib-name", "go-redis(,go1.26)")
	s.client("EVALSHA", scripts.Transfer().SHA1, "3", "orders", orders.TimeoutSet, orders.Pending, "1700000000000", "500", "dLc0", "")
	d := s.read(t)
	require.Equal(t, &analysis.Span{Range: analysis.Range{From: "3.21.1", To: wire.Newest().String()}}, d.Redisson)
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Groups, 2)
	require.Equal(t, "dq", d.Groups[1].Client)
}

// Queues of one name in two databases are two. A log that begins anew, as when recordings are joined, is another one.
func TestDatabasesAndJoinedLogs(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 500_000)
	d := readLog(t, strings.NewReader(s.out.String()+strings.ReplaceAll(s.out.String(), " [0 ", " [3 ")))
	require.Empty(t, d.Anomalies)
	require.Len(t, d.Queues, 2)
	require.Equal(t, []int{0, 3}, []int{d.Queues[0].DB, d.Queues[1].DB})
	s.tell(t, "wait 400000; PING")
	d = readLog(t, strings.NewReader(s.out.String()+s.out.String()))
	require.Empty(t, d.Anomalies)
	require.EqualValues(t, 2, d.Queues[0].StillPending)
	require.Contains(t, d.Notices, "2 logs, of which each was judged alone")
	lines := slices.Collect(strings.Lines(s.out.String()))
	slices.Reverse(lines)
	require.Contains(t, readLog(t, strings.NewReader(strings.Join(lines, ""))).Notices[0], "times run backwards")
}

// A log from which the commands of scripts were filtered out says so.
func TestFiltered(t *testing.T) {
	s := newStory("4.7.0")
	s.script(wire.ScriptOffer, []string{"orders", orders.TimeoutSet, orders.Pending, orders.Channel}, "1700000009000", "12345678", "a")
	d := s.read(t)
	require.NotNil(t, d.Redisson)
	require.Contains(t, strings.Join(d.Notices, "\n"), "was it filtered?")
	var nothing strings.Builder
	require.NoError(t, analysis.New().Document().WriteText(&nothing))
	require.Contains(t, nothing.String(), "sent nothing for a delayed queue")
	require.Contains(t, nothing.String(), "no anomaly")
}

// The story of a message: who offered it, when it came and who took it, with the lines; a guard's part too.
func TestStory(t *testing.T) {
	s := newStory("4.7.0")
	s.add("10.0.0.2:1", "BLPOP", "orders", "0")
	a := s.offer(`{"order":7}`, 1000)
	b := s.offer(`{"order":8}`, 1000)
	held := wire.PrefixName("redisson_delay_queue_guard", "orders")
	guard := ops.Scripts()[0]
	s.peer = "10.0.0.9:1"
	for _, m := range []string{a, b} { // ahead of time
		s.client("EVALSHA", guard.SHA1, "1", orders.TimeoutSet)
		s.inner("zadd", held, "1700000001000", m)
		s.inner("lrem", orders.Pending, "1", m)
		s.inner("zrem", orders.TimeoutSet, m)
	}
	s.wait(1030)
	s.client("EVALSHA", guard.SHA1, "1", orders.TimeoutSet)
	s.inner("rpush", "orders", `{"order":7}`, `{"order":8}`)
	s.inner("zrem", held, a, b)
	r := analysis.New()
	r.Where = ".order == 7"
	r.Match, _ = ops.Match(r.Where)
	require.NoError(t, trace.ReadLog(t.Context(), opened(strings.NewReader(s.out.String())), r.Line))
	d := r.Document()
	require.Empty(t, d.Anomalies)
	q := d.Queues[0]
	require.Equal(t, []int64{2, 2, 1, 0, 0}, []int64{q.Offers, q.Transferred, q.Taken, q.Removed, q.StillPending})
	require.InDelta(t, 30, q.Lateness.Max, 2)
	var out strings.Builder
	require.NoError(t, d.WriteStories(&out, r.Where))
	require.Regexp(t, `(?s)^orders  .*"order":7.*offered by 10\.0\.0\.1, due .*\(line 2\).*taken out by a guard.*delivered by 10\.0\.0\.9, 3.ms after it was due.*taken by 10\.0\.0\.2`, out.String())
	require.NotContains(t, out.String(), "order\":8")
}

// readFiles takes in files of a new folder, or the folder where no name is given.
func readFiles(t *testing.T, content map[string]string, names ...string) (*analysis.Document, error) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range content {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	paths := []string{}
	for _, name := range names {
		paths = append(paths, filepath.Join(folder, name))
	}
	if len(paths) == 0 {
		paths = []string{folder}
	}
	r := analysis.New()
	err := r.Files(t.Context(), paths)
	return r.Document(), err
}

// A log that was rotated goes on in the next file, whatever their names; a line of the
// first file that shows an anomaly found in the second is told with its text.
func TestRotatedLog(t *testing.T) {
	s := newStory("4.7.0")
	s.tell(t, "transfer; offer a 1000; wait 3000; transfer @a")
	log := strings.SplitAfter(s.out.String(), "\n")
	first, second := strings.Join(log[:7], ""), strings.Join(log[7:], "")

	d, err := readFiles(t, map[string]string{"monitor.log": second, "monitor.log.1": first}, "monitor.log", "monitor.log.1")
	require.NoError(t, err)
	require.Equal(t, []analysis.Kind{analysis.Overdue}, kinds(d))
	lines := d.Anomalies[0].Lines
	require.Equal(t, "monitor.log.1", filepath.Base(lines[0].File))
	require.EqualValues(t, 4, lines[0].Number)
	require.Equal(t, strings.Split(first, "\n")[3], lines[0].Text)
	require.Equal(t, "monitor.log", filepath.Base(lines[1].File))
	require.EqualValues(t, 1, lines[1].Number)
	require.EqualValues(t, 1, d.Queues[0].Transferred)
}

// Files of the same time are logs of several servers.
func TestLogsOfSeveralServers(t *testing.T) {
	s := newStory("4.7.0")
	s.offer("a", 60_000)
	d, err := readFiles(t, map[string]string{"a.monitor": s.out.String(), "b.monitor": s.out.String(), "readme": "no log"})
	require.NoError(t, err)
	require.Empty(t, d.Anomalies)
	require.EqualValues(t, 2, d.Queues[0].Offers)
	require.EqualValues(t, 2, d.Queues[0].StillPending)
	require.Zero(t, d.Unparsed)
	_, err = readFiles(t, nil, "absent.monitor")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = readFiles(t, map[string]string{"x.log": ""})
	require.ErrorContains(t, err, "found no *.monitor file")
}

// lives is the MONITOR log, of a size of one's choice, of a client that offers a message a millisecond and transfers what is due,
// and of a consumer that takes each message at once. Besides, an unrelated command goes with each offer.
type lives struct {
	*story
	delay   int64 // ms
	size    int64 // bytes at which it ends, at the end of a line
	written int64
	rest    string
	waiting []pending // in order of due
}

type pending struct {
	due    int64 // ms after the beginning
	member string
}

func (l *lives) Read(p []byte) (int, error) {
	if l.rest == "" {
		if l.written >= l.size {
			return 0, io.EOF
		}
		for l.out.Reset(); l.out.Len() < 64<<10; {
			l.millisecond()
		}
		l.rest = l.out.String()
		l.written += int64(len(l.rest))
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lives) millisecond() {
	now := (l.clock - storyBegins) / 1000
	due := now + l.delay
	l.waiting = append(l.waiting, pending{due, l.offer(fmt.Sprintf(`{"order":%d,"customer":"somebody","total":"12.50"}`, l.ids), due)})
	l.add("10.0.0.9:6000", "GET", fmt.Sprint("session:", l.ids))
	var moved []string
	for len(l.waiting) > 0 && l.waiting[0].due <= now {
		moved, l.waiting = append(moved, l.waiting[0].member), l.waiting[1:]
	}
	if len(moved) > 0 {
		l.transfer(true, moved...)
	}
	for range moved {
		l.add("10.0.0.2:7000", "BLPOP", orders.Destination, "0")
	}
	l.wait(now + 1)
}

// recorded is what a log says in which much went wrong.
func recorded(t *testing.T) *analysis.Document {
	t.Helper()
	d := analyse(t, recordings.Redisson("4.7.0")["DQ.transfer"])
	require.NotEmpty(t, d.Anomalies)
	return d
}

// The text fits a terminal. The page shows each anomaly, and takes no name for anything but text.
func TestAnalysisTextAndPage(t *testing.T) {
	d := recorded(t)
	d.Queues[0].Lateness = &analysis.Lateness{Max: 5034}
	var out strings.Builder
	require.NoError(t, d.WriteText(&out))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
	}
	for _, part := range []string{"\nRedisson 3.21.1 to ", "late", "  5.0 s\n", "\npoison-loop     \"orders\"  2026-", "line 1181: "} {
		require.Contains(t, out.String(), part)
	}
	d.Queues[0].Name = "<script>alert(1)</script>"
	d.Anomalies[0].Detail = `<img src="x" onerror="alert(1)">`
	out.Reset()
	require.NoError(t, d.Page().Write(&out))
	html := out.String()
	require.NotContains(t, html, "<script>alert")
	require.NotContains(t, html, "<img")
	require.Contains(t, html, "default-src &#39;none&#39;")
	require.Equal(t, len(d.Anomalies), strings.Count(html, "<details>"))
	out.Reset()
	require.NoError(t, d.Page().Markdown(&out))
	require.Contains(t, out.String(), "| poison-loop | ")
}

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
