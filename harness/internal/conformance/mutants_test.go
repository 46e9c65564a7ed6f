package conformance

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// mutant is dq broken in one way.
type mutant struct {
	name string
	// release is what dq is at; 3.21.0, which sends whole scripts, by default.
	release string
	// likely are cases that should notice; they come first. The others follow until
	// one does.
	likely string
	mutate func() mutation
}

// The harness must notice every fault, or it proves nothing about what passes.
func TestMutantsAreKilled(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(mutants()), 40)
	inLanes(t, redistest.Sample(t, mutants(), 4), func(m mutant) string { return m.name }, func(t *testing.T, m mutant) {
		t.Helper()
		release := "3.21.0"
		if m.release != "" {
			release = m.release
		}
		bench := newMutantBench(t, release)
		changed := new(atomic.Bool)
		mutate := m.mutate()
		bench.proxy.use(func(command []string) [][]string {
			out := mutate(slices.Clone(command))
			if len(out) != 1 || !slices.Equal(out[0], command) {
				changed.Store(true)
			}
			return out
		})
		killer := bench.firstFailure(t, m.likely, changed.Load)
		require.True(t, changed.Load(), "the mutation changed no command, so that it tests nothing; noticed was: %s", killer)
		require.NotEmpty(t, killer, "no case noticed")
		t.Log(killer)
	})
}

// mutantBench runs cases against dq through a proxy.
type mutantBench struct {
	proxy  *mutantProxy
	runner *Runner
	oracle *Oracle
	cases  []*Case
}

func newMutantBench(t *testing.T, release string) *mutantBench {
	t.Helper()
	r, err := wire.LookupRelease(release)
	require.NoError(t, err)
	srv := redistest.Redis(t)
	proxy := newMutantProxy(t)
	program := &throughProxy{spec.DQ{Release: r}.Link(true), proxy.url}
	runner, err := NewRunner(t.Context(), srv, "", program, r)
	require.NoError(t, err)
	proxy.to = runner.senders.proxy.Addr
	t.Cleanup(func() { runner.Close(); program.Close() })
	sections, oracle := loadAll(t)
	b := &mutantBench{proxy: proxy, runner: runner, oracle: oracle}
	for _, s := range sections {
		for _, c := range s.Cases {
			if !c.Slow && c.HoldsFor(r) {
				b.cases = append(b.cases, c)
			}
		}
	}
	return b
}

// firstFailure runs the cases, the likely ones first, until one fails, and tells about that failure.
// A failure without a broken command may come from a machine that stood still: that case runs once more.
func (b *mutantBench) firstFailure(t *testing.T, likely string, broken func() bool) string {
	t.Helper()
	first := regexp.MustCompile(likely)
	ordered := slices.Clone(b.cases)
	slices.SortStableFunc(ordered, func(x, y *Case) int {
		rank := map[bool]int{false: 1}
		return rank[first.MatchString(x.ID)] - rank[first.MatchString(y.ID)]
	})
	for _, c := range ordered {
		result := b.runner.Judge(t.Context(), c, b.oracle)
		if result.Status == Fail && !broken() {
			t.Logf("once more: %s", result.Text())
			result = b.runner.Judge(t.Context(), c, b.oracle)
		}
		switch result.Status {
		case Fail:
			return result.Text()
		case Error:
			t.Logf("%s: error of the harness: %s", c.ID, result.Detail)
		}
	}
	return ""
}

// throughProxy has a program connect to a proxy.
type throughProxy struct {
	program.Program
	url string
}

func (p *throughProxy) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	if open, ok := params.(map[string]any); ok && op == "open" {
		open["redis"] = p.url
	}
	return p.Program.Call(ctx, op, params)
}

// each changes every command; f may return it as it is.
func each(f func(command []string) []string) func() mutation {
	return func() mutation {
		return func(command []string) [][]string { return [][]string{f(command)} }
	}
}

