package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/embedded"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// rawConn speaks RESP2 without a client library's own commands and readings.
type rawConn struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dialRaw(t testing.TB, s *redis.Server) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return &rawConn{t: t, Conn: conn, r: bufio.NewReader(conn)}
}

func (c *rawConn) sendCommand(args ...string) {
	c.t.Helper()
	_, err := c.Write(resp.AppendCommand(nil, args...))
	require.NoError(c.t, err)
}

func (c *rawConn) line() string {
	c.t.Helper()
	s, err := c.r.ReadString('\n')
	require.NoError(c.t, err)
	return strings.TrimRight(s, "\r\n")
}

// reply reads one reply and writes it on one line.
func (c *rawConn) reply() string {
	c.t.Helper()
	head := c.line()
	n, _ := strconv.Atoi(head[1:])
	switch {
	case head[0] == '$' && n >= 0:
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.r, b)
		require.NoError(c.t, err)
		return strconv.Quote(string(b[:n]))
	case head[0] == '*' && n >= 0:
		parts := make([]string, n)
		for i := range parts {
			parts[i] = c.reply()
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return head
	}
}

func (c *rawConn) do(args ...string) string {
	c.t.Helper()
	c.sendCommand(args...)
	return c.reply()
}

// monitored runs commands on one connection and gives their replies and what MONITOR showed, time and port taken out.
func monitored(t *testing.T, s *redis.Server, commands [][]string) (replies, lines []string) {
	t.Helper()
	monitor := dialRaw(t, s)
	require.Equal(t, "+OK", monitor.do("MONITOR"))
	c := dialRaw(t, s)
	for _, args := range commands {
		replies = append(replies, c.do(args...))
	}
	require.Equal(t, `"end"`, c.do("echo", "end"))
	volatile := regexp.MustCompile(`^\+\d+\.\d{6} \[(\d+) (lua|127\.0\.0\.1:\d+)\]`)
	for {
		line := monitor.line()
		m := volatile.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		who, _, _ := strings.Cut(m[2], ":")
		lines = append(lines, m[1]+" "+who+line[len(m[0]):])
		if strings.HasSuffix(line, `"echo" "end"`) {
			return replies, lines
		}
	}
}

// requireSameAsRedis runs commands on the embedded server and on a real one.
func requireSameAsRedis(t *testing.T, commands [][]string) {
	t.Helper()
	wantReplies, wantLines := monitored(t, redistest.Redis(t), commands)
	gotReplies, gotLines := monitored(t, redistest.Embedded(t), commands)
	for i := range commands {
		require.Equal(t, wantReplies[i], gotReplies[i], "%q", commands[i])
	}
	require.Equal(t, wantLines, gotLines)
}

func sha(body string) string { return goredis.NewScript(body).Hash() }

