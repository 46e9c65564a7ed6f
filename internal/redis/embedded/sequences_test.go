package embedded_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
)

var (
	seed      = flag.Uint64("seed", 1, "the first of the random sequences")
	sequences = flag.Int("sequences", 300, "how many random sequences run; 20,000 with DQ_THOROUGH=1")
)

// TestRandomSequences sends random sequences of recorded scripts, of dq's scripts and of plain commands to the embedded
// server and to a real one. Replies and keys are the same.
func TestRandomSequences(t *testing.T) {
	t.Parallel()
	n := *sequences
	if redistest.Thorough() {
		n = max(n, 20_000)
	}
	real, own := dialRaw(t, redistest.Redis(t)), dialRaw(t, redistest.Embedded(t))
	different := 0
	for i := range uint64(n) {
		g := &generator{Rand: rand.New(rand.NewPCG(*seed+i, 1)), dues: map[string]bool{}}
		commands := g.sequence()
		var text []byte
		for _, command := range commands {
			text = resp.AppendCommand(text, command...)
		}
		want, got := real.all(text, len(commands)), own.all(text, len(commands))
		for j, command := range commands {
			if !g.alike(want[j], got[j]) {
				different++
				for k, c := range commands[:j] {
					t.Logf("%.300q\n%s", c, want[k])
				}
				t.Errorf("seed %d, command %d: %.1500q\nRedis    %s\nembedded %s", *seed+i, j, command, want[j], got[j])
				break
			}
		}
		require.Less(t, different, 20)
	}
	t.Logf("%d sequences from seed %d", n, *seed)
}