// on changes the commands of one name, in any case of letters.
func on(name string, f func(command []string) []string) func() mutation {
	return each(func(command []string) []string {
		if strings.EqualFold(command[0], name) {
			return f(command)
		}
		return command
	})
}

// replace changes text in all arguments.
func replace(old, new string) func() mutation {
	return each(func(command []string) []string {
		for i := range command {
			command[i] = strings.ReplaceAll(command[i], old, new)
		}
		return command
	})
}

// inScript changes the text of a script of 3.21.0, by its name in the catalogue.
func inScript(name wire.ScriptName, old, new string) func() mutation {
	script, ok := wire.Release{Major: 3, Minor: 21}.Script(name)
	if !ok || !strings.Contains(script.Body, old) {
		panic("no script " + string(name) + " with " + old)
	}
	return on("EVAL", func(command []string) []string {
		if command[1] == script.Body {
			command[1] = strings.ReplaceAll(script.Body, old, new)
		}
		return command
	})
}

// onScript changes the calls of a script of 3.21.0.
func onScript(name wire.ScriptName, f func(args []string)) func() mutation {
	script, _ := wire.Release{Major: 3, Minor: 21}.Script(name)
	return on("EVAL", func(command []string) []string {
		if command[1] == script.Body {
			keys, _ := strconv.Atoi(command[2])
			f(command[3+keys:])
		}
		return command
	})
}

// after sends more behind the commands of one name, and gives the client the
// reply to the last.
func after(name string, is func([]string) bool, more func(command []string) []string) func() mutation {
	return func() mutation {
		return func(command []string) [][]string {
			if strings.EqualFold(command[0], name) && is(command) {
				return [][]string{command, more(command)}
			}
			return [][]string{command}
		}
	}
}

// before sends another command before each that is meant.
func before(is func([]string) bool, other ...string) func() mutation {
	return func() mutation {
		return func(command []string) [][]string {
			if is(command) {
				return [][]string{other, command}
			}
			return [][]string{command}
		}
	}
}

func isOffer(command []string) bool {
	return len(command) > 6 && strings.HasPrefix(command[6], "redisson_delay_queue_channel")
}