func TestAnswersAsRedisDoes(t *testing.T) {
	t.Parallel()
	requireSameAsRedis(t, [][]string{
		{"ping", "\x00\a\b\x7f\x80\"\\\n\r\t~\x1b"}, {"Get", "none"}, {"get"}, {"nosuch"},
		{"SELECT", "1"}, {"eval", `return redis.call("Set","x","1")`, "0"}, {"select", "0"},
		{"config", "get", "none"}, {"client", "setname", "me"}, {"CLIENT", "GETNAME"},
		{"multi"}, {"set", "a", "1"}, {"eval", `return redis.call("get",KEYS[1])`, "1", "a"}, {"Exec"},
		{"MULTI"}, {"set", "a", "2"}, {"multi"}, {"discard"}, {"exec"}, {"get", "a"},
		{"multi"}, {"set", "a", "3"}, {"exec", "x"}, {"exec"}, {"exec", "x"}, {"multi"}, {"discard", "x"}, {"exec"}, {"zadd", "y", "nan", "m"}, {"zadd", "y", "ch", "1", "nan", "2", "b"},
		{"zadd", "y", "incr", "nan", "b"}, {"zadd", "y", "2", "nan"}, {"zpopmin", "y", "0"}, {"zpopmax", "y", "-1"}, {"zrange", "y", "0", "-1"},
		{"multi"}, {"set", "a", "3"}, {"get"}, {"set", "a", "4"}, {"exec"}, {"get", "a"}, {"exec"}, {"multi"}, {"nosuch", "x"}, {"Discard"}, {"multi"}, {"client"}, {"EXEC"}, {"multi"}, {"client", "nosuch"}, {"EXEC"},
		{"watch", "a"}, {"multi"}, {"watch", "a"}, {"incr", "z"}, {"exec"}, {"ping", "a", "b"}, {"auth", "secret"}, {"multi"}, {"BLPOP", "none", "0"}, {"exec"},
		{"zadd", "z", "1786000000000", "m", "0.5", "1e3"}, {"zscore", "z", "m"}, {"zrange", "z", "0", "-1", "withscores"}, {"zrange", "z", "0", "-1"},
		{"zmscore", "z", "1e3", "none", "m"}, {"zadd", "z", "incr", "100000", "m"}, {"eval", `return redis.call("zscore","z","m")`, "0"}, {"zpopmax", "z"}, {"zscan", "z", "0"},
		{"BLPOP", "none", "0.01"}, {"blpop", "none", "x"}, {"blpop", "a", "1"}, {"rpush", "bl", "1"}, {"BRPOPLPUSH", "bl", "bm", "0"}, {"hello", "9"},
		{"BRPOPLPUSH", "none", "b", "0.01"}, {"rpush", "l", "1", "2"}, {"blpop", "none", "l", "0"}, {"brpop", "l", "0"}, {"client", "unblock", "99999"},
		{"subscribe", "x"}, {"unsubscribe", "x"}, {"publish", "x", "m"}, {"rpush", "r", "1"}, {"expire", "r", "99"}, {"lmove", "r", "r", "left", "right"}, {"persist", "r"},
	})
}

func TestScriptsAnswerAsInRedis(t *testing.T) {
	t.Parallel()
	commands := [][]string{
		{"eval", "return 1", "7"}, {"eval_ro", `return redis.call("set","a","1")`, "0"}, {"eval_ro", `return redis.call("get","a")`, "0"},
		{"evalsha", sha("return 1"), "0"}, {"script", "load", "return 1"}, {"evalsha", strings.ToUpper(sha("return 1")), "0"}, {"script", "exists", sha("return 1")},
		{"eval", "return {#_G.KEYS, KEYS[1], ARGV[1]}", "1", "k", "a"}, {"eval", "return {#KEYS, #ARGV}", "0"},
		{"eval", "local all = {} for i = 1, ARGV[1] do all[#all + 1] = i end for i = 1, ARGV[2] do all[#all + 1] = i end return all", "0", "2", "9"},
	}
	for _, body := range []string{
		`return redis.status_reply("fine")`, `return redis.call("lpush","a","1")`, `redis.call("set","a",1)`, `return redis.call("lpush","a","1")`, `return redis.pcall("lpush","a","1")`,
		`return redis.call("get")`, "\n\nlocal r = redis.call() return r", `return redis.call("blpop","l",0)`, `return redis.call("nosuch","a")`, `return redis.call("get",nil)`, `return redis.call("client","id")`, `return redis.call("publish","c")`,
		"\n\nerror('boom')", `error("boom")`, `return redis.error_reply("MY x")`, `return ("ab"):rep(3)`, `redis.call("set","e",-math.huge) return {redis.call("get","e"), math.huge == 1/0}`, `return {pcall(function() error("no") end)}`, `return {pcall(tonumber, "7")}`,
		`return {1,"two",{3,false},4.9}`, `return {ok="fine"}`, "return nothing", "return os",
		"\nstring.foo = 1", "x = 1", `return redis.call("get","a")`,
		`return {tonumber("1e3"), tonumber(" 0x10 "), tonumber("z", 36), tonumber("1e17") == 1e17, tostring(tonumber("x"))}`,
		`return {tostring(1700000000012), tostring(1.5), "a" .. 1700000000000}`,
		`redis.call("set","a",1.5) redis.call("set","b",3) redis.call("set","c",1786e9) redis.call("set","d",0.1) return redis.call("mget","a","b","c","d")`,
		`redis.call("select",2) redis.call("set","b","2") return redis.call("get","b")`,
		"local t = {} for i = 1, 7000 do t[i] = i end return {unpack(t)}", `local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(5000)`,
		`return {redis.REDIS_VERSION, string.format("%.0f %04x", 1786000000000, 10), redis.acl_check_cmd("set", "a", "b")}`,
		"local t = {3, 1, 2} table.sort(t) table.insert(t, 9) table.remove(t, 1) return t", `return {redis.sha1hex("a"), string.format("%d %s %5.1f", 3, "x", 2.25)}`,
	} {
		commands = append(commands, []string{"eval", body, "0"})
	}
	const hex = `local function hex(s) return (string.gsub(s,'.',function(c) return string.format('%02x',string.byte(c)) end)) end `
	for _, call := range []string{
		`hex(struct.pack('dLc0',tonumber('-7046029254386353131'),3,'abc'))`, `hex(struct.pack('Bc0Lc0',8,'\0\255345678',0,''))`, `hex(struct.pack('<I4',-2))`,
		`hex(struct.pack('d','12.5'))`, `hex(struct.pack('c0',12))`, `hex(struct.pack('L'))`, `hex(struct.pack('B',256+7))`, `hex(struct.pack('L',2^63))`,
		`{struct.unpack('dLc0',struct.pack('dLc0',2^53,3,'abc'))}`, `{struct.unpack('Bc0Lc0','\8\255\254345678\2\0\0\0\0\0\0\0xy')}`, `{struct.unpack('<I4','\255\255\1\2')}`,
		`{struct.unpack('B','ab',2)}`, `{struct.unpack('B','ab',3)}`, `{struct.unpack('B','ab',0)}`, `{struct.unpack('Bc0','\5ab')}`, `{struct.unpack('c0','ab')}`,
		`string.format('%.17g',(struct.unpack('L',string.rep('\255',8))))`, `{struct.unpack('','')}`,
	} {
		commands = append(commands, []string{"eval", hex + "return " + call, "0"})
	}
	requireSameAsRedis(t, commands)
}

