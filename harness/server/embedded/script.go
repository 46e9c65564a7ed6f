package embedded

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
)

//go:embed prelude.lua
var preludeSource string

// prelude is preludeSource without comments, on one line.
var prelude = func() string {
	var b strings.Builder
	for line := range strings.Lines(preludeSource) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "--") {
			b.WriteString(line + " ")
		}
	}
	return b.String()
}()

var scriptCommands = map[string]bool{"EVAL": true, "EVALSHA": true, "EVAL_RO": true, "EVALSHA_RO": true}

// script is the one that runs.
type script struct {
	sha      string // of the body as the client knows it
	db       string
	readOnly bool
	failure  string // the last error a command called by the script gave
}

// eval runs a script with the prelude before it. Which SHA-1 means which body
// is kept here, so clients only ever meet the sums of their own bodies.
func (e *Server) eval(c *client, name string, args []string) {
	body, known := args[1], true
	if strings.HasPrefix(name, "EVALSHA") {
		body, known = e.scripts[strings.ToLower(args[1])]
	}
	if !known {
		c.peer.WriteError("NOSCRIPT No matching script. Please use EVAL.")
		return
	}
	run := &script{sha: sha1Hex(body), db: c.db, readOnly: strings.HasSuffix(name, "_RO")}
	e.running = run
	reply := e.aside(c.peer.Ctx, append([]string{"EVAL", e.source(body)}, args[2:]...))
	e.running = nil
	err, compiled := run.explain(string(reply))
	if compiled {
		e.scripts[run.sha] = body
	}
	if err != "" {
		c.peer.WriteError(err)
		return
	}
	c.peer.WriteRaw(string(reply))
}

// source is what runs for a body.
func (e *Server) source(body string) string {
	s, known := e.sources[body]
	if !known {
		s = body
		if e.hooks.Script != nil {
			s = e.hooks.Script(s)
		}
		s = prelude + coerceLimits(s)
		e.sources[body] = s
	}
	return s
}

// textLimit finds a for loop with an argument as its limit.
var textLimit = regexp.MustCompile(`(\bfor\s+\w+\s*=\s*[^,\n]+,\s*)(ARGV\[\w+\])`)

// coerceLimits makes such loops run: arguments are text, which Lua 5.1 takes
// for a number there and the Lua machine of miniredis does not. Redisson's
// poll(limit) scripts have them.
func coerceLimits(body string) string {
	return textLimit.ReplaceAllString(body, "${1}tonumber(${2})")
}

// raised is how miniredis reports an error raised by a script, whatever its
// kind: the place in the chunk, the message, the stack of the Lua machine.
var raised = regexp.MustCompile(`(?s)^-ERR Error compiling script \(new function\): (?:<string>)?:(\d+): (.*?)( stack traceback:.*)?\r\n$`)

// mainChunk finds the script's own line in a stack.
var mainChunk = regexp.MustCompile(`:(\d+): in main chunk`)

// badArgument finds the library function the Lua machine names without quotes.
var badArgument = regexp.MustCompile(`^(bad argument #\d+ to )(\w+) \(`)

// unparsable is how it reports a script it cannot compile.
var unparsable = regexp.MustCompile(`(?s)^-ERR Error compiling script \(new function\): <string> (?:line:(\d+)\(column:\d+\) near '(.*?)'|at EOF):\s+(.*?)\r\n$`)

// explain words an error of miniredis as Redis 7 does, apart from messages the
// Lua machine itself words differently (arithmetic on nil); err is empty when reply
// is no error of the Lua machine. compiled tells that the body is valid Lua,
// which is when Redis remembers it, also when running it fails.
func (s *script) explain(reply string) (err string, compiled bool) {
	if m := unparsable.FindStringSubmatch(reply); m != nil {
		near := m[2]
		if m[1] == "" {
			return "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'", false
		}
		return fmt.Sprintf("ERR Error compiling script (new function): user_script:%s: %s near '%s'", m[1], m[3], near), false
	}
	m := raised.FindStringSubmatch(reply)
	if m == nil {
		return "", !strings.HasPrefix(reply, "-ERR value is not an integer") && !strings.HasPrefix(reply, "-ERR Number of keys")
	}
	line, msg := m[1], m[2]
	if chunk := mainChunk.FindStringSubmatch(m[3]); chunk != nil && strings.HasPrefix(msg, "Script attempted to ") {
		line = chunk[1] // the place given is that of the guard of globals
	}
	switch {
	case s.failure != "" && strings.HasPrefix(s.failure, msg):
		msg = s.failure
	case strings.Contains(msg, "Lua redis lib command arguments must be strings or integers"):
		msg = "ERR Lua redis lib command arguments must be strings or integers"
	default:
		msg = fmt.Sprintf("ERR user_script:%s: %s", line, badArgument.ReplaceAllString(msg, "$1'$2' ("))
	}
	return fmt.Sprintf("%s script: %s, on @user_script:%s.", msg, s.sha, line), true
}

