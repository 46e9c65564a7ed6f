// Package embedded runs a Redis server inside this process, for delay queues and their observers.
//
// miniredis runs the commands. This package adds MONITOR, blocking pops in order of arrival, CLIENT, INFO and
// scripts. It answers as Redis 7.0.15 does; its speed says nothing about Redis.
//
// Scripts have one Lua state with the base, string, table and math libraries, redis and struct, and end with an error after 5 s. What the
// server lacks it refuses by name: cjson, cmsgpack, bit, coroutine, loadstring, functions of redis and struct that no queue calls, and
// commands that miniredis lacks, runs in another way than Redis, or would block other clients with.
//
// Differences from Redis: numbers out of range and options that exclude each other, such as NX with XX, are taken; scores above 1e17 and fractions are written with the fewest digits; numbers as text, patterns,
// math.random and the texts of Lua's own errors follow gopher-lua; GT and LT of an expiry take two times within 3 ms for different ones;
// pcall(redis.call) gives an error as a table; scripts may replace globals and functions that there are; ARGV[n] as the limit of a for is
// read as a number in a quoted text too.
package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/dq-bench/dq-bench/internal/resp"
)

const (
	// miniredisVersion is the release of the engine, see go.mod.
	miniredisVersion = "2.40.0"
	// emulatedVersion is the Redis whose replies and MONITOR lines this server reproduces. Clients read it to choose commands.
	emulatedVersion = "7.0.15"
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
	machine  *machine       // runs the scripts
	waiters  []*waiter      // blocked pops, the longest waiting first
	writes   atomic.Uint64  // commands that ran and may have written
	served   uint64         // writes when waiters were last served
	calls    map[string]int // of each command
}

// Hooks let a test observe commands and plant faults. Each may be nil.
type Hooks struct {
	// Script returns the body to run instead of body. The SHA-1 stays the SHA-1 of body.
	Script func(body string) string
	// Ran is called after each command of a client's address, before its reply is sent. No other command runs meanwhile: Do shows its effect.
	Ran func(client string, args []string, reply []byte)
	// Answer returns the reply that a command gets instead of being run, "" for none.
	Answer func(client string, args []string) string
}

// ScriptLimit bounds the run time of a script. Redis lets it run, and replies BUSY to other clients.
const ScriptLimit = 5 * time.Second

