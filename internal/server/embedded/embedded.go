// Package embedded answers: which Redis is there where there is none?
//
// It imitates Redis 7.0 in this process, as far as delay queues and those who watch
// them need it. What it answers was compared with a real one; how fast says nothing
// about Redis.
//
// Its scripts have no bit and no cmsgpack, no shebang, no replies of RESP3, no debugger, none of
// redis.acl_check_cmd, redis.breakpoint, redis.debug and gcinfo, and pairs shows nothing of a library; ".."
// puts all digits of a number into a text; string.format, patterns, math.random, goto and the texts of errors
// are those of another Lua machine, whose functions take fewer texts for numbers and check less
// of what is passed to them; cjson is another one: it leaves out null and knows no cjson.null, writes
// an empty table as a list, escapes other characters and refuses a list with gaps. They have 512 KB of text and
// 1000 coroutines at most. One that runs for 5 s is ended, but not while a single call of a function of the
// library takes so long; one that doubles its texts for long ends the process.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
)

const (
	// miniredisVersion is the release of the engine, see go.mod.
	miniredisVersion = "2.40.0"
	// emulatedVersion is the Redis whose MONITOR lines and script errors the
	// embedded server reproduces; clients read it to choose their commands.
	emulatedVersion = "7.0.15"
	// emulatedVersionNumber is the same as scripts have it.
	emulatedVersionNumber = 7<<16 | 0<<8 | 15
)

// Server is a Redis inside this process: miniredis runs the commands, and this
// layer adds what a delay queue and its observers need and miniredis lacks:
// MONITOR, scripts with Lua's struct library and the errors of Redis 7, first-come
// first-served blocking pops, CLIENT and INFO.
//
// It speaks to clients itself and only hands commands to miniredis, because
// miniredis hides from its hooks the peer's address and the case of a command
// name, both of which MONITOR shows.
type Server struct {
	engine *miniredis.Miniredis
	srv    *mini.Server
	listen net.Listener
	since  time.Time
	wg     sync.WaitGroup

	// mu is the one thread of Redis: held while a command runs and is logged,
	// so that MONITOR shows the order of execution and a script's own commands
	// follow it without a gap.
	mu       sync.Mutex
	clients  map[int64]*client
	lastID   int64
	monitors map[*client]bool
	hooks    Hooks
	scripts  map[string]string // SHA-1 of the body as clients know it → body
	sources  map[string]string // body → what runs for it
	machine  *machine          // that runs them
	running  *script           // the script that runs now, nil outside
	waiters  []*waiter         // blocked pops, the longest waiting first
	writes   uint64            // commands that ran and may have written
	served   uint64            // of these, those after which waiters were served
	stats    map[string]*commandStat
}

// Hooks let a test look on, and plant faults. Each may be nil.
type Hooks struct {
	// Script returns the body that is run instead of body. Its SHA-1 stays body's.
	Script func(body string) string
	// Ran is told of each command that has run, before its reply is sent: the client's
	// address and what it sent. No other command runs meanwhile, so that Do shows what it left.
	Ran func(client string, args []string, reply []byte)
}

// Start listens on a free port of 127.0.0.1. The server runs until it is closed, not
// until ctx ends.
func Start(ctx context.Context) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("embedded: no port on 127.0.0.1: %w", err)
	}
	return serve(l, Hooks{}, scriptLimit)
}

// scriptLimit is how long a script may run. Redis goes on, and answers others that it is busy.
const scriptLimit = 5 * time.Second

// Serve serves the connections of l, which Close closes. Its scripts may run for as long as they like: the time in a bubble
// of testing/synctest stands still meanwhile.
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
		clients: map[int64]*client{}, monitors: map[*client]bool{}, scripts: map[string]string{}, sources: map[string]string{}, stats: map[string]*commandStat{},
	}
	e.machine = newMachine(e, limit)
	e.wg.Go(e.accept)
	return e, nil
}

// Addr returns host:port.
func (e *Server) Addr() string { return e.listen.Addr().String() }

// Close ends all connections and stops the engine; what was stored is gone.
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

