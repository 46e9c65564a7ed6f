package trace_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
)

var newRelease, names = wire.Release{Major: 4, Minor: 7}, wire.NamesOf("orders")

// recorded has the lines that a real Redisson sent while a consumer waited for one message; bare lacks its set-up and the calls of unknown scripts.
func recorded(t *testing.T, release string) (whole, bare *trace.Recording) {
	t.Helper()
	rec := parse(t, string(recordings.Redisson(release)["Q.blocking"]))
	cases := rec.Cases()
	whole = withLines(rec, cases[slices.IndexFunc(cases, func(c trace.Case) bool { return c.ID == "Q.blocking/take-waits" })].Lines)
	var lines []trace.Line
	for _, c := range trace.Group(whole.Lines) {
		if len(c.Inner) > 0 || c.Name() == "subscribe" || c.Name() == "blpop" {
			lines = append(append(lines, c.Line), c.Inner...)
		}
	}
	return whole, withLines(rec, lines)
}

func diff(t *testing.T, left, right *trace.Recording) *trace.Finding {
	t.Helper()
	outcomes, err := trace.Diff(left, right, trace.DefaultTolerance)
	require.NoError(t, err)
	return outcomes[0].Finding
}

func withLines(rec *trace.Recording, lines []trace.Line) *trace.Recording {
	return &trace.Recording{Path: rec.Path, Fields: rec.Fields, Lines: lines}
}

// withArg has another argument in one line.
func withArg(rec *trace.Recording, line, i int, arg string) *trace.Recording {
	lines := slices.Clone(rec.Lines)
	lines[line].Args = slices.Clone(lines[line].Args)
	lines[line].Args[i] = arg
	return withLines(rec, lines)
}

// edited has other texts in all lines.
func edited(t *testing.T, rec *trace.Recording, oldnew ...string) *trace.Recording {
	t.Helper()
	var text strings.Builder
	require.NoError(t, rec.Write(&text))
	return parse(t, strings.NewReplacer(oldnew...).Replace(text.String()))
}

func TestSameBehaviourRecordedTwice(t *testing.T) {
	for release, ids := range map[string][]string{
		"3.16.6": {"6400391397273806982", "6399391397273806982", `*~*\x84\xb04\xd6C`, `\x8aL\x81$\xcd3\xd6C`},
		"4.7.0":  {`\xee\x87\x8e,\xfa\x0c\xf4\xfd`, `\xee\x87\x8e,\xfa\x0c\xf4\xfe`},
	} {
		whole, left := recorded(t, release)
		calls := trace.Group(left.Lines)
		looks := func(early int64, times int) *trace.Recording { // so many ms before the message is due
			at := calls[3].Offer.Due - early
			lines := edited(t, withLines(left, left.Lines[1:4]), fmt.Sprint(calls[1].Transfer.Now), fmt.Sprint(at)).Lines
			for i := range lines {
				lines[i].Time = at * 1000
			}
			return withLines(left, slices.Insert(slices.Clone(left.Lines), 10, slices.Repeat(lines, times)...))
		}
		for name, right := range map[string]*trace.Recording{
			"set-up and misses": whole, "other ids": edited(t, left, ids...), "another day": edited(t, left, "1795", "1796"),
			"pushed early": looks(10, 3),
		} {
			require.True(t, right == whole || !slices.EqualFunc(left.Lines, right.Lines, func(l, r trace.Line) bool { return l.Raw == r.Raw }), name)
			f := diff(t, left, right)
			require.Nil(t, f, "%s, %s: %+v", release, name, f)
		}
		require.NotNil(t, diff(t, left, looks(11, 1)), "only soon before it is due a client looks without a pause")
	}
}

// A member without a value may fit both layouts, if its id ends with 1.
func TestMembersThatFitBothLayouts(t *testing.T) {
	_, rec := recorded(t, "4.7.0")
	empty := func(last string) *trace.Recording {
		return edited(t, rec, `"a"`, `""`, `\xf4\xfd`, `\xf4`+last, `\x01\x00\x00\x00\x00\x00\x00\x00a"`, `\x00\x00\x00\x00\x00\x00\x00\x00"`)
	}
	f := diff(t, empty(`\x02`), empty(`\x01`))
	require.Nil(t, f, "%+v", f)
}