// Serve serves the connections of l, which Close closes. A limit of 0 lets scripts run for ever, as in testing/synctest, whose clock does
// not advance while a script runs.
func Serve(l net.Listener, hooks Hooks, limit time.Duration) (*Server, error) {
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
		clients: map[int64]*client{}, monitors: map[*client]bool{}, calls: map[string]int{},
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
	for in := resp.NewReader(c.conn, 0); ; {
		args, err := in.ReadCommand()
		if errors.Is(err, resp.ErrProtocol) {
			c.send(fmt.Appendf(nil, "-ERR Protocol error: %v\r\n", err))
		}
		if err != nil {
			return
		}
		if len(args) == 0 {
			continue
		}
		e.mu.Lock()
		e.command(c, args)
		e.serveWaiters()
		e.mu.Unlock()
		if w := c.blocked; w != nil {
			c.blocked = nil
			e.await(w, in)
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
	e.aside(c.peer.Ctx, []string{"UNSUBSCRIBE"}, []string{"PUNSUBSCRIBE"})
	c.mu.Lock()
	c.finished = true
	c.mu.Unlock()
	c.send(nil)
}

// command runs one command, refuses it, or queues it in a transaction.
func (e *Server) command(c *client, args []string) {
	if e.hooks.Answer != nil {
		if reply := e.hooks.Answer(c.addr, args); reply != "" {
			c.send([]byte(reply))
			return
		}
	}
	cmd, refusal := e.lookup(args)
	switch {
	case refusal != "":
		if c.tx != nil {
			c.tx.refused = true
		}
		if cmd.name == "exec" { // which ends the transaction however it is called
			c.tx, refusal = nil, "EXECABORT Transaction discarded because of: "+strings.TrimPrefix(refusal, "ERR ")
			e.aside(c.peer.Ctx, []string{"UNWATCH"})
			e.feed(c, cmd, args)
		}
		c.send([]byte("-" + refusal + "\r\n"))
	case c.tx != nil && !cmd.is('t'):
		c.tx.queued = append(c.tx.queued, args)
		c.send([]byte("+QUEUED\r\n"))
	default:
		c.send(e.run(c, cmd, args))
	}
}

// run executes one command of a client, a transaction or a script, counts it and shows it to the monitors. The reply is valid until the
// client's next command; it is empty if the client is blocked, and after EXEC and SUBSCRIBE, which send their own.
func (e *Server) run(c *client, cmd command, args []string) (reply []byte) {
	isScript := strings.HasPrefix(cmd.name, "eval")
	if isScript {
		e.feed(c, cmd, args) // before the commands the script calls
	}
	c.peer.reply.Reset()
	e.execute(c, cmd, args)
	reply = c.peer.replied(args[0])
	if cmd.name == "select" && string(reply) == "+OK\r\n" {
		c.db = args[1]
	}
	if !isScript {
		e.feed(c, cmd, args)
	}
	if e.calls[cmd.name]++; cmd.is('w') && len(reply) > 0 && string(reply) != "$-1\r\n" {
		e.writes.Add(1)
	}
	if e.hooks.Ran != nil && c != e.machine.client {
		e.hooks.Ran(c.addr, args, reply)
	}
	return reply
}

// Writes counts the commands that may have written, including the commands of scripts. While it does not change,
// only expiry changes keys.
func (e *Server) Writes() uint64 { return e.writes.Load() }

// Exclusive calls f while no command runs.
func (e *Server) Exclusive(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// ForgetScripts does what SCRIPT FLUSH does. Call it in Exclusive.
func (e *Server) ForgetScripts() { clear(e.machine.bodies) }

// Do runs a command and returns its reply in RESP2. Call it in Hooks.Ran and Exclusive.
func (e *Server) Do(args ...string) []byte { return e.aside(nil, args) }

// aside runs commands with a connection's state and gives the last reply instead of sending it.
func (e *Server) aside(state any, commands ...[]string) []byte {
	p := newPeer(state)
	for _, args := range commands {
		p.reply.Reset()
		e.dispatch(p.Peer, args)
		p.Flush()
	}
	return p.replied(commands[len(commands)-1][0])
}

// dispatch hands a command to miniredis, or another one where miniredis would not do as Redis: it makes a list of one element anew,
// without its time to live, when the list is rotated, pops all members if no member is asked for, and takes nan as a score.
func (e *Server) dispatch(p *mini.Peer, args []string) {
	name := strings.ToUpper(args[0])
	switch {
	case (name == "RPOPLPUSH" || name == "LMOVE") && args[1] == args[2] && string(e.aside(p.Ctx, []string{"LLEN", args[1]})) == ":1\r\n" &&
		!slices.ContainsFunc(args[3:], func(end string) bool { return !strings.EqualFold(end, "LEFT") && !strings.EqualFold(end, "RIGHT") }):
		args = []string{"LINDEX", args[1], "0"}
	case strings.HasPrefix(name, "ZPOP") && len(args) == 3 && args[2] == "0":
		args = []string{"ZRANGE", args[1], "1", "0"}
	case name == "ZADD":
		for i := len(args) - 2; i > 1; i -= 2 { // scores, and perhaps options before them
			if strings.EqualFold(strings.TrimLeft(args[i], "+-"), "nan") {
				args = slices.Replace(slices.Clone(args), i, i+1, "no float")
			}
		}
	}
	defer func() {
		if problem := recover(); problem != nil { // of a value that miniredis does not expect
			e.engine.TryLock() // it may hold the lock still
			e.engine.Unlock()
			p.WriteError(fmt.Sprintf("ERR the embedded server cannot do this %s: %v", name, problem))
		}
	}()
	e.srv.Dispatch(p, args)
}

// oneLineText keeps an argument from breaking the protocol's error line.
var oneLineText = strings.NewReplacer("\r", " ", "\n", " ")

// exponent finds a whole score of less than 1e17, such as a time in ms, that miniredis writes with an exponent.
var exponent = regexp.MustCompile(`\$\d+\r\n(-?\d(?:\.\d+)?e\+(?:0\d|1[0-6]))\r\n`)

// wholeScores writes scores as Redis does, with all their digits.
func wholeScores(name string, reply []byte) []byte {
	if !strings.EqualFold(name[:min(len(name), 1)], "z") || !bytes.Contains(reply, []byte("e+")) {
		return reply
	}
	return exponent.ReplaceAllFunc(reply, func(bulk []byte) []byte {
		score, _ := strconv.ParseFloat(string(exponent.FindSubmatch(bulk)[1]), 64)
		text := strconv.FormatFloat(score, 'f', -1, 64)
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text)
	})
}
