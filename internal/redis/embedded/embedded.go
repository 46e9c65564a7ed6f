// Package embedded runs a Redis server inside this process, for delay queues and their observers.
//
// miniredis runs the commands. This package adds MONITOR, blocking pops in order of arrival, CLIENT, INFO and
// scripts. It answers as Redis 7.0.15 does; its speed says nothing about Redis.
//
// Scripts have one Lua state with the base, string, table and math libraries, redis and struct. Each of these
// refuses by name: bit, cjson, cmsgpack, coroutine, load, loadstring, rawset, functions missing from a library,
// options of struct, and commands that miniredis lacks or that would block other clients. A script ends with an
// error after 5 s, or when it holds 512 MB of texts.
//
// Differences from Redis: table.concat writes all digits of a number; patterns, math.random and the texts of Lua's own errors
// follow gopher-lua; ZSCAN writes scores as ZSCORE does.
package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
)

const (
	// miniredisVersion is the release of the engine, see go.mod.
	miniredisVersion = "2.40.0"
	// emulatedVersion is the Redis whose replies and MONITOR lines this server reproduces. Clients read it to choose commands.
	emulatedVersion = "7.0.15"
	// emulatedVersionNumber is REDIS_VERSION_NUM of scripts.
	emulatedVersionNumber = 7<<16 | 0<<8 | 15
	databases             = 16
)

// Server reads the clients' commands itself and hands them to miniredis, whose hooks hide the client's address
// and the case of a command's name. MONITOR shows both.
type Server struct {
	engine *miniredis.Miniredis
	srv    *mini.Server
	listen net.Listener
	since  time.Time
	wg     sync.WaitGroup

	// mu is the one thread of Redis. It is held while a command runs and is shown to the monitors, so MONITOR
	// shows the order of execution, and the commands of a script follow it directly.
	mu       sync.Mutex
	clients  map[int64]*client
	lastID   int64
	monitors map[*client]bool
	hooks    Hooks
	machine  *machine  // runs the scripts
	waiters  []*waiter // blocked pops, the longest waiting first
	writes   uint64    // commands that ran and may have written
	served   uint64    // writes when waiters were last served
	stats    map[string]*commandStat
}

// Hooks let a test observe commands and plant faults. Each may be nil.
type Hooks struct {
	// Script returns the body to run instead of body. The SHA-1 stays the SHA-1 of body.
	Script func(body string) string
	// Ran is called after each command and before its reply is sent, with the client's address. No other command
	// runs during the call, so Do shows the command's effect.
	Ran func(client string, args []string, reply []byte)
}

// Start listens on a free port of 127.0.0.1. The server runs until Close; ctx bounds only the start.
func Start(ctx context.Context) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("embedded: no port on 127.0.0.1: %w", err)
	}
	return serve(l, Hooks{}, scriptLimit)
}

// scriptLimit bounds the run time of a script. Redis lets it run, and replies BUSY to other clients.
const scriptLimit = 5 * time.Second

// Serve serves the connections of l, which Close closes. Scripts have no time limit, because the clock of
// testing/synctest does not advance while a script runs.
func Serve(l net.Listener, hooks Hooks) (*Server, error) { return serve(l, hooks, 0) }

func serve(l net.Listener, hooks Hooks, limit time.Duration) (*Server, error) {
	engine := miniredis.NewMiniRedis()
	// A first in-memory connection is how miniredis starts without a listener of its own.
	conn, err := engine.Dial()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: %w", err), l.Close())
	}
	_ = conn.Close()
	engine.ClockTTL(true) // keys expire by the clock, not by a test's command
	e := &Server{
		engine: engine, srv: engine.Server(), listen: l, since: time.Now(), hooks: hooks,
		clients: map[int64]*client{}, monitors: map[*client]bool{}, stats: map[string]*commandStat{},
	}
	e.machine = newMachine(e, limit)
	e.wg.Go(e.accept)
	return e, nil
}