// fromScript is the pre-hook: it answers what the prelude calls. Everything
// else, and everything outside scripts, goes on to miniredis.
func (e *Server) fromScript(p *mini.Peer, cmd string, args ...string) bool {
	if e.running == nil {
		return false
	}
	switch cmd {
	case "DQ.CALL":
		e.scriptCall(p, args)
	case "DQ.PACK":
		packed, err := structPack(luaArgs(args))
		if err != nil {
			p.WriteError(err.Error())
			return true
		}
		p.WriteBulk(string(packed))
	case "DQ.UNPACK":
		values, err := structUnpack(luaArgs(args))
		if err != nil {
			p.WriteError(err.Error())
			return true
		}
		p.WriteLen(len(values))
		for _, v := range values {
			p.WriteBulk(v.wire())
		}
	case "DQ.SIZE":
		n, err := structSize(luaArgs(args))
		if err != nil {
			p.WriteError(err.Error())
			return true
		}
		p.WriteInt(n)
	default:
		return false
	}
	return true
}

// notFromScripts are commands Redis flags noscript.
var notFromScripts = map[string]bool{
	"AUTH": true, "BLMOVE": true, "BLMPOP": true, "BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BZMPOP": true, "BZPOPMAX": true,
	"BZPOPMIN": true, "CLIENT": true, "CONFIG": true, "DISCARD": true, "EVAL": true, "EVALSHA": true, "EVALSHA_RO": true, "EVAL_RO": true,
	"EXEC": true, "HELLO": true, "MONITOR": true, "MULTI": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true, "QUIT": true, "SCRIPT": true,
	"SUBSCRIBE": true, "UNSUBSCRIBE": true, "UNWATCH": true, "WAIT": true, "WATCH": true,
}

// scriptCall runs one command for the running script, with the checks and words
// of Redis's scripting, and shows it to the monitors.
func (e *Server) scriptCall(p *mini.Peer, args []string) {
	fail := func(msg string) {
		e.running.failure = msg
		p.WriteError(msg)
	}
	if len(args) == 0 {
		fail("ERR Please specify at least one argument for this redis lib call")
		return
	}
	name := strings.ToUpper(args[0])
	switch {
	case notFromScripts[name]:
		fail("ERR This Redis command is not allowed from script")
		return
	case !e.srv.IsRegisteredCommand(name):
		fail("ERR Unknown Redis command called from script")
		return
	case e.running.readOnly && !e.srv.IsReadOnlyCommand(name):
		fail("ERR Write commands are not allowed from read-only scripts.")
		return
	}
	reply := e.aside(p.Ctx, args)
	if strings.HasPrefix(string(reply), "-ERR wrong number of arguments") {
		fail("ERR Wrong number of args calling Redis command from script")
		return
	}
	e.feedLua(args)
	e.count(args, reply, false, 0)
	if reply[0] == '-' {
		e.running.failure = strings.TrimRight(string(reply[1:]), "\r\n")
	}
	p.WriteRaw(string(reply))
}

// script answers SCRIPT, about the bodies clients know.
func (e *Server) script(c *client, args []string) {
	switch sub := strings.ToUpper(strings.Join(args[1:min(2, len(args))], "")); {
	case sub == "LOAD" && len(args) == 3:
		reply := e.aside(nil, args)
		if reply[0] == '-' {
			c.peer.WriteRaw(string(reply))
			return
		}
		sha := sha1Hex(args[2])
		e.scripts[sha] = args[2]
		c.peer.WriteBulk(sha)
	case sub == "EXISTS" && len(args) > 2:
		c.peer.WriteLen(len(args) - 2)
		for _, sha := range args[2:] {
			n := 0
			if _, ok := e.scripts[strings.ToLower(sha)]; ok {
				n = 1
			}
			c.peer.WriteInt(n)
		}
	case sub == "FLUSH":
		reply := e.aside(nil, args)
		if reply[0] != '-' {
			clear(e.scripts)
		}
		c.peer.WriteRaw(string(reply))
	default:
		e.dispatch(c.peer, args...)
	}
}

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}
