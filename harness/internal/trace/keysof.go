package trace

import (
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// keyless are the commands, in lower case, whose first argument is no key.
var keyless = []string{
	"", "ping", "echo", "select", "quit", "reset", "script", "function", "client", "command", "info", "time", "cluster", "readonly",
	"readwrite", "publish", "spublish", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe",
	"pubsub", "multi", "exec", "discard", "unwatch", "keys", "scan", "dbsize", "randomkey", "role", "lastsave", "wait", "waitaof",
	"asking", "hello", "auth", "memory", "object", "slowlog", "sentinel",
}

// KeysOf returns the keys that a command names. A command that is not known is
// taken to have one key, its first argument, as nearly all have.
func KeysOf(l monitor.Line) []string {
	args := l.Args
	if len(args) < 2 || slices.Contains(keyless, l.Name()) {
		return nil
	}
	switch l.Name() {
	case "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro", "blmpop", "bzmpop":
		return counted(args, 2)
	case "lmpop", "zmpop", "sintercard", "zinter", "zunion", "zdiff":
		return counted(args, 1)
	case "del", "unlink", "exists", "touch", "mget", "watch", "sinter", "sunion", "sdiff":
		return args[1:]
	case "mset", "msetnx":
		var keys []string
		for i := 1; i < len(args); i += 2 {
			keys = append(keys, args[i])
		}
		return keys
	case "blpop", "brpop", "bzpopmin", "bzpopmax":
		return args[1 : len(args)-1]
	case "rpoplpush", "brpoplpush", "lmove", "blmove", "lmovem", "blmovem", "rename", "renamenx", "copy", "smove":
		return args[1:min(3, len(args))]
	}
	return args[1:2]
}

// counted returns the keys behind their number at args[at].
func counted(args []string, at int) []string {
	if len(args) <= at {
		return nil
	}
	n, err := strconv.Atoi(args[at])
	if err != nil || n < 0 || n > len(args)-at-1 {
		return nil
	}
	return args[at+1 : at+1+n]
}