// Addr returns host:port.
func (e *Server) Addr() string { return e.listen.Addr().String() }

// Close ends all connections and discards the data.
func (e *Server) Close() error {
	err := e.listen.Close()
	e.mu.Lock()
	for _, c := range e.clients {
		_ = c.conn.Close()
	}
	e.mu.Unlock()
	e.wg.Wait()
	e.engine.Close()
	return err
}

func (e *Server) accept() {
	for {
		conn, err := e.listen.Accept()
		if err != nil {
			return
		}
		c := newClient(conn)
		e.mu.Lock()
		e.lastID++
		c.id = e.lastID
		e.clients[c.id] = c
		e.mu.Unlock()
		e.wg.Go(c.writeLoop)
		e.wg.Go(func() { e.serve(c) })
	}
}

// serve runs a client's commands until it leaves.
func (e *Server) serve(c *client) {
	defer e.forget(c)
	for args := range c.commands() {
		e.mu.Lock()
		w := e.command(c, args)
		e.serveWaiters()
		e.mu.Unlock()
		if w != nil {
			e.await(c, w)
		}
		if c.peer.Closed() {
			return
		}
	}
}

func (e *Server) forget(c *client) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.clients, c.id)
	delete(e.monitors, c)
	// miniredis forgets subscribers when its own connections end; these are ours.
	c.capture()
	for _, cmd := range []string{"UNSUBSCRIBE", "PUNSUBSCRIBE"} {
		e.dispatch(c.peer, cmd)
	}
	c.captured()
	c.finish()
}

// command runs one command, or queues it in a transaction. A blocking pop that finds nothing gives the waiter to wait for.
func (e *Server) command(c *client, args []string) *waiter {
	name := strings.ToUpper(args[0])
	if c.tx != nil && !endsTx[name] {
		c.send(e.enqueue(c, args))
		return nil
	}
	start := time.Now()
	switch {
	case name == "MULTI" && len(args) == 1:
		reply := "-ERR MULTI calls can not be nested\r\n"
		if c.tx == nil {
			c.tx, reply = &transaction{}, "+OK\r\n"
		}
		c.send([]byte(reply))
		e.feed(start, c, args)
	case name == "EXEC" && len(args) == 1 && c.tx != nil:
		e.exec(c, args)
	case name == "DISCARD" && len(args) == 1 && c.tx != nil:
		c.tx = nil
		c.send([]byte("+OK\r\n"))
		e.feed(start, c, args)
	default:
		reply, w := e.run(c, args)
		c.send(reply)
		return w
	}
	return nil
}

// run executes one command outside the queueing of transactions, counts it and shows it to the monitors.
func (e *Server) run(c *client, args []string) (reply []byte, w *waiter) {
	start := time.Now()
	name := strings.ToUpper(args[0])
	isScript := scriptCommands[name] && len(args) > 2
	if isScript {
		e.feed(start, c, args) // before the commands the script calls
	}
	c.capture()
	switch {
	case isScript:
		e.machine.eval(c, name, args)
	case blockingPops[name]:
		w = e.pop(c, args)
	case name == "MONITOR":
		e.monitors[c] = true
		c.peer.WriteOK()
	case name == "SCRIPT":
		e.machine.script(c, args)
	case name == "CLIENT":
		e.client(c, args)
	case name == "CONFIG":
		e.config(c, args)
	case name == "INFO":
		c.peer.WriteBulk(e.info(args[1:]))
	case name == "HELLO":
		e.hello(c, args)
	case !e.srv.IsRegisteredCommand(name):
		c.peer.WriteRaw(unknownCommand(args))
	default:
		if instead := e.instead(c.peer.Ctx, args); instead != "" {
			c.peer.WriteRaw(instead)
		} else {
			e.dispatch(c.peer, args...)
		}
	}
	c.peer.Flush()
	reply = corrected(args, c.captured())
	if name == "SELECT" && string(reply) == "+OK\r\n" {
		c.db = args[1]
	}
	rejected := isRejection(reply)
	if !isScript && !rejected {
		e.feed(start, c, args)
		if w == nil && e.mayWrite(name) {
			e.writes++
		}
	}
	if !rejected {
		e.count(args, reply, time.Since(start))
	}
	if e.hooks.Ran != nil {
		e.hooks.Ran(c.addr, args, reply)
	}
	return reply, w
}

