package embedded

import (
	"fmt"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

// command is a row of COMMAND.
type command struct {
	name  string // client|id for a subcommand
	arity int    // with the name; the least, if negative
	flags string
}

func (c command) is(flag rune) bool { return strings.ContainsRune(c.flags, flag) }

// commands are the commands that this server has, by flags: w may write, s not for scripts, t not queued by MULTI, a not shown to
// monitors, c has subcommands. Behind the name is the arity of Redis 7.0.15. Others of miniredis would block every client, end the
// protocol with a second reply, allocate without end, or answer in another way than Redis.
var commands = parseCommands(`
- DBSIZE:1 ECHO:2 EXISTS:-2 EXPIRETIME:2 GET:2 GETRANGE:4 HEXISTS:3 HGET:3 HGETALL:2 HKEYS:2 HLEN:2 HMGET:-3 HSCAN:-3 HSTRLEN:3
- HVALS:2 INFO:-1 KEYS:2 LINDEX:3 LLEN:2 LPOS:-3 LRANGE:4 MEMORY|USAGE:-3 MGET:-2 PEXPIRETIME:2 PING:-1 PTTL:2 PUBSUB|CHANNELS:-2
- PUBSUB|NUMPAT:2 PUBSUB|NUMSUB:-2 RANDOMKEY:1 SCAN:-2 SCARD:2 SDIFF:-2 SELECT:2 SINTER:-2 SISMEMBER:3 SMEMBERS:2 SMISMEMBER:-3
- SSCAN:-3 STRLEN:2 SUNION:-2 TIME:1 TOUCH:-2 TTL:2 TYPE:2 ZCARD:2 ZCOUNT:4 ZLEXCOUNT:4 ZMSCORE:-3 ZRANGE:-4 ZRANGEBYLEX:-4
- ZRANGEBYSCORE:-4 ZRANK:3 ZREVRANGE:-4 ZREVRANGEBYLEX:-4 ZREVRANGEBYSCORE:-4 ZREVRANK:3 ZSCAN:-3 ZSCORE:3
w APPEND:3 COPY:-3 DECR:2 DECRBY:3 DEL:-2 EXPIRE:-3 EXPIREAT:-3 FLUSHALL:-1 FLUSHDB:-1 GETDEL:2 GETEX:-2 GETSET:3 HDEL:-3 HINCRBY:4
w HMSET:-4 HSET:-4 HSETNX:4 INCR:2 INCRBY:3 INCRBYFLOAT:3 LINSERT:5 LMOVE:5 LPOP:-2 LPUSH:-3 LPUSHX:-3 LREM:4 LSET:4 LTRIM:4 MSET:-3
w PERSIST:2 PEXPIRE:-3 PEXPIREAT:-3 PSETEX:4 PUBLISH:3 RENAME:3 RENAMENX:3 RPOP:-2 RPOPLPUSH:3 RPUSH:-3 RPUSHX:-3 SADD:-3 SET:-3
w SETEX:4 SETNX:3 SMOVE:4 SPOP:-2 SREM:-3 UNLINK:-2 ZADD:-4 ZPOPMAX:-2 ZPOPMIN:-2 ZREM:-3 ZREMRANGEBYLEX:4 ZREMRANGEBYRANK:4
w ZREMRANGEBYSCORE:4
s AUTH:-2 CLIENT|GETNAME:2 CLIENT|ID:2 CLIENT|SETNAME:3 EVAL:-3 EVALSHA:-3 EVALSHA_RO:-3 EVAL_RO:-3 HELLO:-1 PSUBSCRIBE:-2
s PUNSUBSCRIBE:-1 SCRIPT|EXISTS:-3 SCRIPT|FLUSH:-2 SCRIPT|LOAD:3 SUBSCRIBE:-2 UNSUBSCRIBE:-1 UNWATCH:1 WAIT:3
ws BLMOVE:6 BLPOP:-3 BRPOP:-3 BRPOPLPUSH:4
sa CLIENT|LIST:-2 CLIENT|UNBLOCK:-3 CONFIG|GET:-3 MONITOR:1
st DISCARD:1 EXEC:1 MULTI:1 QUIT:-1 WATCH:-2
c CLIENT:-2 CONFIG:-2 MEMORY:-2 PUBSUB:-2 SCRIPT:-2`)

func parseCommands(table string) map[string]command {
	all := map[string]command{}
	for line := range strings.SplitSeq(strings.ToLower(table[1:]), "\n") {
		flags, rest, _ := strings.Cut(line, " ")
		for entry := range strings.FieldsSeq(rest) {
			name, digits, _ := strings.Cut(entry, ":")
			arity, _ := strconv.Atoi(digits)
			all[name] = command{name, arity, flags}
		}
	}
	return all
}

// lookup returns the command that args call, or the error that refuses it before it runs, as Redis words the error.
func (e *Server) lookup(args []string) (cmd command, refusal string) {
	name := strings.ToLower(args[0])
	if commands[name].is('c') && len(args) > 1 {
		name += "|" + strings.ToLower(args[1])
	}
	cmd, known := commands[name]
	switch {
	case !known && strings.Contains(name, "|"):
		refusal = fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", args[1], strings.ToUpper(args[0]))
	case !known && e.srv.IsRegisteredCommand(name):
		refusal = "ERR the embedded server has no " + strings.ToUpper(name)
	case !known:
		some := ""
		for _, a := range args[1:] {
			if a, _, _ = strings.Cut(a, "\x00"); len(some) < 128 {
				some += "'" + a[:min(len(a), 128-len(some))] + "' "
			}
		}
		refusal = fmt.Sprintf("ERR unknown command '%.128s', with args beginning with: %s", args[0], some)
	case len(args) < -cmd.arity, cmd.arity > 0 && len(args) != cmd.arity:
		refusal = fmt.Sprintf("ERR wrong number of arguments for '%s' command", name)
	}
	return cmd, oneLineText.Replace(refusal)
}

// execute writes the reply to a command: this server's own, or miniredis's.
func (e *Server) execute(c *client, cmd command, args []string) {
	name, p := cmd.name, c.peer
	if cmd.is('t') && c.tx != nil {
		name += " in MULTI"
	}
	switch name {
	case "eval", "evalsha", "eval_ro", "evalsha_ro":
		e.machine.eval(c, name, args)
	case "blpop", "brpop", "brpoplpush", "blmove":
		e.pop(c, name, args)
	case "multi":
		c.tx = &transaction{}
		p.WriteOK()
	case "multi in MULTI":
		p.WriteError("ERR MULTI calls can not be nested")
	case "watch in MULTI":
		p.WriteError("ERR WATCH inside MULTI is not allowed")
	case "exec in MULTI":
		e.exec(c)
	case "discard in MULTI":
		c.tx = nil
		p.WriteOK()
	case "subscribe", "psubscribe": // another client may publish at any time
		c.news.Block(func(*mini.Writer) { c.news.Ctx, c.news.Resp3 = p.Ctx, p.Resp3 })
		e.srv.Dispatch(c.news, args)
		c.news.Flush()
		p.Ctx = c.news.Ctx
	case "monitor":
		e.monitors[c] = true
		p.WriteOK()
	case "config|get": // there are no settings
		p.WriteMapLen(0)
	case "info":
		p.WriteBulk(e.info())
	case "hello":
		e.hello(c, args)
	case "client|id":
		p.WriteInt(int(c.id))
	case "client|list":
		p.WriteBulk(e.list())
	case "client|unblock":
		e.unblock(c, args[2:])
	case "script|load", "script|exists", "script|flush":
		e.machine.script(c, name, args)
	default:
		e.dispatch(p.Peer, args)
	}
}