// Every line counts: it cannot be missing, doubled or moved within its role. So does every byte, but for times and for ids as a whole.
func TestEveryLineAndByteCounts(t *testing.T) {
	for _, release := range []string{"3.16.6", "4.7.0"} {
		_, left := recorded(t, release)
		for i, l := range left.Lines {
			f := diff(t, left, withLines(left, slices.Delete(slices.Clone(left.Lines), i, i+1)))
			require.NotNil(t, f, "missing: %s", l)
			require.NotEmpty(t, f.Window)

			doubled := slices.Insert(slices.Clone(left.Lines), i, l)
			require.NotNil(t, diff(t, left, withLines(left, doubled)), "doubled: %s", l)

			next := slices.IndexFunc(left.Lines[i+1:], func(m trace.Line) bool { return !slices.Equal(m.Args, l.Args) }) + i + 1
			if next > i && l.Inner() && left.Lines[next].Inner() {
				moved := slices.Clone(left.Lines)
				moved[i], moved[next] = moved[next], moved[i]
				require.NotNil(t, diff(t, left, withLines(left, moved)), "moved: %s", l)
			}

			call := trace.Group(left.Lines[i : i+1])[0]
			for j, arg := range l.Args {
				// A normal form replaces the clock of a transfer, and the decimal random of an old offer, of which a double keeps 53 bits.
				if call.Transfer != nil && j == 6 || call.Offer != nil && (j == 7 || j == 8 && call.Offer.Layout == wire.LayoutDLc0) {
					continue
				}
				for k := (i + j) % 3; k < min(len(arg), 30); k += 3 { // a third, others in each argument
					changed := withArg(left, i, j, arg[:k]+string([]byte{arg[k] ^ 2})+arg[k+1:])
					require.NotNil(t, diff(t, left, changed), "argument %d, byte %d of %s", j, k, l)
				}
			}
		}
	}
}

func TestWhatADifferenceMeans(t *testing.T) {
	_, old := recorded(t, "3.16.6")
	_, rec := recorded(t, "4.7.0")
	const transfer, blpop, offer = 1, 4, 5
	for name, tt := range map[string]struct {
		right *trace.Recording
		want  string
	}{
		"value":   {withArg(rec, offer, 9, "b"), `call 1 of the publisher offers another value: "a" on the left, "b" on the right`},
		"limit":   {withArg(rec, transfer, 7, "101"), "moves at most 100 members on the left and 101 on the right"},
		"delay":   {withArg(rec, offer, 7, "1795236549999"), "inside EVALSHA offer-v2, command 1 is different"},
		"case":    {withArg(rec, blpop, 0, "blpop"), "is BLPOP on the left and blpop on the right"},
		"release": {old, `call 1 of the transfer task of "orders" is EVALSHA transfer-v2 on the left and EVAL transfer-v1 on the right`},
		"a take too many": {withLines(rec, append(slices.Clone(rec.Lines), rec.Lines[blpop])),
			`call 2 of the consumer of "orders" is only on the right: BLPOP`},
	} {
		f := diff(t, rec, tt.right)
		require.NotNil(t, f, name)
		require.Contains(t, f.Meaning, tt.want, name)
	}
	due := trace.Group(rec.Lines)[3].Offer.Due
	for _, shift := range []int64{200, 300, -300} { // a delay is compared with tolerance
		f := diff(t, rec, edited(t, rec, fmt.Sprint(due), fmt.Sprint(due+shift)))
		require.Equal(t, shift == 200, f == nil, "%+v", f)
	}
}

// Roles run side by side, but what depends on another role keeps its order.
func TestOrderAcrossRoles(t *testing.T) {
	_, rec := recorded(t, "4.7.0")
	const subscribe, blpop = 0, 4
	moved := func(rec *trace.Recording, from, to int) *trace.Recording {
		l := rec.Lines[from]
		return withLines(rec, slices.Insert(slices.Delete(slices.Clone(rec.Lines), from, from+1), to, l))
	}
	require.Nil(t, diff(t, rec, moved(rec, blpop, 0)), "when the consumer starts is timing")
	again := withLines(rec, append(slices.Clone(rec.Lines), rec.Lines[blpop]))
	f := diff(t, again, moved(again, len(rec.Lines), blpop))
	require.NotNil(t, f, "a second consumer waits")
	require.Contains(t, f.Meaning, "1 waiting at a time on the left, 2 waiting at a time on the right")
	f = diff(t, rec, moved(rec, subscribe, 3))
	require.NotNil(t, f)
	require.Contains(t, f.Meaning, "after the subscription on the left, before the subscription on the right")
}

