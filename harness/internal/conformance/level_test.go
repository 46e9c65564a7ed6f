package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// ownWords sends every script in other words, which do the same.
func ownWords() mutation {
	return on("EVAL", func(c []string) []string {
		c[1] = "local ported = true; " + c[1]
		return c
	})()
}

// inTwo offers by two commands and an announcement, as a port without scripts would. It
// knows the layout, but not whether the message is the first.
func inTwo() mutation {
	return func(c []string) [][]string {
		if !strings.EqualFold(c[0], "EVAL") || !isOffer(c) {
			return [][]string{c}
		}
		member := string(wire.LayoutDLc0.Pack(wire.DoubleID(number(c[8])), []byte(c[9])))
		return [][]string{
			{"RPUSH", c[5], member}, {"ZADD", c[4], c[7], member}, {"PUBLISH", c[6], c[7]},
			{"EVAL", "return nil", "0"},
		}
	}
}

// inTransaction does the same at once.
func inTransaction() mutation {
	split := inTwo()
	return func(c []string) [][]string {
		all := split(c)
		if len(all) == 1 {
			return all
		}
		return slices.Concat([][]string{{"MULTI"}}, all[:3], [][]string{{"EXEC"}}, all[3:])
	}
}

// ownClock has a script of its own transfer what is due in two seconds.
func ownClock() mutation {
	return onScript("transfer", func(args []string) { add(2000)(0, args) })()
}

// What a port is told at each level: nothing, or a part of the failure.
func TestLevelsTellPortsApart(t *testing.T) {
	const passes = ""
	for _, port := range []struct {
		name, run             string
		mutate                func() mutation
		wire, exchange, state string
	}{
		{"as it is", "DQ.offer/new-head-publishes", func() mutation { return nil }, passes, passes, passes},
		{"reads the clock before each transfer", "DQ.transfer/limit-101", before(isTransfer, "TIME"), "an extra TIME", passes, passes},
		{"lists clients before each transfer", "DQ.transfer/limit-101", before(isTransfer, "CLIENT", "LIST"), "CLIENT LIST", passes, passes},
		{"names in lower case", "DQ.poll/first-offered", each(lower), "eval", passes, passes},
		{"scripts in other words", "DQ.offer/later-one-is-silent", ownWords, "in place of", passes, passes},
		{"does not announce", "DQ.offer/new-head-publishes", inScript("offer", "if v[1] == value then", "if false then"), "published", "published", passes},
		{"one more write", "DQ.poll/first-offered", before(isOffer, "SET", "seen", "1"), "seen", "seen", "seen"},
		{"offers in two commands", "DQ.offer/new-head-publishes", inTwo, "EVAL", "but not the timeout set", "but not the timeout set"},
		{"offers in a transaction", "DQ.offer/new-head-publishes", inTransaction, "EVAL", "in place of", passes},
		{"leaves the pending list", "DQ.transfer/one", inScript("transfer", "redis.call('lrem', KEYS[3], 1, v);", ""), "pending", "pending", "pending"},
	} {
		t.Run(port.name, func(t *testing.T) {
			bench := newMutantBench(t, "3.21.0")
			i := slices.IndexFunc(bench.cases, func(c *Case) bool { return c.ID == port.run })
			require.GreaterOrEqual(t, i, 0)
			for level, expected := range map[Level]string{Wire: port.wire, Exchange: port.exchange, State: port.state} {
				bench.proxy.use(port.mutate())
				bench.runner.Level = level
				result := bench.runner.Judge(t.Context(), bench.cases[i], bench.oracle)
				if expected == passes {
					require.Equal(t, Pass, result.Status, "%s: %s", level, result.Text())
					continue
				}
				require.Equal(t, Fail, result.Status, "%s: it passes", level)
				require.Contains(t, result.Text(), expected, "%s", level)
			}
		})
	}
}

// A script that nobody knows delivers early: its clock cannot be read, what it does can.
func TestEarlyDeliveryIsFoundAtEveryLevel(t *testing.T) {
	t.Parallel()
	bench := newMutantBench(t, "3.21.0")
	words, early := ownWords(), ownClock()
	bench.proxy.use(func(c []string) [][]string { return words(early(c)[0]) })
	for _, level := range Levels() {
		bench.runner.Level = level
		found := bench.firstFailure(t, "timer", func() bool { return true })
		require.NotEmpty(t, found, "%s: no case noticed", level)
		t.Log(found)
	}
}

// What is not changed at once, by the lines alone.
func TestAtomicity(t *testing.T) {
	const (
		offer = "1.000001 [0 127.0.0.1:1] \"EVAL\" \"x\" \"0\"\n1.000001 [0 lua] \"rpush\" \"redisson_delay_queue:{q}\" \"m\"\n1.000001 [0 lua] \"zadd\" \"redisson_delay_queue_timeout:{q}\" \"5\" \"m\"\n"
		push  = "2.000001 [0 127.0.0.1:1] \"RPUSH\" \"redisson_delay_queue:{q}\" \"m\"\n"
		add   = "2.000002 [0 127.0.0.1:1] \"ZADD\" \"redisson_delay_queue_timeout:{q}\" \"5\" \"m\"\n"
		multi = "1.900000 [0 127.0.0.1:1] \"MULTI\"\n"
		exec  = "2.900000 [0 127.0.0.1:1] \"EXEC\"\n"
		other = "2.000001 [0 127.0.0.1:2] \"LRANGE\" \"redisson_delay_queue:{q}\" \"0\" \"-1\"\n"
		taken = "3.000001 [0 127.0.0.1:1] \"LREM\" \"redisson_delay_queue:{q}\" \"1\" \"m\"\n"
		drop  = "3.000002 [0 127.0.0.1:1] \"ZREM\" \"redisson_delay_queue_timeout:{q}\" \"m\"\n"
	)
	kinds := (&Case{Queue: "q"}).queueKeys()
	for name, c := range map[string]struct {
		lines, recorded string
		failures        int
	}{
		"a script":                      {offer, "", 0},
		"a transaction":                 {multi + push + other + add + exec, "", 0},
		"two commands":                  {push + add, "", 2},
		"as Redisson itself":            {push + add, push + add, 0},
		"taken out of the set later":    {offer + taken + drop, "", 1},
		"taken out of the list only":    {offer + taken, "", 0},
		"a transaction that never ends": {multi + push + add, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, checkAtomic(linesOf(t, c.lines), linesOf(t, c.recorded), kinds), c.failures)
		})
	}
}

func linesOf(t *testing.T, text string) []monitor.Line {
	t.Helper()
	if text == "" {
		return nil
	}
	recording, err := monitor.Read(strings.NewReader(text), "test")
	require.NoError(t, err)
	return recording.Lines
}

func TestParseLevel(t *testing.T) {
	for _, l := range Levels() {
		got, err := ParseLevel(string(l))
		require.NoError(t, err)
		require.Equal(t, l, got)
	}
	_, err := ParseLevel("bytes")
	require.ErrorContains(t, err, "expected wire, exchange or state")
}