// writeNothing are commands that change no key, although miniredis does not mark them as read-only.
var writeNothing = map[string]bool{
	"AUTH": true, "CLIENT": true, "CONFIG": true, "ECHO": true, "HELLO": true, "INFO": true, "MONITOR": true, "PING": true, "PSUBSCRIBE": true,
	"PUBLISH": true, "PUNSUBSCRIBE": true, "QUIT": true, "SCRIPT": true, "SELECT": true, "SUBSCRIBE": true, "TIME": true, "UNSUBSCRIBE": true, "UNWATCH": true, "WATCH": true,
}

func (e *Server) mayWrite(name string) bool {
	return !writeNothing[name] && !e.srv.IsReadOnlyCommand(name)
}

// Writes counts the commands that may have written, including the commands of scripts. While it does not change,
// only expiry changes keys. Call it in Hooks.Ran and Exclusive.
func (e *Server) Writes() uint64 { return e.writes }

// Exclusive calls f while no command runs.
func (e *Server) Exclusive(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// ForgetScripts does what SCRIPT FLUSH does. Call it in Exclusive.
func (e *Server) ForgetScripts() {
	clear(e.machine.bodies)
	clear(e.machine.programs)
}

// Do runs a command and returns its reply in RESP2. Call it in Hooks.Ran and Exclusive.
func (e *Server) Do(args ...string) []byte {
	return e.aside(nil, args)
}

// dispatch hands a command to miniredis.
func (e *Server) dispatch(p *mini.Peer, args ...string) {
	e.srv.Dispatch(p, args)
	p.Flush()
}

// isRejection reports errors from before a command runs. Redis neither shows such a command to monitors nor
// counts it as a call.
func isRejection(reply []byte) bool {
	s := string(reply[:min(len(reply), 40)])
	return strings.HasPrefix(s, "-ERR wrong number of arguments") || strings.HasPrefix(s, "-ERR unknown ")
}

// unknownCommand is Redis 7's refusal, with the first 128 bytes of arguments.
func unknownCommand(args []string) string {
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%s' ", a[:min(len(a), 128-b.Len())])
	}
	return fmt.Sprintf("-ERR unknown command '%s', with args beginning with: %s\r\n", oneLineText.Replace(args[0][:min(len(args[0]), 128)]), oneLineText.Replace(b.String()))
}

// oneLineText keeps an argument from breaking the protocol's error line.
var oneLineText = strings.NewReplacer("\r", " ", "\n", " ")

// instead returns the reply to a command that miniredis must not run, and else "".
func (e *Server) instead(state any, args []string) string {
	name := strings.ToUpper(args[0])
	if refusal := cannotRun(name, args); refusal != "" {
		return "-" + refusal + "\r\n"
	}
	one := func() bool { return string(e.aside(state, []string{"LLEN", args[1]})) == ":1\r\n" }
	if (name == "RPOPLPUSH" && len(args) == 3 || name == "LMOVE" && len(args) == 5) && args[1] == args[2] && one() {
		return string(e.aside(state, []string{"LINDEX", args[1], "0"})) // miniredis forgets the time to live of a list that turns
	}
	if !strings.HasSuffix(name, "EXPIREAT") || len(args) != 4 || !strings.EqualFold(args[3], "GT") && !strings.EqualFold(args[3], "LT") {
		return ""
	}
	// miniredis keeps a time to live by the ns, so that no time is equal to the one there is.
	left, _ := strconv.ParseInt(strings.Trim(string(e.aside(state, []string{"PTTL", args[1]})), ":\r\n"), 10, 64)
	wanted, err := strconv.ParseInt(args[2], 10, 64)
	if name[0] != 'P' {
		wanted *= 1000
	}
	wanted -= time.Now().UnixMilli()
	if err == nil && left > 0 && max(left-wanted, wanted-left) < 3 {
		return ":0\r\n"
	}
	return ""
}