func (c *rawConn) all(commands []byte, n int) (replies []string) {
	require.NoError(c.t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err := c.Write(commands)
	require.NoError(c.t, err)
	for range n {
		replies = append(replies, c.reply())
	}
	return replies
}

var large = regexp.MustCompile(`\d{9,}`)

// alike compares replies. Times by the servers' clocks may be a minute apart; due times may not.
func (g *generator) alike(a, b string) bool {
	if a == b {
		return true
	}
	if strings.Contains(a, `["0" [`) { // a SCAN, whose order is each server's own
		a, b = inOrder(a), inOrder(b)
	}
	x, y := large.FindAllString(a, -1), large.FindAllString(b, -1)
	if large.ReplaceAllString(a, "#") != large.ReplaceAllString(b, "#") {
		return false
	}
	for i := range x {
		n, _ := strconv.ParseInt(x[i], 10, 64)
		m, _ := strconv.ParseInt(y[i], 10, 64)
		if x[i] != y[i] && (g.dues[x[i]] || g.dues[y[i]] || max(n-m, m-n) > 60_000) {
			return false
		}
	}
	return true
}

func inOrder(reply string) string {
	words := strings.FieldsFunc(reply, func(r rune) bool { return strings.ContainsRune("[] ", r) })
	for i, word := range words {
		if n, err := strconv.ParseFloat(strings.Trim(word, `"`), 64); err == nil {
			words[i] = strconv.FormatFloat(n, 'f', -1, 64) // of a small set Redis writes a score of 1e17 as a whole number
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

var keys = []string{"d", "{d}:temp", "t:{d}", "q:{d}", "o", "k1", "k2", "k3", "k4", "k5"}

const dump = `local all = {}
local function sorted(list, value)
  table.sort(list)
  local out = {}
  for _, v in ipairs(list) do out[#out + 1] = v if value then out[#out + 1] = value(v) end end
  return out
end
for i, k in ipairs(KEYS) do
  local kind = redis.call('type', k).ok
  local v = kind
  if kind == 'list' then v = redis.call('lrange', k, 0, -1) end
  if kind == 'zset' then v = redis.call('zrange', k, 0, -1, 'withscores') end
  if kind == 'set' then v = sorted(redis.call('smembers', k)) end
  if kind == 'hash' then v = sorted(redis.call('hkeys', k), function(f) return redis.call('hget', k, f) end) end
  if kind == 'string' then v = redis.call('get', k) end
  all[i] = { kind, v, redis.call('pttl', k) < 0 and 1 or 0 }
end
return all`

type generator struct {
	*rand.Rand
	dues map[string]bool
	stem int
}

func (g *generator) sequence() (commands [][]string) {
	commands = append(commands, []string{"FLUSHALL"})
	if g.IntN(20) == 0 {
		commands = append(commands, []string{"SCRIPT", "FLUSH"})
	}
	depth := 0
	for range 5 + g.IntN(25) {
		switch n := g.IntN(100); {
		case n < 35:
			commands = append(commands, g.recorded(oneOf(g, wire.Scripts())))
		case n < 45:
			release := oneOf(g, []wire.Release{wire.Newest(), {Major: 3, Minor: 16, Patch: 6}})
			offer, _ := release.Script(wire.ScriptOffer)
			commands = append(commands, g.recorded(*offer))
		case n < 65:
			commands = append(commands, g.own())
		case n < 67 && depth == 0:
			commands, depth = append(commands, []string{"MULTI"}), 1
		case n < 75 && depth == 1:
			commands, depth = append(commands, []string{oneOf(g, []string{"EXEC", "EXEC", "DISCARD"})}), 0
		default:
			commands = append(commands, g.plain())
		}
	}
	if depth == 1 {
		commands = append(commands, []string{"EXEC"})
	}
	return append(commands, append([]string{"EVAL", dump, strconv.Itoa(len(keys))}, keys...))
}

func oneOf[T any](g *generator, all []T) T { return all[g.IntN(len(all))] }

// call sends a script whole, or by its digest.
func (g *generator) call(body, digest string, keys []string, args ...string) []string {
	head := []string{"EVAL", body, strconv.Itoa(len(keys))}
	if g.IntN(3) == 0 {
		head = []string{"EVALSHA", digest, strconv.Itoa(len(keys))}
	}
	return slices.Concat(head, keys, args)
}

// clientNow is the clock of a client whose offers are all close to it.
const clientNow = 1_786_000_000_000

// due is a time in ms: by delays of all sizes, whole and not, and what overflows.
func (g *generator) due() string {
	unit := oneOf(g, []int64{1, 1, 10, 1000, 60_000, 1_000_000, 86_400_000, 1_000_000_000})
	n := clientNow + unit*int64(g.IntN(20))
	switch g.IntN(30) {
	case 0:
		n = 0
	case 1:
		n = -int64(g.IntN(1000))
	case 2:
		n = oneOf(g, []int64{1 << 53, 1e15, 1e16, 1e17})
	case 3:
		n = int64(g.IntN(10_000))
	}
	text := strconv.FormatInt(n, 10)
	g.dues[text] = true
	return text
}

func (g *generator) value() string {
	return oneOf(g, []string{"a", "b", "c", "\x00\xff", "", `"json"`, "12", strings.Repeat("long", 20)})
}

func (g *generator) id() string {
	return oneOf(g, []string{"\x00\xff\x08\r\n\"\\\x80", "12345678", "abcdefgh", "\xff\xff\xff\xff\xff\xff\xff\xff"})
}

func (g *generator) member() string {
	layout := oneOf(g, []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0})
	m := wire.Member{Layout: layout, LengthSize: oneOf(g, []int{8, 8, 4}), Value: []byte(g.value())}
	copy(m.ID[:], g.id())
	if g.IntN(10) == 0 {
		return g.value()
	}
	return string(m.Bytes())
}

func (g *generator) number() string { return strconv.Itoa(g.IntN(6) - 1) }

// recorded is a call of one of Redisson's scripts.
func (g *generator) recorded(s wire.Script) []string {
	names := strings.NewReplacer("redisson_delay_queue_timeout:{<dest>}", "t:{d}", "redisson_delay_queue:{<dest>}", "q:{d}",
		"redisson_delay_queue_channel:{<dest>}", "c", "<dest>", "d").Replace(s.Keys)
	of := strings.Fields(names)
	for i, name := range of {
		if strings.Contains(name, "<") {
			of[i] = oneOf(g, keys[4:])
		}
	}
	if g.IntN(50) == 0 {
		of[g.IntN(len(of))] = oneOf(g, keys)
	}
	var args []string
	for arg := range strings.SplitSeq(s.Args, " | ") {
		switch {
		case arg == "":
		case strings.Contains(arg, "unix"):
			args = append(args, strconv.Itoa(4_102_444_800_000+1000*g.IntN(100_000)))
		case strings.Contains(arg, "ttl"): // by the clock: two equal ones are not equally late
			args = append(args, strconv.Itoa(4_000_000_000_000+1_000_000*g.IntN(1000)))
		case strings.Contains(arg, "ms, decimal"):
			args = append(args, g.due())
		case strings.Contains(arg, "random signed"):
			args = append(args, strconv.FormatInt(int64(binary.LittleEndian.Uint64([]byte(g.id()))), 10))
		case strings.Contains(arg, "8 random raw bytes"):
			args = append(args, g.id())
		case strings.HasSuffix(arg, "value>..."):
			for range g.IntN(4) {
				args = append(args, g.value())
			}
		case strings.Contains(arg, "value"):
			args = append(args, g.value())
		case strings.Contains(arg, "NX"):
			args = append(args, oneOf(g, []string{"", "NX", "XX", "GT", "LT"}))
		case strings.Contains(arg, "db"):
			args = append(args, "-1")
		case strings.Contains(arg, "<"):
			args = append(args, g.number())
		default:
			args = append(args, arg)
		}
	}
	if strings.HasPrefix(s.Variant, "sizeInMemory") { // MEMORY USAGE is each server's own estimate
		return []string{"PING"}
	}
	return g.call(s.Body, s.SHA1, of, args...)
}

// own is a call of one of dq's scripts.
func (g *generator) own() []string {
	g.stem++
	layout := oneOf(g, []string{"dLc0", "Bc0Lc0"})
	// Each lease is longer than those before, so that the order is the same whether or not two calls share a ms.
	lease := strconv.Itoa(oneOf(g, []int{4_000_000_000, 5_000_000_000, -1_000_000_000}) + 1_000_000*g.stem)
	id := fmt.Sprintf("%04d%04x", g.IntN(g.stem)+1, g.IntN(2))
	switch s := oneOf(g, scripts.All()); s.Name {
	case "transfer":
		return g.call(s.Body, s.SHA1, []string{"d", "t:{d}", "q:{d}", "k1", "k2", "k3", "k4", "k5"}, g.due(), oneOf(g, []string{"1", "3", "100", "0"}), layout)
	case "survey":
		return g.call(s.Body, s.SHA1, []string{"t:{d}", "q:{d}", "k2", "o", "k3", "k4"}, g.due(), "10", g.number())
	case "unlist":
		return g.call(s.Body, s.SHA1, []string{"t:{d}", "q:{d}", "k2", "o", "k1", "k5", "k3", "k4"},
			oneOf(g, []string{"t1", "t2"}), oneOf(g, []string{g.due(), ""}), oneOf(g, []string{"1", "2", "100"}), "4000000000", "4000000000")
	case "find":
		return g.call(s.Body, s.SHA1, []string{"t:{d}"}, layout, oneOf(g, []string{"", g.due()}), g.number(), g.value())
	case "cancel":
		return g.call(s.Body, s.SHA1, oneOf(g, [][]string{{"t:{d}", "q:{d}"}, {"t:{d}", "q:{d}", "k3", "k4", "k5"}}),
			append([]string{g.due(), g.id(), g.due()}, oneOf(g, [][]string{nil, {g.due(), layout, "c"}})...)...)
	case "take":
		return g.call(s.Body, s.SHA1, []string{"d", "{d}:temp", "k1", "k2", "k3"}, oneOf(g, []string{"1", "2", "10"}), lease, fmt.Sprintf("%04d", g.stem))
	case "settle":
		return g.call(s.Body, s.SHA1, []string{"k1", "k2", "k3", "o", "d"}, oneOf(g, []string{"extend", "retry", "bury", "release", "done"}), strconv.Itoa(6_000_000_000+1_000_000*g.stem), id, oneOf(g, []string{"1", "2"}))
	case "dead":
		return g.call(s.Body, s.SHA1, []string{"o", "k2", "k3", "d"}, oneOf(g, []string{"replay", "drop"}), id)
	default:
		return g.call(s.Body, s.SHA1, nil)
	}
}

// zsetMove is the script of the driver redis-zset.
const zsetMove = `local elements = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1])
if #elements > 0 then
for i, element in ipairs(elements) do
redis.call('LPUSH', KEYS[2], element)
redis.call('ZREM', KEYS[1], element)
end
end
return elements`

// plain is a command of Redisson, of dq, or of the drivers redis-list and redis-zset.
func (g *generator) plain() []string {
	list, set, any := oneOf(g, []string{"d", "q:{d}", "{d}:temp"}), "t:{d}", oneOf(g, keys)
	if g.IntN(20) == 0 {
		list, set = oneOf(g, keys), oneOf(g, keys)
	}
	end := oneOf(g, []string{"LEFT", "RIGHT"})
	return oneOf(g, [][]string{
		{"LPUSH", list, g.due() + ":" + g.value()}, {"RPUSH", list, g.value(), g.member()}, {"LPOP", list}, {"RPOP", list}, {"LPOP", list, "2"},
		{"RPOPLPUSH", list, "{d}:temp"}, oneOf(g, [][]string{{"PING"}, {"PING"}, {"PING"}, {"BRPOPLPUSH", list, "{d}:temp", "0.001"}, {"BLPOP", list, "0.001"}, {"BRPOP", list, "d", "0.001"}, {"BLMOVE", list, "d", end, end, "0.001"}}), {"LMOVE", list, "d", end, end},
		{"LREM", list, g.number(), g.value()}, {"LREM", list, "-1", g.member()}, {"LRANGE", list, g.number(), "-1"}, {"LINDEX", list, g.number()}, {"LLEN", list},
		{"LTRIM", list, g.number(), g.number()}, {"LPOS", list, g.value()}, {"LPOS", list, g.member(), "RANK", "-1", "MAXLEN", "1000"}, {"LSET", list, g.number(), g.value()},
		{"LINSERT", list, "BEFORE", g.value(), g.value()},
		{"ZADD", set, g.due(), g.value()}, {"ZADD", set, g.due(), g.member(), g.due(), g.value()}, {"ZADD", set, "NX", g.due(), g.value()}, {"ZADD", set, "XX", "CH", g.due(), g.member()},
		{"ZSCORE", set, g.value()}, {"ZMSCORE", set, g.value(), g.member()}, {"ZREM", set, g.value(), g.member()}, {"ZCARD", set},
		{"ZRANGE", set, "0", "-1", "WITHSCORES"}, {"ZRANGE", set, g.number(), g.number()}, {"ZREVRANGE", set, "0", g.number(), "WITHSCORES"}, {"ZRANGEBYSCORE", set, "0", g.due()},
		{"ZRANGEBYSCORE", set, "-inf", "(" + g.due(), "WITHSCORES", "LIMIT", "0", g.number()}, {"ZREVRANGEBYSCORE", set, "+inf", g.due()}, {"ZCOUNT", set, "-inf", "(" + g.due()},
		{"ZRANK", set, g.value()}, {"ZPOPMIN", set}, {"ZPOPMAX", set, "2"}, {"ZSCAN", set, "0", "COUNT", "1000"}, {"ZREMRANGEBYSCORE", set, "0", g.due()}, {"ZREMRANGEBYRANK", set, "0", "0"},
		{"HSET", "k3", g.value(), g.number()}, {"HGET", any, g.value()}, {"HINCRBY", "k3", g.value(), g.number()}, {"HDEL", "k3", g.value()}, {"HLEN", any}, {"HMGET", "k3", "a", "b"},
		{"SADD", "k4", g.member()}, {"SREM", "k4", g.member()}, {"SCARD", any}, {"SISMEMBER", "k4", g.value()},
		{"SET", any, g.value()}, {"SET", any, g.value(), "NX"}, {"SET", any, g.value(), "XX", "GET"}, {"SET", any, "5", "PX", "4000000000"}, {"GET", any}, {"INCR", any}, {"INCRBY", any, g.number()},
		{"EXISTS", "d", any, any}, {"DEL", any}, {"UNLINK", list, any}, {"RENAME", any, "o"}, {"TYPE", any}, {"PEXPIRE", any, "4000000000"}, {"PEXPIREAT", any, "4102444800000"}, {"PERSIST", any}, {"PTTL", any},
		{"PUBLISH", "c", g.due()}, {"PUBSUB", "NUMSUB", "c"}, {"PING"}, {"ECHO", g.value()}, {"GET"}, {"nosuch", g.value()}, {"WAIT", "0", "0"}, {"SCRIPT", "EXISTS", scripts.Transfer().SHA1},
		g.call(zsetMove, sha(zsetMove), []string{set, "{d}:temp"}, g.due()),
	})
}
