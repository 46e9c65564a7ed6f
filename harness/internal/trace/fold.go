package trace

import (
	"math"
	"slices"
	"strings"
)

// foldMisses replaces EVALSHA, SCRIPT LOAD, EVALSHA by the last of them where the first made no call and has the arguments of the last.
func foldMisses(calls []Call) []Call {
	for i := 0; i < len(calls); {
		c := calls[i]
		i++
		if c.Name() != "evalsha" || len(c.Args) < 3 || len(c.Inner) > 0 || c.Tried != 0 {
			continue
		}
		load := slices.IndexFunc(calls[i:], func(l Call) bool {
			return l.BodySHA1 != "" && l.BodySHA1 == strings.ToLower(c.Args[1]) && l.Name() == "script"
		})
		if load < 0 {
			continue
		}
		load += i
		again := slices.IndexFunc(calls[load:], func(a Call) bool { return a.Tried == 0 && slices.Equal(a.Args, c.Args) })
		if again >= 0 {
			i--
			calls[load+again].Tried = c.Time
			calls = slices.Delete(slices.Delete(calls, load, load+1), i, i+1)
		}
	}
	return calls
}

// pushedEarly is how long before a message is due Redisson begins to send transfers without a pause, in ms.
const pushedEarly = 10

// foldEmptyTransfers drops the transfers that Redisson repeats as fast as it can: those that move nothing while the head
// is due within pushedEarly, and repeats while an overdue head is not moved, as one of a negative score.
func foldEmptyTransfers(events []*Event) []*Event {
	keys := NewKeyspace()
	stuck := make(map[Role]bool)
	var kept []*Event
	for _, e := range events {
		keys.Apply(e.Line, e.Inner)
		if transfer := e.Transfer; transfer != nil {
			q := &Queue{Names: transfer.Names, db: e.DB, keys: keys}
			_, head := q.head()
			looked := len(e.Inner) == 2 && e.Inner[0].Name() == "zrangebyscore" && e.Inner[1].Name() == "zrange"
			empty, wait := looked && !math.IsInf(head, 1), int64(head)-transfer.Now
			if empty && wait <= pushedEarly && (wait > 0 || stuck[e.Role]) {
				continue
			}
			stuck[e.Role] = empty && wait <= 0
		}
		kept = append(kept, e)
	}
	return kept
}

const (
	pingIdle     = 29_000_000 // µs of idleness until Redisson pings: its pingConnectionInterval of 30 s, less the delays of a busy machine
	setUpRepeats = 2          // how often a connection may send the same command to set itself up: Redisson pings twice
	setUpTime    = 1_000_000  // µs of set-up: the second ping of a reconnecting Redisson may come after its SUBSCRIBE
)

// dropSetUp drops the set-up commands before a connection's first other command, each at most setUpRepeats times, a ping
// soon after, pings of an idle connection, and its last QUIT. At any other time these commands are kept.
func dropSetUp(calls []Call) []Call {
	type connection struct {
		working     bool
		first, last int64
		sent        map[string]int
	}
	connections := map[string]*connection{}
	kept := make([]Call, 0, len(calls))
	for i, c := range calls {
		at := connections[c.Peer]
		if at == nil {
			at = &connection{sent: map[string]int{}, first: c.Time, last: c.Time}
			connections[c.Peer] = at
		}
		idle := c.Time - at.last
		at.last = c.Time
		switch name := c.Name(); {
		case name == "quit" && !slices.ContainsFunc(calls[i+1:], func(next Call) bool { return next.Peer == c.Peer }):
			continue
		case name == "ping" && len(c.Args) == 1 && at.working && idle >= pingIdle:
			continue
		case isSetUp(c) && (!at.working || name == "ping" && c.Time-at.first < setUpTime):
			what := strings.ToLower(strings.Join(c.Args, " "))
			if at.sent[what]++; at.sent[what] <= setUpRepeats {
				continue
			}
		default:
			at.working = true
		}
		kept = append(kept, c)
	}
	return kept
}

// isSetUp reports whether a call can be about a connection, a topology or a probe.
func isSetUp(c Call) bool {
	second := strings.ToLower(c.Arg(1))
	switch c.Name() {
	case "hello", "auth", "select", "ping", "command", "quit", "info", "readonly", "sentinel", "role":
		return true
	case "client":
		return slices.Contains([]string{"id", "setname", "setinfo", "getname", "maint_notifications", "capa"}, second)
	case "cluster":
		return slices.Contains([]string{"slots", "shards", "nodes", "info", "myid", "links"}, second)
	case "mget", "eval":
		return isClusterProbe(c)
	case "pubsub":
		return second == "shardnumsub" || second == "numpat"
	case "spublish":
		return len(c.Args) == 3 && c.Args[1] == "" && c.Args[2] == ""
	}
	return false
}

// isClusterProbe reports whether Redisson 4.0.0 or later asks for two keys to find out about a cluster: MGET test1
// test2, since 4.3.1 a script that gets both.
func isClusterProbe(c Call) bool {
	keys := []string{"test1", "test2"}
	if c.Name() == "mget" {
		return slices.Equal(c.Args[1:], keys)
	}
	s := c.Script
	if s == nil || !slices.Equal(s.Keys, keys) || !strings.HasPrefix(c.Args[1], "redis.call('get', KEYS[1]") {
		return false
	}
	if len(c.Inner) == 0 {
		return len(s.Args) > 0 // that of 4.3.1, which fails at its first call
	}
	return slices.EqualFunc(c.Inner, keys, func(l Line, key string) bool {
		return slices.Equal(l.Args, []string{"get", key})
	})
}

// Scripts returns those that lines call, each once, in order; a probe for clusters is none.
func Scripts(lines []Line) []Script {
	var scripts []Script
	seen := map[string]bool{}
	for _, c := range dropSetUp(Group(lines)) {
		if s := c.Script; s != nil && !seen[s.SHA1] {
			seen[s.SHA1] = true
			scripts = append(scripts, *s)
		}
	}
	return scripts
}