// Each case is compared with that of its id. A case that a side declares absent, or not the same each time, is not compared, and is no
// difference; the others are.
func TestCasesAreComparedById(t *testing.T) {
	recorded := func(head string, cases ...string) *trace.Recording {
		for _, c := range cases { // an id, and what is asked for
			head += fmt.Sprintf("1.000000 [0 1.1.1.1:1] \"ECHO\" \"case:%c\"\n2.000000 [0 1.1.1.1:%d] \"GET\" \"%c\"\n", c[0], len(cases), c[1])
		}
		return parse(t, head)
	}
	left := recorded("", "ax", "bx", "cx", "dx", "ex")
	right := recorded("# absent: a: it has no x: none\n# uncompared: b: by chance\n", "by", "cy", "dx")
	for side, sides := range map[string][2]*trace.Recording{"left": {left, right}, "right": {right, left}} {
		outcomes, err := trace.Diff(sides[0], sides[1], trace.DefaultTolerance)
		require.NoError(t, err)
		found := map[string]trace.Outcome{}
		for _, o := range outcomes {
			found[o.Case] = o
		}
		require.Len(t, found, 5)
		require.Equal(t, "it has no x: none", found["a"].Declared)
		for _, same := range []string{"a", "b", "d"} {
			require.Nil(t, found[same].Finding, same)
		}
		require.NotNil(t, found["c"].Finding)
		require.Contains(t, found["e"].Finding.Meaning, "the case e is only on the "+side)
	}
	_, err := trace.Diff(left, &trace.Recording{Path: "empty.monitor"}, 0)
	require.ErrorContains(t, err, "empty.monitor: the recording has no commands")
}

func keyspaceOf(t *testing.T, text string) *trace.Keyspace {
	t.Helper()
	m := trace.NewKeyspace()
	for _, c := range trace.Group(parse(t, text).Lines) {
		m.Apply(c.Line, c.Inner)
	}
	return m
}

// A waiting consumer gets an element before a later command sees it, the one
// who waits longest first; a new command of a waiting peer ends its wait.
func TestConsumersAreServedInOrder(t *testing.T) {
	m := keyspaceOf(t, `1.000000 [0 10.0.0.1:1] "BLPOP" "q" "0"
2.000000 [0 10.0.0.2:1] "BRPOP" "other" "q" "0"
3.000000 [0 10.0.0.3:1] "BLPOP" "q" "1"
4.000000 [0 10.0.0.3:1] "PING"
5.000000 [0 10.0.0.9:1] "RPUSH" "q" "a" "b" "c" "d" "c"
6.000000 [0 10.0.0.9:1] "LREM" "q" "-1" "c"
7.000000 [0 10.0.0.9:1] "RPOPLPUSH" "q" "r"
`)
	require.Equal(t, []string{"b"}, m.Values[trace.Key{Name: "q"}].List)
	require.Equal(t, []string{"d"}, m.Values[trace.Key{Name: "r"}].List)
}

func TestASortedSetIsInOrder(t *testing.T) {
	m := keyspaceOf(t, `1.000000 [0 10.0.0.1:1] "ZADD" "z" "2" "b" "1645518017326" "a" "2" "a2" "9" "c"
2.000000 [0 10.0.0.1:1] "ZREM" "z" "a2" "absent"
2.000000 [0 10.0.0.1:1] "ZREMRANGEBYSCORE" "z" "(2" "10"
3.000000 [1 10.0.0.1:2] "ZADD" "z" "NX" "1" "x"
`)
	require.Equal(t, []string{"b", "a"}, m.Values[trace.Key{Name: "z"}].Members())
	require.Equal(t, map[trace.Key]string{{DB: 1, Name: "z"}: "ZADD"}, m.Unknown)
}

