package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// named is a set of command names, in lower case.
func named(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

// The kinds of commands, as bits.
const (
	runsScript = 1 << iota
	blocks
	subscribes
	keyless  // its first argument is no key
	readOnly // changes no key, sends no message and waits for nothing; any other command counts as a change
)

// command has the name and the kinds of a command.
type command struct {
	name  string // in lower case
	kinds int
}

// commands are those of a kind, and frequent others, by their names and these in capitals.
var commands = func() map[string]*command {
	all := map[string]*command{}
	for kind, names := range map[int]string{
		0:          "set del unlink rpush lpush lrem ltrim lpop zadd zrem hset hdel sadd srem expire pexpire",
		runsScript: "eval evalsha eval_ro evalsha_ro fcall fcall_ro",
		blocks:     "blpop brpop brpoplpush blmove blmovem blmpop bzpopmin bzpopmax bzmpop xread xreadgroup wait waitaof",
		subscribes: "subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe",
		keyless: `ping echo select quit reset script function client command info time cluster readonly readwrite
			publish spublish subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe pubsub multi exec discard unwatch
			keys scan dbsize randomkey role lastsave wait waitaof asking hello auth memory object slowlog sentinel`,
		readOnly: `auth client command dbsize discard echo exec hello info lastsave lolwut memory multi object ping pubsub quit
			readonly readwrite reset role script select slowlog time unwatch wait watch
			dump exists expiretime keys pexpiretime pttl randomkey scan sort_ro touch ttl type
			get getrange mget strlen substr lindex llen lpos lrange
			hexists hget hgetall hkeys hlen hmget hstrlen hvals scard sismember smembers smismember
			zcard zcount zlexcount zmscore zrange zrangebylex zrangebyscore zrank zrevrange zrevrangebylex
			zrevrangebyscore zrevrank zscan zscore`,
	} {
		for name := range strings.FieldsSeq(names) {
			c := cmp.Or(all[name], &command{name: name})
			c.kinds |= kind
			all[name], all[strings.ToUpper(name)] = c, c
		}
	}
	return all
}()

func commandOf(name string) *command {
	if c := commands[name]; c != nil {
		return c
	}
	name = strings.ToLower(name)
	return cmp.Or(commands[name], &command{name: name})
}

func callsScript(l Line) bool { return l.is(runsScript) }

// Blocks reports whether a command may wait before its answer.
func Blocks(l Line) bool { return l.is(blocks) }

// Subscribes reports whether a command makes its connection a subscriber.
func Subscribes(l Line) bool { return l.is(subscribes) }

// Changes reports whether a command changes a key, sends a message or waits. A script's changes are its inner commands.
func Changes(l Line) bool { return !l.is(readOnly | runsScript) }

// KeysOf returns the keys that a command names. An unknown command has one key, its first argument, as nearly all have.
func KeysOf(l Line) []string {
	args := l.Args
	if len(args) < 2 || l.is(keyless) {
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

const (
	pendingPrefix    = "redisson_delay_queue:"
	timeoutSetPrefix = "redisson_delay_queue_timeout:"
)

// memberArgs returns the indices of the arguments that are packed members: of commands on a pending list or a timeout set.
func memberArgs(l Line) (indices []int) {
	if len(l.Args) < 3 || !strings.HasPrefix(l.Args[1], timeoutSetPrefix) && !strings.HasPrefix(l.Args[1], pendingPrefix) {
		return nil
	}
	first, step := 0, 1
	switch l.Name() {
	case "rpush", "lpush", "rpushx", "lpushx", "zrem", "zscore", "zrank", "zmscore", "lpos":
		first = 2
	case "lrem", "lset":
		first = 3
	case "zadd":
		first, step = 3, 2
		for first-1 < len(l.Args) && !isNumber(l.Args[first-1]) {
			first++
		}
	default:
		return nil
	}
	for i := first; i < len(l.Args); i += step {
		indices = append(indices, i)
	}
	return indices
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// Call is a command of a client with the commands of its script, read once.
type Call struct {
	Line         // the client's
	Inner []Line // the commands of the script, in order; empty for other commands
	// Rebuilt is true if the recording holds only Inner and Line was made from it; its peer is RebuiltPeer and its number
	// is of the first inner line.
	Rebuilt bool
	Tried   int64 // when the client first tried, in Unix µs, if Line followed a script miss; else zero

	Script   *Script   // of an EVAL or EVALSHA; nil for other commands, and for a wrong number of keys
	Offer    *Offer    // nil unless the script is an offer with its arguments
	Transfer *Transfer // nil unless the script is a transfer with its arguments
	// Body is the script text in an EVAL or SCRIPT LOAD, and BodySHA1 its digest in lower-case hex; else both are empty.
	Body, BodySHA1 string
}

// commands returns the commands of a call's script, or the call's own.
func (c Call) commands() []Line {
	if callsScript(c.Line) {
		return c.Inner
	}
	return []Line{c.Line}
}

// RebuiltPeer is the peer of a script call that a recording does not hold.
const RebuiltPeer = "rebuilt"

// LineError is an error of one line of a recording. With Member, a packed member has a form that no Redisson release packs. Any other error
// says that the recording as such cannot be used.
type LineError struct {
	Line   Line
	Member bool
	Err    error
}

func (e *LineError) Error() string {
	if e.Member {
		return fmt.Sprintf("line %d: %v", e.Line.Number, e.Err)
	}
	return fmt.Sprintf("line %d: %v: %.200s", e.Line.Number, e.Err, e.Line.Text())
}

func (e *LineError) Unwrap() error { return e.Err }

// Calls groups the lines of a recording into calls. Inner commands belong to the script call right before them. Calls of a
// recording with inner commands only are rebuilt. An inner command without a script call gives a *LineError, and so does
// a member from which no call can be rebuilt.
func Calls(rec *Recording, d Deviations) ([]Call, error) {
	if d.ScriptCallsAbsent {
		return rebuild(rec, d)
	}
	calls := Group(rec.Lines)
	if i := slices.IndexFunc(calls, func(c Call) bool { return c.Line.Inner() }); i >= 0 {
		return nil, &LineError{Line: calls[i].Line, Err: errors.New("this command was called by a script, but no EVAL, EVALSHA or FCALL comes before it")}
	}
	return calls, nil
}

// Group is Calls for lines without a recording around them: nothing is rebuilt, and an inner command that belongs to no
// script call is a call of its own. It reads what each call says: nothing behind it reads a line again.
func Group(lines []Line) (calls []Call) {
	for _, l := range lines {
		if last := len(calls) - 1; l.Inner() && last >= 0 && callsScript(calls[last].Line) {
			calls[last].Inner = append(calls[last].Inner, l)
			continue
		}
		calls = append(calls, newCall(l))
	}
	return calls
}