func TestRefusesByName(t *testing.T) {
	t.Parallel()
	c := dialRaw(t, redistest.Embedded(t))
	for body, name := range map[string]string{
		"return cjson.encode({})": "has no cjson", "return cmsgpack.pack(1)": "has no cmsgpack", "return bit.band(1, 1)": "has no bit", "return loadstring('return 1')()": "has no loadstring",
		"return coroutine.wrap(print)": "has no coroutine", "rawset(_G, 'x', 1)": "has no rawset", "return redis.log(1, 'x')": "has no redis.log", "redis.setresp(3)": "has no redis.setresp", "return struct.size('B')": "has no struct.size",
		"return struct.pack('>B', 1)": "has no struct option '>'", "return struct.pack('i16', 1)": "has no struct option 'i16'",
	} {
		require.Contains(t, c.do("EVAL", body, "0"), "-ERR user_script:1: the embedded server "+name)
	}
	for _, command := range []string{"COMMAND", "BZPOPMIN", "XREAD", "XLEN", "GEOADD", "SETRANGE", "HRANDFIELD"} {
		require.Equal(t, "-ERR the embedded server has no "+command, c.do(command, "a", "4294967295000", "b"))
	}
	require.Equal(t, "+OK -ERR the embedded server has no XADD", c.do("MULTI")+" "+c.do("xadd", "s", "*", "a", "1"))
	require.Equal(t, "-EXECABORT Transaction discarded because of previous errors.", c.do("EXEC"))
	require.Equal(t, "-ERR the embedded server has no first line #! of scripts", c.do("EVAL", "#!lua\nreturn 1", "0"))
	require.Contains(t, c.do("EVAL", "return 1 +", "0"), "-ERR Error compiling script (new function): user_script")
	require.Contains(t, c.do("LATENCY", "RESET"), "-ERR unknown command 'LATENCY'")
	c.do("ZADD", "z", "1", "a") // of which miniredis panics at a cursor below 0
	require.Contains(t, c.do("ZSCAN", "z", "-1"), "-ERR the embedded server cannot do this ZSCAN: ")
	require.Contains(t, c.do("EVAL", "return redis.call('zscan', 'z', '-1')", "0"), "-ERR the embedded server cannot do this ZSCAN: ")
	require.Equal(t, ":1", c.do("ZCARD", "z"))
}

// An endless script ends with an error, and the server goes on.
func TestAnEndlessScriptIsEnded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := embedded.Serve(l, embedded.Hooks{}, 50*time.Millisecond)
	require.NoError(t, err)
	c := dialRaw(t, &redis.Server{Addr: e.Addr()})
	require.Contains(t, c.do("EVAL", "while true do end", "0"), "-ERR the embedded server ended the script after 50ms")
	require.Equal(t, ":7", c.do("EVAL", "return 7", "0"))
	require.NoError(t, e.Close())
}

