package server

import (
	"fmt"
	"maps"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commandStat is a line of INFO commandstats.
type commandStat struct {
	calls, rejected, failed int
	spent                   time.Duration
}

func (e *embedded) count(args []string, reply []byte, rejected bool, spent time.Duration) {
	name := strings.ToLower(args[0])
	if containers[name] && len(args) > 1 {
		name += "|" + strings.ToLower(args[1])
	}
	st := e.stats[name]
	if st == nil {
		if rejected && strings.HasPrefix(string(reply), "-ERR unknown ") {
			return
		}
		st = &commandStat{}
		e.stats[name] = st
	}
	if rejected {
		st.rejected++
		return
	}
	st.calls++
	st.spent += spent
	if len(reply) > 0 && reply[0] == '-' {
		st.failed++
	}
}

// containers are the commands Redis counts by their second word.
var containers = map[string]bool{"client": true, "config": true, "script": true, "pubsub": true, "object": true, "memory": true, "command": true}

// info is INFO's text for the sections asked for.
func (e *embedded) info(sections []string) string {
	all := []string{"server", "clients", "stats", "replication", "cpu", "commandstats"}
	if len(sections) == 0 {
		sections = all[:len(all)-1] // as Redis leaves commandstats out unless asked
	}
	var b strings.Builder
	for _, s := range sections {
		s = strings.ToLower(s)
		names := []string{s}
		switch s {
		case "default":
			names = all[:len(all)-1]
		case "all", "everything":
			names = all
		}
		for _, name := range names {
			if text := e.section(name); text != "" {
				if b.Len() > 0 {
					b.WriteString("\r\n")
				}
				b.WriteString(strings.ReplaceAll(text, "\n", "\r\n"))
			}
		}
	}
	return b.String()
}

func (e *embedded) section(name string) string {
	switch name {
	case "server":
		_, port, _ := strings.Cut(e.listen.Addr().String(), ":")
		return fmt.Sprintf("# Server\nredis_version:%s\nserver_name:miniredis\nminiredis_version:%s\nredis_mode:standalone\nprocess_id:%d\ntcp_port:%s\nuptime_in_seconds:%d\n",
			emulatedVersion, miniredisVersion, os.Getpid(), port, int(time.Since(e.since).Seconds()))
	case "clients":
		return fmt.Sprintf("# Clients\nconnected_clients:%d\nblocked_clients:%d\n", len(e.clients), len(e.waiters))
	case "stats":
		calls := 0
		for _, st := range e.stats {
			calls += st.calls
		}
		return fmt.Sprintf("# Stats\ntotal_connections_received:%d\ntotal_commands_processed:%d\n", e.lastID, calls)
	case "replication":
		return "# Replication\nrole:master\nconnected_slaves:0\n"
	case "cpu":
		// The server is part of this process: the figure is that of the whole.
		user := cpuSeconds()
		return fmt.Sprintf("# CPU\nused_cpu_sys:0.000000\nused_cpu_user:%.6f\n", user)
	case "commandstats":
		var b strings.Builder
		b.WriteString("# Commandstats\n")
		for _, name := range slices.Sorted(maps.Keys(e.stats)) {
			st := e.stats[name]
			usec := st.spent.Microseconds()
			fmt.Fprintf(&b, "cmdstat_%s:calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d\n",
				name, st.calls, usec, float64(usec)/float64(max(st.calls, 1)), st.rejected, st.failed)
		}
		return b.String()
	default:
		return ""
	}
}

func cpuSeconds() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return s[0].Value.Float64()
}

