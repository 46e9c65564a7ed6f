package analysis

import "strings"

// command is what the model knows about a command's name.
type command uint8

const (
	unknownCommand command = iota
	readOnly               // changes no key
	eval
	evalSHA
	evalSHAReadOnly
	scriptCommand
	zadd
	zrem
	zrangeByScore
	push // RPUSH and LPUSH: the model keeps no order of what is pushed at once
	pop
	blockingPop
	blockingMove
	move
	lrem
	ltrim
	del
	expire
	persist
	publish
	subscribe
	unsubscribe
	leave
	flushAll
	flushDB
	clientCommand
	hello
	ping
	mget
	echo
)

var commands = commandTable(map[command]string{
	readOnly: `exists type ttl pttl expiretime pexpiretime object dump touch memory sort_ro
		zcard zcount zscore zmscore zrank zrange zrevrange zrevrank zrevrangebyscore zlexcount zrandmember zscan
		llen lindex lrange lpos watch get pubsub`,
	eval: "eval eval_ro", evalSHA: "evalsha", evalSHAReadOnly: "evalsha_ro", scriptCommand: "script",
	zadd: "zadd", zrem: "zrem", zrangeByScore: "zrangebyscore",
	push: "rpush lpush rpushx lpushx", pop: "lpop rpop",
	blockingPop: "blpop brpop", blockingMove: "brpoplpush blmove", move: "rpoplpush lmove",
	lrem: "lrem", ltrim: "ltrim", del: "del unlink",
	expire: "expire pexpire expireat pexpireat", persist: "persist",
	publish: "publish", subscribe: "subscribe", unsubscribe: "unsubscribe", leave: "quit reset",
	flushAll: "flushall", flushDB: "flushdb",
	clientCommand: "client", hello: "hello", ping: "ping", mget: "mget", echo: "echo",
})

// commandTable has each name in lower and in upper case, as nearly all clients send it.
func commandTable(of map[command]string) map[string]command {
	table := map[string]command{}
	for c, names := range of {
		for _, name := range strings.Fields(names) {
			table[name], table[strings.ToUpper(name)] = c, c
		}
	}
	return table
}

func commandOf(name string) command {
	c, ok := commands[name]
	if !ok {
		c = commands[strings.ToLower(name)]
	}
	return c
}