// command runs one command, or queues it in a transaction. A blocking pop that
// finds nothing gives the waiter to wait for.
func (e *Server) command(c *client, args []string) *waiter {
	name := strings.ToUpper(args[0])
	if c.tx != nil && !endsTx[name] {
		c.send(e.enqueue(c, args))
		return nil
	}
	start := time.Now()
	switch {
	case name == "MULTI" && len(args) == 1:
		c.tx = &transaction{}
		c.send([]byte("+OK\r\n"))
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

// run executes one command outside the queueing of transactions, counts it and
// shows it to the monitors.
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
		e.eval(c, name, args)
	case blockingPops[name]:
		w = e.pop(c, args)
	case name == "MONITOR":
		e.monitors[c] = true
		c.peer.WriteOK()
	case name == "SCRIPT":
		e.script(c, args)
	case name == "CLIENT":
		e.client(c, args)
	case name == "CONFIG":
		e.config(c, args)
	case name == "INFO":
		c.peer.WriteBulk(e.info(args[1:]))
	case name == "AUTH" && len(args) == 3:
		if args[1] != "default" { // who needs no password, and is let in with any
			c.peer.WriteError("WRONGPASS invalid username-password pair or user is disabled.")
			break
		}
		c.peer.WriteOK()
	case name == "HELLO":
		e.hello(c, args)
	case noDatabase(name, args):
		c.peer.WriteError("ERR DB index is out of range")
	case !e.srv.IsRegisteredCommand(name):
		c.peer.WriteRaw(unknownCommand(args))
	case cannotBlock(name, args):
		c.peer.WriteError("ERR " + name + " may not block in the embedded server")
	default:
		e.dispatch(c.peer, args...)
	}
	c.peer.Flush()
	reply = c.captured()
	switch {
	case name == "SELECT" && string(reply) == "+OK\r\n":
		c.db = args[1]
	case name == "SUBSCRIBE" || name == "PSUBSCRIBE":
		c.subscribed = true
	}
	rejected := isRejection(reply)
	if !isScript && !rejected {
		e.feed(start, c, args)
	}
	e.count(args, reply, rejected, time.Since(start))
	if !isScript && w == nil && !rejected && e.mayWrite(name) {
		e.writes++
	}
	if e.hooks.Ran != nil {
		e.hooks.Ran(c.addr, args, reply)
	}
	return reply, w
}

// writeNothing are commands that miniredis does not count among those that only read, and that leave every key as it is.
var writeNothing = map[string]bool{
	"AUTH": true, "CLIENT": true, "CONFIG": true, "ECHO": true, "HELLO": true, "INFO": true, "MONITOR": true, "PING": true, "PSUBSCRIBE": true,
	"PUBLISH": true, "PUNSUBSCRIBE": true, "QUIT": true, "SCRIPT": true, "SELECT": true, "SUBSCRIBE": true, "TIME": true, "UNSUBSCRIBE": true, "UNWATCH": true, "WATCH": true,
}

func (e *Server) mayWrite(name string) bool {
	return !writeNothing[name] && !e.srv.IsReadOnlyCommand(name)
}

// Writes is how many commands have run that may have written, those of scripts among them. While it stays as it is, so do
// all keys that do not expire. It is for Hooks.Ran and Exclusive.
func (e *Server) Writes() uint64 { return e.writes }

// Exclusive calls f while no command runs.
func (e *Server) Exclusive(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// ForgetScripts is what SCRIPT FLUSH does. It is for Exclusive.
func (e *Server) ForgetScripts() {
	clear(e.scripts)
	clear(e.sources)
}

// Do runs a command and returns its reply in RESP2. It is for Hooks.Ran and Exclusive.
func (e *Server) Do(args ...string) []byte {
	return e.aside(nil, args)
}

// dispatch hands a command to miniredis.
func (e *Server) dispatch(p *mini.Peer, args ...string) {
	e.srv.Dispatch(p, args)
	p.Flush()
}

// isRejection tells the errors that come before a command runs; Redis neither
// shows such a command to monitors nor counts it as a call.
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
	return fmt.Sprintf("-ERR unknown command '%s', with args beginning with: %s\r\n", args[0][:min(len(args[0]), 128)], oneLineText.Replace(b.String()))
}

// oneLineText keeps an argument from breaking the protocol's error line.
var oneLineText = strings.NewReplacer("\r", " ", "\n", " ")

// cannotBlock tells the commands that would block inside miniredis, and with it
// every other client of this server.
func cannotBlock(name string, args []string) bool {
	switch name {
	case "BZPOPMIN", "BZPOPMAX", "BZMPOP", "BLMPOP":
		return true
	case "XREAD", "XREADGROUP":
		for _, a := range args {
			if strings.EqualFold(a, "BLOCK") {
				return true
			}
		}
	}
	return false
}