// lacking are commands whose arguments make miniredis allocate or loop without end, and commands that it does not run as Redis does.
var lacking = []string{"SETRANGE", "SETBIT", "BITFIELD", "HRANDFIELD", "SRANDMEMBER", "ZRANDMEMBER", "DUMP", "RESTORE", "ZUNIONSTORE", "COMMAND"}

// cannotRun has the refusal of a command that would block every client inside miniredis or end the process, or select a missing database.
func cannotRun(name string, args []string) string {
	blocks := false
	switch name {
	case "BZPOPMIN", "BZPOPMAX", "BZMPOP", "BLMPOP":
		blocks = true
	case "XREAD", "XREADGROUP":
		blocks = slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "BLOCK") })
	case "ZADD":
		if slices.ContainsFunc(args, func(a string) bool { f, err := strconv.ParseFloat(a, 64); return err == nil && math.IsNaN(f) }) {
			return "ERR value is not a valid float"
		}
	case "SET":
		has := func(option string) bool {
			return len(args) > 3 && slices.ContainsFunc(args[3:], func(a string) bool { return strings.EqualFold(a, option) })
		}
		if has("NX") && has("XX") {
			return "ERR syntax error"
		}
	case "LPOP", "RPOP":
		if n, err := strconv.Atoi(args[len(args)-1]); len(args) == 3 && (err != nil || n < 0) {
			return "ERR value is out of range, must be positive"
		}
	case "SELECT":
		if n, err := strconv.Atoi(strings.Join(args[1:], " ")); err == nil && (n < 0 || n >= databases) {
			return "ERR DB index is out of range"
		}
	}
	if slices.Contains(lacking, name) {
		return "ERR the embedded server has no " + name
	}
	if blocks {
		return "ERR " + name + " may not block in the embedded server"
	}
	return ""
}

// corrected mends scores, which Redis 7.0 writes by %.17g and miniredis in the shortest text.
func corrected(args []string, reply []byte) []byte {
	name := strings.ToUpper(args[0])
	if !strings.HasPrefix(name, "Z") || len(reply) == 0 {
		return reply
	}
	one := name == "ZSCORE" || name == "ZINCRBY" || name == "ZADD"
	every := name == "ZMSCORE"
	pairs := name == "ZPOPMIN" || name == "ZPOPMAX" || name == "ZSCAN" ||
		len(args) > 3 && slices.ContainsFunc(args[3:], func(a string) bool { return strings.EqualFold(a, "WITHSCORES") })
	out, _ := appendScores(nil, reply, one, every, pairs)
	return out
}

// appendScores copies a reply and rewrites its scores: the reply itself, every element or every second one.
func appendScores(out, reply []byte, score, every, pairs bool) (copied, rest []byte) {
	line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	n, _ := strconv.Atoi(string(line[1:]))
	switch {
	case line[0] == ',':
		f, _ := strconv.ParseFloat(string(line[1:]), 64)
		return fmt.Appendf(out, ",%s\r\n", numberText(f)), rest
	case line[0] == '$' && n >= 0:
		text := string(rest[:n])
		if f, err := strconv.ParseFloat(text, 64); score && err == nil {
			text = numberText(f)
		}
		return fmt.Appendf(out, "$%d\r\n%s\r\n", len(text), text), rest[n+2:]
	}
	out = append(append(out, line...), "\r\n"...)
	if line[0] == '*' {
		for i := range n {
			out, rest = appendScores(out, rest, every || pairs && i%2 == 1, every, pairs)
		}
	}
	return out, rest
}