// A client with a subscription transfers at the subscription, and when the head comes due.
func TestLiveness(t *testing.T) {
	const set, channel = "redisson_delay_queue_timeout:{orders}", "redisson_delay_queue_channel:{orders}"
	transfer := func(at float64, also string) string {
		now := int64(at * 1000)
		return fmt.Sprintf("%.6f [0 c:1] \"EVAL\" \"x\" \"0\"\n%.6f [0 lua] \"zrangebyscore\" \"%s\" \"0\" \"%d\" \"limit\" \"0\" \"100\"\n%s", at, at, set, now, also)
	}
	subscribe := `1.000000 [0 c:2] "SUBSCRIBE" "` + channel + "\"\n"
	offer := "2.000000 [0 c:1] \"EVAL\" \"y\" \"0\"\n2.000000 [0 lua] \"zadd\" \"" + set + "\" \"3000\" \"m\"\n2.000000 [0 lua] \"rpush\" \"redisson_delay_queue:{orders}\" \"m\"\n" +
		"2.000000 [0 lua] \"publish\" \"" + channel + "\" \"3000\"\n"
	for name, c := range map[string]struct{ text, broken string }{
		"never at the start":  {subscribe, "W-START-2"},
		"never when due":      {subscribe + transfer(1.1, "") + offer, "W-TIMER-1"},
		"in time":             {subscribe + transfer(1.2, "") + offer + transfer(3.2, ""), ""},
		"300 ms late":         {subscribe + transfer(1.1, "") + offer + transfer(3.3, ""), "W-TIMER-1"},
		"without subscribers": {offer, ""},
	} {
		timeline := trace.NewTimeline(wire.NamesOf("orders"))
		timeline.Live = true
		var broken []trace.Breach
		for _, call := range trace.Group(parse(t, c.text).Lines) {
			broken = append(broken, timeline.Add(call, true)...)
		}
		broken = append(broken, timeline.Until(6_000_000)...)
		found := ""
		for _, b := range slices.DeleteFunc(broken, func(b trace.Breach) bool { return !b.Late }) {
			found += b.Statement
		}
		require.Equal(t, c.broken, found, name)
	}
}

// A call is an offer or a transfer only with all of its arguments; the comparisons of sessions show what else it says.
func TestWhatACallSays(t *testing.T) {
	offer, _ := newRelease.Script(wire.ScriptOffer)
	keys := []string{"4", names.Destination, names.TimeoutSet, names.Pending, names.Channel}
	call := func(args ...string) trace.Call {
		return trace.Group([]trace.Line{{Peer: "127.0.0.1:1", Args: args}})[0]
	}
	c := call(append([]string{"evalsha", strings.ToUpper(offer.SHA1)}, append(keys, "1000", "12345678", "v")...)...)
	require.Equal(t, &trace.Offer{Names: names, Layout: wire.LayoutBc0Lc0, Due: 1000, Random: "12345678", Value: "v"}, c.Offer)
	c = call(append([]string{"EVALSHA", offer.SHA1}, append(keys, "soon", "12345678", "v")...)...)
	require.Equal(t, "offer-v2", c.Script.Name())
	require.Nil(t, c.Offer, "its due time is no number")
	c = call("SCRIPT", "LOAD", offer.Body)
	require.Nil(t, c.Script, "nothing is called")
	require.Equal(t, offer.SHA1, c.BodySHA1)
	require.Nil(t, call("EVAL", offer.Body, "5", "too", "few", "keys").Script)
}

// A Scanner finds, line by line, the calls that Group finds in all of them.
func TestScannerGroups(t *testing.T) {
	recording := parse(t, string(recordings.Redisson("4.7.0")["DQ.transfer"]))
	calls := trace.Group(recording.Lines)
	var s trace.Scanner
	check := func(c *trace.Call) {
		if c != nil {
			require.Equal(t, calls[0].Line, c.Line)
			require.Equal(t, calls[0].Script, c.Script)
			require.Len(t, c.Inner, len(calls[0].Inner))
			calls = calls[1:]
		}
	}
	for _, l := range recording.Lines {
		check(s.Add(l))
	}
	check(s.End())
	require.Empty(t, calls)
	require.Nil(t, s.End())

	lua := trace.Line{Peer: trace.LuaPeer, Args: []string{"zrem", "k", "m"}} // the script's own line is missing
	require.Nil(t, s.Add(lua))
	require.Nil(t, s.Add(lua))
	require.Len(t, s.Add(trace.Line{Peer: "a:1", Args: []string{"PING"}}).Inner, 1)
}

// BenchmarkScanner reads 64 MB of recordings.
func BenchmarkScanner(b *testing.B) {
	log := recordings.Redisson("4.7.0")["DQ.transfer"]
	log = bytes.Repeat(log, 1+(64<<20)/len(log))
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		var calls trace.Scanner
		for lines := trace.NewLineScanner(bytes.NewReader(log)); lines.Scan(); {
			if l, err := lines.Line(); err == nil {
				calls.Add(l)
			}
		}
	}
}