// hello lets miniredis judge the arguments and switch protocols, then answers
// with this server's own identity.
func (e *embedded) hello(c *client, args []string) {
	if reply := e.aside(nil, args); len(args) > 1 && reply[0] == '-' {
		c.peer.WriteRaw(string(reply))
		return
	}
	proto := 2
	if len(args) > 1 {
		proto, _ = strconv.Atoi(args[1])
	} else if c.peer.Resp3 {
		proto = 3
	}
	c.peer.Resp3 = proto == 3
	for i, a := range args {
		if strings.EqualFold(a, "SETNAME") && i+1 < len(args) {
			c.peer.ClientName = args[i+1]
		}
	}
	c.peer.WriteMapLen(7)
	for _, kv := range [][2]string{{"server", "redis"}, {"version", emulatedVersion}} {
		c.peer.WriteBulk(kv[0])
		c.peer.WriteBulk(kv[1])
	}
	c.peer.WriteBulk("proto")
	c.peer.WriteInt(proto)
	c.peer.WriteBulk("id")
	c.peer.WriteInt(int(c.id))
	for _, kv := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.peer.WriteBulk(kv[0])
		c.peer.WriteBulk(kv[1])
	}
	c.peer.WriteBulk("modules")
	c.peer.WriteLen(0)
}

// config knows RESETSTAT; there is nothing to configure, so GET finds nothing.
func (e *embedded) config(c *client, args []string) {
	switch sub := strings.ToUpper(strings.Join(args[1:min(2, len(args))], "")); {
	case sub == "RESETSTAT":
		clear(e.stats)
		c.peer.WriteOK()
	case sub == "GET" && len(args) > 2:
		c.peer.WriteMapLen(0)
	default:
		c.peer.WriteError(fmt.Sprintf("ERR unknown subcommand '%s'. Try CONFIG HELP.", sub))
	}
}

// client answers the CLIENT commands a queue and its observers use; the rest is miniredis's.
func (e *embedded) client(c *client, args []string) {
	sub := strings.ToUpper(strings.Join(args[1:min(2, len(args))], ""))
	switch {
	case sub == "ID" && len(args) == 2:
		c.peer.WriteInt(int(c.id))
	case sub == "SETINFO" && len(args) == 4:
		c.peer.WriteOK()
	case sub == "INFO" && len(args) == 2:
		c.peer.WriteBulk(c.describe())
	case sub == "LIST":
		var b strings.Builder
		for _, id := range slices.Sorted(maps.Keys(e.clients)) {
			b.WriteString(e.clients[id].describe())
		}
		c.peer.WriteBulk(b.String())
	case sub == "UNBLOCK" && (len(args) == 3 || len(args) == 4):
		e.unblock(c, args[2:])
	case sub == "KILL" && len(args) == 4 && strings.EqualFold(args[2], "ID"):
		id, _ := strconv.ParseInt(args[3], 10, 64)
		victim := e.clients[id]
		if victim == nil {
			c.peer.WriteInt(0)
			return
		}
		_ = victim.conn.Close()
		c.peer.WriteInt(1)
	default:
		e.dispatch(c.peer, args...)
	}
}

func (c *client) describe() string {
	resp := 2
	if c.peer.Resp3 {
		resp = 3
	}
	return fmt.Sprintf("id=%d addr=%s name=%s db=%s resp=%d\n", c.id, c.addr, c.peer.ClientName, c.db, resp)
}

// unblock ends another client's blocking pop: args is an id, and TIMEOUT or ERROR.
func (e *embedded) unblock(c *client, args []string) {
	id, err := strconv.ParseInt(args[0], 10, 64)
	asError := len(args) == 2 && strings.EqualFold(args[1], "ERROR")
	switch {
	case err != nil:
		c.peer.WriteError("ERR value is not an integer or out of range")
		return
	case len(args) == 2 && !asError && !strings.EqualFold(args[1], "TIMEOUT"):
		c.peer.WriteError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		return
	}
	for _, w := range e.waiters {
		if w.client.id != id {
			continue
		}
		reply := nullArray(w.client)
		if asError {
			reply = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
		}
		e.release(w, []byte(reply))
		c.peer.WriteInt(1)
		return
	}
	c.peer.WriteInt(0)
}
