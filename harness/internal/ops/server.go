package ops

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// server reads INFO, CONFIG and SLOWLOG of each master. The look goes on without them.
func (l *Look) server(ctx context.Context, conn redis.Conn, address string) {
	l.Server, l.slow = Server{Address: redis.Redact(address)}, map[string]time.Duration{}
	if at, err := redis.Parse(address); err == nil {
		l.at, l.Server.Address, l.Server.Database = at.Address.AtMaster(ctx), strings.Join(at.Address.Hosts, ","), at.Address.Database
	}
	_ = conn.EachMaster(ctx, func(ctx context.Context, at string, server redis.Conn) error {
		l.visits.Lock()
		defer l.visits.Unlock()
		info, err := server.Do(ctx, "INFO").Text()
		l.refused("INFO", "+info", err)
		if field := redis.Fields(info); len(field) > 0 {
			l.about(ctx, server, at, field)
		}
		l.slowlog(ctx, server)
		return nil
	})
}

func (l *Look) about(ctx context.Context, server redis.Conn, at string, field map[string]string) {
	s := &l.Server
	at = cmp.Or(at, strings.Join(l.at.Hosts, ","))
	s.Product, s.Version = map[bool]string{true: "redis", false: "valkey"}[field["valkey_version"] == ""], cmp.Or(field["valkey_version"], field["redis_version"])
	s.Role = cmp.Or(map[string]string{"slave": "replica"}[field["role"]], field["role"])
	evicts := strings.HasPrefix(field["maxmemory_policy"], "allkeys")
	for name, value := range field {
		db, is := strings.CutPrefix(name, "db")
		evicts = evicts || is && strings.HasPrefix(field["maxmemory_policy"], "volatile") && strings.Contains(value, ",expires=") && !strings.Contains(value, ",expires=0,")
		if n, err := strconv.Atoi(db); is && err == nil && n != s.Database && !slices.Contains(s.Databases, db) && !strings.HasPrefix(value, "keys=0,") {
			s.Databases = append(s.Databases, db)
		}
	}
	slices.Sort(s.Databases)
	add := func(kind string, state State, why, next string) {
		l.Findings = append(l.Findings, Finding{Kind: kind, State: state, Count: 1, Why: why, Next: next})
	}
	if policy := field["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys") && field["maxmemory"] != "0" {
		state, did := Yellow, "has removed no key yet"
		if n := field["evicted_keys"]; n != "0" && n != "" {
			state, did = Red, "has removed "+n+" keys"
		}
		add("evicting", state, fmt.Sprintf("maxmemory-policy %s of %s removes keys of queues when the memory is full; it %s", policy, at, did), l.redisCLI(at, "CONFIG SET maxmemory-policy noeviction"))
	}
	config := func(name string) string {
		pair, err := server.Do(ctx, "CONFIG", "GET", name).StringSlice()
		if l.refused("CONFIG GET "+name, "+config|get", err) || len(pair) != 2 {
			return "unseen"
		}
		return pair[1]
	}
	if field["aof_enabled"] == "0" && config("save") == "" {
		add("no-persistence", Yellow, at+" writes no append-only file and no snapshots: a restart loses all messages", l.redisCLI(at, "CONFIG SET appendonly yes"))
	}
	if s.Product == "redis" && hasHole(s.Version) {
		add("server-hole", Yellow, "Redis "+s.Version+" has CVE-2026-23479, on the path of blocked takes; 7.2.14, 7.4.9, 8.2.6, 8.4.3 and 8.6.3 mend it", "")
	}
	used, _ := strconv.ParseInt(field["used_memory"], 10, 64)
	if most, _ := strconv.ParseInt(field["maxmemory"], 10, 64); most > 0 && used >= most && !evicts {
		add("out-of-memory", Red, at+" has used its maxmemory: offers, transfers and a guard fail with OOM", l.redisCLI(at, "CONFIG SET maxmemory "+strconv.FormatInt(2*max(most, used), 10)))
	}
	if err := server.Do(ctx, "PING").Err(); redis.HasErrorPrefix(err, "MISCONF") {
		cure := map[bool]string{true: "appendonly no", false: "stop-writes-on-bgsave-error no"}[strings.Contains(err.Error(), "AOF")]
		add("cannot-save", Red, at+" could not write to its disk: offers, transfers and a guard fail with MISCONF until the disk has room, or is not needed", l.redisCLI(at, "CONFIG SET "+cure))
	} else if field["rdb_last_bgsave_status"] == "err" {
		add("cannot-save", Yellow, at+" could not save its last snapshot: a restart may lose messages", l.redisCLI(at, "BGSAVE"))
	}
	if good, err := strconv.Atoi(field["min_slaves_good_slaves"]); err == nil {
		if n, _ := strconv.Atoi(config("min-replicas-to-write")); n > good {
			add("no-replicas", Red, fmt.Sprintf("%s has %d of %d replicas in step: offers, transfers and a guard fail with NOREPLICAS", at, good, n), l.redisCLI(at, fmt.Sprint("CONFIG SET min-replicas-to-write ", good)))
		}
	}
	if s.Role == "replica" {
		s.Master = net.JoinHostPort(field["master_host"], field["master_port"])
		l.at.Hosts, l.at.Unix = []string{s.Master}, false
		l.flags = l.at.Flags("FILE")
		if field["master_link_status"] != "up" {
			add("not-in-step", Red, at+" is a replica, and its link to the master is "+field["master_link_status"]+": keys may be missing", Command("doctor", "", append(l.flags, "--all")...))
		}
	}
}

// hasHole reports whether a version of Redis has CVE-2026-23479.
func hasHole(version string) bool {
	v, err := wire.ParseRelease(version)
	return err == nil && slices.ContainsFunc([][2]string{{"7.2.0", "7.2.13"}, {"7.4.0", "7.4.8"}, {"8.0.0", "8.2.5"}, {"8.4.0", "8.4.2"}, {"8.6.0", "8.6.2"}},
		func(span [2]string) bool { return Between(span[0], span[1])(v) })
}

// redisCLI is a command of redis-cli for the server at an address; without one, for the server of the look or its master.
func (l *Look) redisCLI(at, command string) string {
	a := l.at // of a replica its master's
	if at != "" {
		a.Hosts = []string{at}
	}
	return a.CLI() + " " + command
}

// slowMoves are the digests of scripts that transfer, of guards too, and the beginnings of their texts: SLOWLOG cuts a text at 128 bytes.
var slowMoves = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	add := func(sha1, body string) { known[sha1], known[body[:100]] = true, true }
	add(scripts.Transfer().SHA1, scripts.Transfer().Body)
	add(Scripts()[0].SHA1, Scripts()[0].Body)
	for _, s := range wire.Scripts() {
		if s.Name == wire.ScriptTransfer {
			add(s.SHA1, s.Body)
		}
	}
	return known
})

// slowlog finds transfers that kept the server busy for long.
func (l *Look) slowlog(ctx context.Context, server redis.Conn) {
	entries, err := server.Do(ctx, "SLOWLOG", "GET", 128).Slice()
	l.refused("SLOWLOG GET", "+slowlog|get", err)
	for _, entry := range entries {
		if fields, _ := entry.([]any); len(fields) > 3 {
			micros, _ := fields[2].(int64)
			args, _ := fields[3].([]any)
			took := time.Duration(micros) * time.Microsecond
			if took >= 10*time.Millisecond && len(args) > 3 && slowMoves()[fmt.Sprintf("%.100s", args[1])] { // other clients waited for long
				name := fmt.Sprint(args[3])
				l.slow[name] = max(l.slow[name], took)
			}
		}
	}
}