// Inline commands work, and broken input ends the connection with an error.
func TestProtocol(t *testing.T) {
	t.Parallel()
	c := dialRaw(t, redistest.Embedded(t))
	_, err := c.Write([]byte("ping inline\r\n*1\r\n$0\r\n\r\n*1\r\n:1\r\n"))
	require.NoError(t, err)
	require.Equal(t, `"inline"`, c.reply())
	require.Contains(t, c.reply(), "-ERR unknown command ''")
	require.Contains(t, c.reply(), "-ERR Protocol error")
}

func TestServesBlockedClientsInOrder(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*redis.Server{"embedded": redistest.Embedded(t), "redis": redistest.Redis(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			control := dialRaw(t, s)
			blocked := make([]*rawConn, 4)
			for i := range blocked {
				blocked[i] = dialRaw(t, s)
				id := blocked[i].do("CLIENT", "ID")
				blocked[i].sendCommand("BLPOP", "other", "q", "0")
				if i == 1 { // once this one is known to be blocked, unblock it
					for control.do("CLIENT", "UNBLOCK", id[1:], "ERROR") != ":1" {
					}
					require.Equal(t, "-UNBLOCKED client unblocked via CLIENT UNBLOCK", blocked[i].reply())
				}
				waitBlocked(t, control, map[int]int{0: 1, 1: 1, 2: 2, 3: 3}[i])
			}
			require.NoError(t, blocked[2].Close())
			waitBlocked(t, control, 2)
			require.Equal(t, "+OK :1", control.do("SET", "other", "no list")+" "+control.do("DEL", "other"))
			require.Equal(t, "+one", control.do("EVAL", "redis.call('rpush',KEYS[1],'a') redis.call('rpush',KEYS[1],'b') return {ok='one'}", "1", "q"))
			require.Equal(t, `["q" "a"]`, blocked[0].reply())
			require.Equal(t, `["q" "b"]`, blocked[3].reply())
			require.Equal(t, ":0", control.do("LLEN", "q"))
		})
	}
}

func waitBlocked(t *testing.T, c *rawConn, n int) {
	t.Helper()
	for !strings.Contains(c.do("INFO", "clients"), fmt.Sprintf(`blocked_clients:%d\r`, n)) {
	}
}

func TestWithGoRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	require.True(t, s.Embedded())
	require.Equal(t, "miniredis", s.Product)
	c := redistest.Client(s)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	sub := c.Subscribe(ctx, "ch")
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Publish(ctx, "ch", "hello").Err())
	msg, err := sub.ReceiveMessage(ctx)
	require.NoError(t, err)
	require.Equal(t, "hello", msg.Payload)
	require.NoError(t, sub.Close())
	for c.PubSubNumSub(ctx, "ch").Val()["ch"] != 0 { // ends when the server has seen the connection close
		require.NoError(t, ctx.Err())
	}

	require.NoError(t, c.Eval(ctx, "for i=1,3 do redis.call('zrangebyscore','z',0,1) end return 1", nil).Err())
	info, err := c.Info(ctx, "commandstats").Result()
	require.NoError(t, err)
	require.Contains(t, info, "cmdstat_zrangebyscore:calls=3")
	require.Contains(t, info, "cmdstat_eval:calls=1")

	require.NoError(t, c.Set(ctx, "k", "v", time.Millisecond).Err())
	for c.Exists(ctx, "k").Val() != 0 {
		require.NoError(t, ctx.Err())
	}
	err = c.Watch(ctx, func(tx *goredis.Tx) error {
		require.NoError(t, c.Set(ctx, "w", 1, 0).Err())
		_, err := tx.TxPipelined(ctx, func(p goredis.Pipeliner) error { return p.Set(ctx, "w", 2, 0).Err() })
		return err
	}, "w")
	require.ErrorIs(t, err, goredis.TxFailedErr)
	plain := goredis.NewClient(&goredis.Options{Addr: s.Addr, ClientName: "me"}) // with all that go-redis says on connecting
	defer plain.Close()
	require.NoError(t, plain.Ping(ctx).Err())
}