func isTransfer(command []string) bool {
	return len(command) == 8 && command[2] == "3" && command[7] == "100"
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func add(n int64) func(int, []string) {
	return func(i int, args []string) { args[i] = strconv.FormatInt(number(args[i])+n, 10) }
}

func mutants() []mutant {
	const newest = "4.7.0"
	always := func([]string) bool { return true }
	return []mutant{
		{name: "timeout set under another name", mutate: replace("redisson_delay_queue_timeout", "redisson_delay_queue_timeouts")},
		{name: "pending list under another name", mutate: replace("redisson_delay_queue:", "redisson_delay_list:")},
		{name: "channel under another name", mutate: replace("redisson_delay_queue_channel", "redisson_delay_channel")},
		{name: "names without braces", mutate: replace("{orders}", "orders")},

		{name: "members big endian", likely: "offer", mutate: replace("'dLc0'", "'>dLc0'")},
		{name: "members without id", likely: "offer", mutate: inScript(wire.ScriptOffer, "struct.pack('dLc0', tonumber(ARGV[2]), ", "struct.pack('Lc0', ")},
		{name: "members with a length of 4 bytes", likely: "offer", mutate: replace("'dLc0'", "'dIc0'")},
		{name: "members of the other layout", likely: "offer", mutate: inScript(wire.ScriptOffer, "struct.pack('dLc0', tonumber(ARGV[2])", "struct.pack('Bc0Lc0', 8, '12345678'")},
		{name: "the same id for all", likely: "offer|remove", mutate: onScript(wire.ScriptOffer, func(args []string) { args[1] = "1" })},
		{name: "id not in decimal", likely: "offer", mutate: onScript(wire.ScriptOffer, func(args []string) { args[1] = "0x" + strconv.FormatInt(number(args[1])&0xffff, 16) })},
		{name: "half an id", release: newest, likely: "offer", mutate: each(func(c []string) []string {
			if strings.HasPrefix(c[0], "EVALSHA") && isOffer(c) {
				c[8] = c[8][:4]
			}
			return c
		})},
		{name: "offer of an older release", release: newest, likely: "offer", mutate: each(func(c []string) []string {
			if strings.HasPrefix(c[0], "EVALSHA") && isOffer(c) {
				old, _ := wire.Release{Major: 3, Minor: 16, Patch: 6}.Script(wire.ScriptOffer)
				c[0], c[1], c[8] = "EVAL", old.Body, "42"
			}
			return c
		})},

		{name: "publishes always", likely: "offer", mutate: inScript(wire.ScriptOffer, "if v[1] == value then", "if true then")},
		{name: "publishes never", likely: "offer", mutate: inScript(wire.ScriptOffer, "if v[1] == value then", "if false then")},
		{name: "publishes something else", likely: "offer", mutate: inScript(wire.ScriptOffer, "KEYS[4], ARGV[1]", "KEYS[4], ARGV[2]")},
		{name: "offer does not append", likely: "offer", mutate: inScript(wire.ScriptOffer, "redis.call('rpush', KEYS[3], value);", "")},
		{name: "offer puts in front", likely: "offer", mutate: inScript(wire.ScriptOffer, "'rpush'", "'lpush'")},
		{name: "due a second late", likely: "offer", mutate: onScript(wire.ScriptOffer, func(args []string) { add(1000)(0, args) })},
		{name: "due 400 ms late", likely: "offer", mutate: onScript(wire.ScriptOffer, func(args []string) { add(400)(0, args) })},
		{name: "due 400 ms early", likely: "offer", mutate: onScript(wire.ScriptOffer, func(args []string) { add(-400)(0, args) })},
		{name: "due in seconds", likely: "offer", mutate: onScript(wire.ScriptOffer, func(args []string) { args[0] = strconv.FormatInt(number(args[0])/1000, 10) })},
		{name: "the value in quotes", likely: "offer", mutate: onScript(wire.ScriptOffer, func(args []string) { args[2] = strconv.Quote(args[2]) })},
		{name: "offers twice", likely: "offer", mutate: after("EVAL", isOffer, slices.Clone)},
		{name: "offers once more after a while", likely: "offer", mutate: resendLast},

		{name: "limit 99", likely: "transfer", mutate: onScript(wire.ScriptTransfer, func(args []string) { args[1] = "99" })},
		{name: "limit 101", likely: "transfer", mutate: onScript(wire.ScriptTransfer, func(args []string) { args[1] = "101" })},
		{name: "transfer leaves the pending list", likely: "transfer", mutate: inScript(wire.ScriptTransfer, "redis.call('lrem', KEYS[3], 1, v);", "")},
		{name: "transfer leaves the timeout set", likely: "transfer", mutate: inScript(wire.ScriptTransfer, "redis.call('zrem', KEYS[2], unpack(expiredValues));", "")},
		{name: "transfer removes before it pushes", likely: "transfer", mutate: inScript(wire.ScriptTransfer, "for i, v in ipairs(expiredValues) do ", "redis.call('zrem', KEYS[2], unpack(expiredValues)); for i, v in ipairs(expiredValues) do ")},
		{name: "transfer puts in front", likely: "transfer", mutate: inScript(wire.ScriptTransfer, "'rpush'", "'lpush'")},
		{name: "transfer moves packed members", likely: "transfer", mutate: inScript(wire.ScriptTransfer, "KEYS[1], value", "KEYS[1], v")},
		{name: "transfer removes all equal members", likely: "transfer", mutate: inScript(wire.ScriptTransfer, "KEYS[3], 1, v", "KEYS[3], 0, v")},
		{name: "transfer early", likely: "timer|transfer", mutate: onScript(wire.ScriptTransfer, func(args []string) { add(2000)(0, args) })},
		{name: "transfer 490 ms early", likely: "timer|transfer", mutate: onScript(wire.ScriptTransfer, func(args []string) { add(490)(0, args) })},
		{name: "transfer 20 ms early", likely: "timer|transfer", mutate: onScript(wire.ScriptTransfer, func(args []string) { add(20)(0, args) })},
		{name: "transfer late", likely: "timer|transfer", mutate: onScript(wire.ScriptTransfer, func(args []string) { add(-2000)(0, args) })},
		{name: "transfer says nothing of the next", likely: "timer", mutate: inScript(wire.ScriptTransfer, "return v[2];", "return nil;")},
		{name: "no transfer after a reconnect", likely: "reconnect", mutate: noTransferAfterReconnect},
		{name: "no transfer at the start", likely: "start", mutate: dropFirst(isTransfer)},

		{name: "eval in lower case", mutate: on("EVAL", lower)},
		{name: "blpop in lower case", likely: "BQ|take|blocking", mutate: on("BLPOP", lower)},
		{name: "an extra command", likely: "offer", mutate: after("EVAL", isOffer, func([]string) []string { return []string{"LLEN", "orders"} })},
		{name: "a ping before each offer", likely: "offer", mutate: before(isOffer, "PING")},
		{name: "INFO before each offer", likely: "offer", mutate: before(isOffer, "INFO")},
		{name: "CLIENT LIST before each transfer", likely: "transfer|timer", mutate: before(isTransfer, "CLIENT", "LIST")},
		{name: "kills a client before each offer", likely: "offer", mutate: before(isOffer, "CLIENT", "KILL", "ID", "999999")},
		{name: "resets the cluster", likely: "offer", mutate: before(isOffer, "CLUSTER", "RESET")},
		{name: "pings three times at first", likely: "start", mutate: func() mutation {
			return func(c []string) [][]string {
				if strings.EqualFold(c[0], "PING") || strings.EqualFold(c[0], "HELLO") {
					return [][]string{{"PING"}, {"PING"}, {"PING"}, c}
				}
				return [][]string{c}
			}
		}},
		{name: "twenty transfers for one", likely: "start", mutate: func() mutation {
			return func(c []string) [][]string {
				if !isTransfer(c) {
					return [][]string{c}
				}
				return slices.Repeat([][]string{c}, 20)
			}
		}},
		{name: "subscribes by pattern", mutate: on("SUBSCRIBE", func(c []string) []string { c[0] = "PSUBSCRIBE"; return c })},
		{name: "subscribes twice", likely: "start", mutate: after("SUBSCRIBE", always, slices.Clone)},
		{name: "stays subscribed", likely: "destroy", mutate: on("UNSUBSCRIBE", func(c []string) []string { return []string{"PING"} })},

		{name: "take waits a second", likely: "take|blocking", mutate: on("BLPOP", func(c []string) []string { c[len(c)-1] = "1"; return c })},
		{name: "poll from the other end", likely: "q.poll|queue", mutate: on("LPOP", func(c []string) []string { c[0] = "RPOP"; return c })},
		{name: "size of the wrong list", likely: "size|read", mutate: on("LLEN", func(c []string) []string { c[1] = "orders"; return c })},
		{name: "clear leaves the timeout set", likely: "clear|delete", mutate: on("DEL", func(c []string) []string { return c[:2] })},

		{name: "poll leaves the timeout set", likely: "poll", mutate: inScript(wire.ScriptPoll, "redis.call('zrem', KEYS[2], v); ", "")},
		{name: "peek at the last", likely: "peek|read", mutate: inScript(wire.ScriptPeek, "KEYS[1], 0", "KEYS[1], -1")},
		{name: "readAll without the last", likely: "readAll|read", mutate: inScript(wire.ScriptReadAll, "0, -1", "0, -2")},
		{name: "contains always", likely: "contains|read", mutate: inScript(wire.ScriptContains, "return 0;", "return 1;")},
		{name: "remove leaves the timeout set", likely: "remove", mutate: inScript(wire.ScriptRemove, "redis.call('zrem', KEYS[2], v);", "")},
		{name: "removeAll removes one", likely: "removeAll|remove", mutate: inScript(wire.ScriptRemoveAll, "result = 1;", "if result == 1 then return 1 end; result = 1;")},
		{name: "retainAll without Redisson's fault", likely: "retainAll|remove", mutate: inScript(wire.ScriptRetainAll, "changed = 1;", "changed = 1; redis.call('zrem', 'redisson_delay_queue_timeout:{orders}', items[i]);")},
		{name: "expires one key", likely: "expire", mutate: inScript(wire.ScriptExpire, "#KEYS", "1")},
		{name: "drains and leaves", likely: "drain", mutate: inScript(wire.ScriptQueueDrainTo, "redis.call('del', KEYS[1]);", "")},

		{name: "whole scripts where EVALSHA is due", release: newest, likely: "start", mutate: each(func(c []string) []string {
			if s, ok := scriptOf(c); ok && c[0] == "EVALSHA" {
				c[0], c[1] = "EVAL", s.Body
			}
			return c
		})},
		{name: "loads scripts beforehand", release: newest, likely: "start", mutate: func() mutation {
			return func(c []string) [][]string {
				if s, ok := scriptOf(c); ok && c[0] == "EVALSHA" {
					return [][]string{{"SCRIPT", "LOAD", s.Body}, c}
				}
				return [][]string{c}
			}
		}},
		{name: "SHA-1 in capitals", release: newest, likely: "start", mutate: on("EVALSHA", func(c []string) []string { c[1] = strings.ToUpper(c[1]); return c })},
		{name: "answers a miss with EVAL", release: newest, likely: "start", mutate: missAnsweredWithEval},
		{name: "EVALSHA where EVALSHA_RO is due", release: newest, likely: "read|contains", mutate: on("EVALSHA_RO", func(c []string) []string { c[0] = "EVALSHA"; return c })},
	}
}

func lower(c []string) []string {
	c[0] = strings.ToLower(c[0])
	return c
}

func scriptOf(command []string) (*wire.Script, bool) {
	if len(command) < 2 {
		return nil, false
	}
	return wire.ScriptBySHA1(command[1])
}

// resendLast sends each offer again when the next command comes, as a client does
// that lost the reply and tries again.
func resendLast() mutation {
	var last []string
	return func(command []string) [][]string {
		again := last
		last = nil
		if isOffer(command) {
			last = slices.Clone(command)
		}
		if again != nil && !strings.EqualFold(command[0], "UNSUBSCRIBE") {
			return [][]string{again, command}
		}
		return [][]string{command}
	}
}

func dropFirst(is func([]string) bool) func() mutation {
	return func() mutation {
		return func(command []string) [][]string {
			if is(command) {
				is = func([]string) bool { return false }
				return nil
			}
			return [][]string{command}
		}
	}
}

func noTransferAfterReconnect() mutation {
	subscribed, drop := 0, false
	return func(command []string) [][]string {
		switch {
		case strings.EqualFold(command[0], "HELLO"):
		case strings.EqualFold(command[0], "SUBSCRIBE"):
			subscribed++
			drop = subscribed > 1
		case drop && isTransfer(command):
			drop = false
			return nil
		case strings.EqualFold(command[0], "UNSUBSCRIBE"):
			subscribed, drop = 0, false
		}
		return [][]string{command}
	}
}

// missAnsweredWithEval is what go-redis does: no SCRIPT LOAD, but EVAL.
func missAnsweredWithEval() mutation {
	missed := make(map[string]bool)
	return func(command []string) [][]string {
		s, ok := scriptOf(command)
		switch {
		case len(command) == 3 && strings.EqualFold(command[1], "LOAD"):
			return [][]string{{"PING"}}
		case ok && command[0] == "EVALSHA" && missed[s.SHA1]:
			delete(missed, s.SHA1)
			command[0], command[1] = "EVAL", s.Body
		case ok && command[0] == "EVALSHA":
			missed[s.SHA1] = true
		}
		return [][]string{command}
	}
}
