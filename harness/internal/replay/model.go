package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// model holds the keys that recorded commands lead to. It knows the commands of
// lists, sorted sets and subscriptions that delayed queues use; a key changed by
// any other command becomes unknown and is not compared.
type model struct {
	keys map[dbKey]*value
	// unknown maps a key to the first command that is not modelled.
	unknown map[dbKey]string
	waiting []waiter
	// subscribers are the peers of each channel.
	subscribers map[string]map[string]bool
	inMulti     map[string]bool
}

// value is a list or, where scores is not nil, a sorted set.
type value struct {
	list   []string
	scores map[string]float64
}

// waiter is a client that waits for an element.
type waiter struct {
	peer string
	line monitor.Line
}

func newModel() *model {
	return &model{
		keys: make(map[dbKey]*value), unknown: make(map[dbKey]string),
		subscribers: make(map[string]map[string]bool), inMulti: make(map[string]bool),
	}
}

// apply takes over a call: a script is known by its inner commands. Waiting
// clients are served after the call, as the server does.
func (m *model) apply(call trace.Call, inner []monitor.Line) {
	l := call.Line
	m.waiting = slices.DeleteFunc(m.waiting, func(w waiter) bool { return w.peer == l.Peer })
	switch name := l.Name(); {
	case name == "multi":
		m.inMulti[l.Peer] = true
	case name == "exec" || name == "discard":
		delete(m.inMulti, l.Peer)
	case subscribes(l) || name == "quit" || name == "reset":
		m.subscribe(l)
	case len(inner) > 0:
		for _, in := range inner {
			m.command(in)
		}
	case blocks(l) && !m.inMulti[l.Peer]:
		m.waiting = append(m.waiting, waiter{l.Peer, l})
	default:
		m.command(l)
	}
	m.serve()
}

// serve gives elements to waiting clients, those who wait longest first.
func (m *model) serve() {
	for i := 0; i < len(m.waiting); {
		if !m.command(m.waiting[i].line) {
			i++
			continue
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		i = 0
	}
}

func (m *model) subscribe(l monitor.Line) {
	switch l.Name() {
	case "subscribe":
		for _, channel := range l.Args[1:] {
			if m.subscribers[channel] == nil {
				m.subscribers[channel] = make(map[string]bool)
			}
			m.subscribers[channel][l.Peer] = true
		}
	case "unsubscribe", "quit", "reset":
		for channel, peers := range m.subscribers {
			if len(l.Args) == 1 || slices.Contains(l.Args[1:], channel) {
				delete(peers, l.Peer)
			}
		}
	}
}

// command changes the keys as the command does. It returns true where a popping
// command got an element.
func (m *model) command(l monitor.Line) bool {
	args, db := l.Args, l.DB
	key := func(i int) dbKey { return dbKey{db, args[i]} }
	switch name := l.Name(); {
	case slices.Contains(readOnly, name) || len(args) < 2:
	case name == "rpush" || name == "lpush":
		for _, element := range args[2:] {
			m.push(key(1), element, name == "lpush")
		}
	case (name == "rpushx" || name == "lpushx") && m.list(key(1)) != nil:
		for _, element := range args[2:] {
			m.push(key(1), element, name == "lpushx")
		}
	case name == "lrem" && len(args) == 4:
		m.remove(key(1), args[2], args[3])
	case name == "zadd" && len(args)%2 == 0 && isScore(args[2]):
		for i := 2; i < len(args); i += 2 {
			m.add(key(1), args[i], args[i+1])
		}
	case name == "zrem":
		if v := m.keys[key(1)]; v != nil && v.scores != nil {
			for _, member := range args[2:] {
				delete(v.scores, member)
			}
			m.dropEmpty(key(1))
		}
	case name == "del" || name == "unlink":
		for i := range args[1:] {
			delete(m.keys, key(i+1))
			delete(m.unknown, key(i+1))
		}
	case (name == "lpop" || name == "rpop") && len(args) == 2:
		_, ok := m.pop(key(1), name == "rpop")
		return ok
	case (name == "blpop" || name == "brpop") && len(args) > 2:
		for i := range args[1 : len(args)-1] {
			if _, ok := m.pop(key(i+1), name == "brpop"); ok {
				return true
			}
		}
	case (name == "rpoplpush" || name == "brpoplpush") && len(args) > 2:
		element, ok := m.pop(key(1), true)
		if ok {
			m.push(key(2), element, true)
		}
		return ok
	default:
		for _, k := range keysOf(l) {
			if _, known := m.unknown[dbKey{db, k}]; !known {
				m.unknown[dbKey{db, k}] = strings.ToUpper(name)
			}
		}
		return blocks(l)
	}
	return false
}

// readOnly are the commands that change no key.
var readOnly = append([]string{
	"zrange", "zrangebyscore", "zrevrange", "zscore", "zcard", "zcount", "zrank", "zmscore", "lrange", "llen", "lindex", "lpos",
	"exists", "type", "get", "mget", "strlen", "ttl", "pttl", "dump", "watch", "sort_ro", "hget", "hgetall", "smembers",
	"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro",
}, keyless...)

func isScore(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func (m *model) list(k dbKey) *value {
	if v := m.keys[k]; v != nil && v.scores == nil {
		return v
	}
	return nil
}

func (m *model) push(k dbKey, element string, front bool) {
	v := m.keys[k]
	if v == nil {
		v = &value{}
		m.keys[k] = v
	}
	switch {
	case v.scores != nil:
	case front:
		v.list = slices.Insert(v.list, 0, element)
	default:
		v.list = append(v.list, element)
	}
}

func (m *model) pop(k dbKey, back bool) (string, bool) {
	v := m.list(k)
	if v == nil || len(v.list) == 0 {
		return "", false
	}
	at := 0
	if back {
		at = len(v.list) - 1
	}
	element := v.list[at]
	v.list = slices.Delete(v.list, at, at+1)
	m.dropEmpty(k)
	return element, true
}

// remove is LREM: count elements from the front, from the back, or all of them.
func (m *model) remove(k dbKey, countText, element string) {
	v := m.list(k)
	count, err := strconv.Atoi(countText)
	if v == nil || err != nil {
		return
	}
	if count < 0 {
		slices.Reverse(v.list)
	}
	left := max(count, -count)
	v.list = slices.DeleteFunc(v.list, func(e string) bool {
		if e != element || count != 0 && left == 0 {
			return false
		}
		left--
		return true
	})
	if count < 0 {
		slices.Reverse(v.list)
	}
	m.dropEmpty(k)
}

func (m *model) add(k dbKey, scoreText, member string) {
	v := m.keys[k]
	if v == nil {
		v = &value{scores: make(map[string]float64)}
		m.keys[k] = v
	}
	if score, err := strconv.ParseFloat(scoreText, 64); err == nil && v.scores != nil {
		v.scores[member] = score
	}
}

func (m *model) dropEmpty(k dbKey) {
	if v := m.keys[k]; v != nil && len(v.list) == 0 && len(v.scores) == 0 {
		delete(m.keys, k)
	}
}
