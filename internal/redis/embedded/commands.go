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

// commands are the commands that this server has, with the arities of Redis 7.0.15 and flags: w may write, s not for scripts, t not queued
// by MULTI, a not shown to monitors, c has subcommands. Others of miniredis would block every client, end the protocol with a second
// reply, allocate without end, or answer in another way than Redis.
var commands = parseCommands(`
- -4 ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE
- -3 HMGET HSCAN LPOS MEMORY|USAGE SMISMEMBER SSCAN ZMSCORE ZSCAN
- -2 EXISTS MGET PUBSUB|CHANNELS PUBSUB|NUMSUB SCAN SDIFF SINTER SUNION TOUCH
- -1 INFO PING
- 1 DBSIZE RANDOMKEY TIME
- 2 ECHO EXPIRETIME GET HGETALL HKEYS HLEN HVALS KEYS LLEN PEXPIRETIME PTTL PUBSUB|NUMPAT SCARD SELECT SMEMBERS STRLEN TTL TYPE ZCARD
- 3 HEXISTS HGET HSTRLEN LINDEX SISMEMBER ZRANK ZREVRANK ZSCORE
- 4 GETRANGE LRANGE ZCOUNT ZLEXCOUNT
c -2 CLIENT CONFIG MEMORY PUBSUB SCRIPT
s -3 EVAL EVALSHA EVALSHA_RO EVAL_RO SCRIPT|EXISTS
s -2 AUTH PSUBSCRIBE SCRIPT|FLUSH SUBSCRIBE
s -1 HELLO PUNSUBSCRIBE UNSUBSCRIBE
s 1 UNWATCH
s 2 CLIENT|GETNAME CLIENT|ID
s 3 CLIENT|SETNAME SCRIPT|LOAD WAIT
sa -3 CLIENT|UNBLOCK CONFIG|GET
sa -2 CLIENT|LIST
sa 1 MONITOR
st -2 WATCH
st -1 QUIT
st 1 DISCARD EXEC MULTI
w -4 HMSET HSET ZADD
w -3 COPY EXPIRE EXPIREAT HDEL LPUSH LPUSHX MSET PEXPIRE PEXPIREAT RPUSH RPUSHX SADD SET SREM ZREM
w -2 DEL GETEX LPOP RPOP SPOP UNLINK ZPOPMAX ZPOPMIN
w -1 FLUSHALL FLUSHDB
w 2 DECR GETDEL INCR PERSIST
w 3 APPEND DECRBY GETSET INCRBY INCRBYFLOAT PUBLISH RENAME RENAMENX RPOPLPUSH SETNX
w 4 HINCRBY HSETNX LREM LSET LTRIM PSETEX SETEX SMOVE ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE
w 5 LINSERT LMOVE
ws -3 BLPOP BRPOP
ws 4 BRPOPLPUSH
ws 6 BLMOVE`)

func parseCommands(table string) map[string]command {
	all := map[string]command{}
	for line := range strings.SplitSeq(strings.ToLower(table[1:]), "\n") {
		row := strings.Fields(line)
		arity, _ := strconv.Atoi(row[1])
		for _, name := range row[2:] {
			all[name] = command{name, arity, row[0]}
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
		e.srv.Dispatch(p.Peer, args)
	}
}
