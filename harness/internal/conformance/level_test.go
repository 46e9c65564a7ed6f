package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// inTwo offers by two commands and an announcement, as a port without scripts would. It
// knows the layout, but not whether the message is the first.
var inTwo = when(isOffer, func(c []string) [][]string {
	member := string(wire.LayoutDLc0.Pack(wire.DoubleID(number(c[8])), []byte(c[9])))
	return [][]string{
		{"RPUSH", c[5], member}, {"ZADD", c[4], c[7], member}, {"PUBLISH", c[6], c[7]},
		{"EVAL", "return nil", "0"},
	}
})

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
		{"names in lower case", "DQ.poll/first-offered", wireFault{Command: "^EVAL (.*)$", Sends: []string{"eval $1"}}.mutate(), "eval", passes, passes},
		{"scripts in other words", "DQ.offer/later-one-is-silent", wireFault{Old: "redis.call(", New: "redis.call ("}.mutate(), "in place of", passes, passes},
		{"does not announce", "DQ.offer/new-head-publishes", inScript("offer", "if v[1] == value then", "if false then"), "published", "published", "W-OFFER-3"},
		{"one more write", "DQ.poll/first-offered", before(isOffer, "SET", "seen", "1"), "seen", "seen", "seen"},
		{"offers in two commands", "DQ.offer/new-head-publishes", inTwo, "W-OFFER-1", "W-OFFER-1", "W-OFFER-1"},
		{"offers in a transaction", "DQ.offer/new-head-publishes", inTransaction, "EVAL", "in place of", passes},
		{"deletes in two commands", "DQ.remove/clear", wireFault{Command: "^DEL (.*) (.*)$", Sends: []string{"DEL $1", "DEL $2"}}.mutate(), "W-REMOVE-7", "W-REMOVE-7", "W-REMOVE-7"},
		{"leaves the pending list", "DQ.transfer/one", inScript("transfer", "redis.call('lrem', KEYS[3], 1, v);", ""), "pending", "pending", "pending"},
	} {
		t.Run(port.name, func(t *testing.T) {
			t.Parallel()
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
