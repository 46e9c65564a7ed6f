package embedded

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var scriptCommands = map[string]bool{"EVAL": true, "EVALSHA": true, "EVAL_RO": true, "EVALSHA_RO": true}

// script is the one that runs.
type script struct {
	sha      string // of the body as the client knows it
	db       string
	readOnly bool
	failure  string // the last error that redis.call raised
	line     string // where it did
}

// placed finds the place that Lua puts before an error's text.
var placed = regexp.MustCompile(`(?s)^` + chunk + `:(\d+): ?(.*)$`)

func (s *script) failed(text, where string) {
	s.failure, s.line = text, ""
	if m := placed.FindStringSubmatch(where); m != nil {
		s.line = m[1]
	}
}

// eval runs a script. What runs for a body is kept here by the SHA-1 of the body, whatever a hook made of it.
func (e *Server) eval(c *client, name string, args []string) {
	bySHA := strings.HasPrefix(name, "EVALSHA")
	keys, err := strconv.Atoi(args[2])
	switch {
	case bySHA && len(args[1]) != sha1.Size*2:
		c.peer.WriteError(noScript)
		return
	case err != nil:
		c.peer.WriteError("ERR value is not an integer or out of range")
		return
	case keys > len(args)-3:
		c.peer.WriteError("ERR Number of keys can't be greater than number of args")
		return
	case keys < 0:
		c.peer.WriteError("ERR Number of keys can't be negative")
		return
	}
	if c.subscribed && !c.peer.Resp3 {
		if reply := e.aside(c.peer.Ctx, []string{"EVAL", "return 1", "0"}); reply[0] == '-' { // what a subscriber may not do
			c.peer.WriteRaw(string(reply))
			return
		}
	}
	body, sum := args[1], ""
	if bySHA {
		var known bool
		sum = strings.ToLower(args[1])
		if body, known = e.scripts[sum]; !known {
			c.peer.WriteError(noScript)
			return
		}
	} else {
		sum = sha1Hex(body)
	}
	program, err := compile(e.source(body))
	if err != nil {
		c.peer.WriteError(unparsed(err))
		return
	}
	run := &script{sha: sum, db: c.db, readOnly: strings.HasSuffix(name, "_RO")}
	e.scripts[run.sha] = body
	e.running = run
	err = e.machine.run(c.peer, program, c.db, args[3:3+keys], args[3+keys:])
	e.running = nil
	if err != nil {
		c.peer.WriteError(run.explain(err))
	}
}

const noScript = "NOSCRIPT No matching script. Please use EVAL."

// source is what runs for a body.
func (e *Server) source(body string) string {
	s, known := e.sources[body]
	if !known {
		s = body
		if e.hooks.Script != nil {
			s = e.hooks.Script(s)
		}
		e.sources[body] = s
	}
	return s
}

// badArgument finds the library function that this Lua machine names without quotes.
var badArgument = regexp.MustCompile(`^(bad argument #\d+ to )(\w+) \(`)

// unparsable is how it reports a script that it cannot compile.
var unparsable = regexp.MustCompile(`(?s)^` + chunk + ` (?:line:(\d+)\(column:\d+\) near '(.*?)'|at EOF):\s+(.*?)\n?$`)

// unparsed words the refusal of a script as Redis does, apart from what the parsers call the same thing.
func unparsed(err error) string {
	const start = "ERR Error compiling script (new function): "
	m := unparsable.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return start + oneLineText.Replace(err.Error())
	case m[1] == "":
		return start + chunk + ":1: unexpected symbol near '<eof>'"
	default:
		return oneLineText.Replace(fmt.Sprintf("%s%s:%s: %s near '%s'", start, chunk, m[1], m[3], m[2]))
	}
}

// stackPlace finds the innermost line of the script in a stack.
var stackPlace = regexp.MustCompile(`\t` + chunk + `:(\d+): `)

// explain words an error as Redis 7 does, apart from what this Lua machine words differently (arithmetic on nil).
func (s *script) explain(err error) string {
	text, line := "ERR "+err.Error(), "1"
	var raised *lua.ApiError
	if errors.As(err, &raised) {
		if m := stackPlace.FindStringSubmatch(raised.StackTrace); m != nil {
			line = m[1]
		}
		switch o := raised.Object.(type) {
		case *lua.LTable:
			if text = o.RawGetString("err").String(); text == s.failure && s.line != "" {
				line = s.line
			}
			if o.RawGetString("err") == lua.LNil {
				text = "ERR unknown error"
			}
		case lua.LString:
			text = "ERR " + string(o)
			if m := placed.FindStringSubmatch(string(o)); m != nil {
				line = m[1]
				text = fmt.Sprintf("ERR %s:%s: %s", chunk, line, badArgument.ReplaceAllString(m[2], "$1'$2' ("))
			}
		default:
			text = "ERR " + raised.Object.String()
		}
	}
	return oneLineText.Replace(fmt.Sprintf("%s script: %s, on @%s:%s.", text, s.sha, chunk, line))
}

// notFromScripts are commands Redis flags noscript.
var notFromScripts = map[string]bool{
	"AUTH": true, "BLMOVE": true, "BLMPOP": true, "BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BZMPOP": true, "BZPOPMAX": true,
	"BZPOPMIN": true, "CLIENT": true, "CONFIG": true, "DISCARD": true, "EVAL": true, "EVALSHA": true, "EVALSHA_RO": true, "EVAL_RO": true,
	"EXEC": true, "HELLO": true, "MONITOR": true, "MULTI": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true, "QUIT": true, "SCRIPT": true,
	"SUBSCRIBE": true, "UNSUBSCRIBE": true, "UNWATCH": true, "WAIT": true, "WATCH": true,
}

// noDatabase reports whether a command selects one that there is not.
func noDatabase(name string, args []string) bool {
	if name != "SELECT" || len(args) != 2 {
		return false
	}
	n, err := strconv.Atoi(args[1])
	return err == nil && (n < 0 || n >= databases)
}

// pops write nothing where there is nothing to pop.
var pops = map[string]bool{"LMOVE": true, "LPOP": true, "RPOP": true, "RPOPLPUSH": true}

// scriptCall runs one command for the running script, with the checks and words of Redis's scripting, and shows it to the
// monitors. The reply is valid until the next; refused says why there is none.
func (e *Server) scriptCall(m *machine, args []string) (reply []byte, refused string) {
	if len(args) == 0 {
		return nil, "ERR Please specify at least one argument for this redis lib call"
	}
	name := strings.ToUpper(args[0])
	switch {
	case notFromScripts[name]:
		return nil, "ERR This Redis command is not allowed from script"
	case !e.srv.IsRegisteredCommand(name):
		return nil, "ERR Unknown Redis command called from script"
	case e.running.readOnly && !e.srv.IsReadOnlyCommand(name):
		return nil, "ERR Write commands are not allowed from read-only scripts."
	case cannotBlock(name, args):
		return nil, "ERR " + name + " may not block in the embedded server"
	}
	if noDatabase(name, args) {
		reply = []byte("-ERR DB index is out of range\r\n")
	} else {
		reply = m.dispatch(args)
	}
	if bytes.HasPrefix(reply, []byte("-ERR wrong number of arguments")) {
		return nil, "ERR Wrong number of args calling Redis command from script"
	}
	if name == "SELECT" && reply[0] == '+' {
		e.running.db = args[1]
	}
	e.feedLua(args)
	e.count(args, reply, false, 0)
	if e.mayWrite(name) && (!pops[name] || string(reply) != "$-1\r\n") {
		e.writes++
	}
	return reply, ""
}

// script answers SCRIPT, about the bodies clients know.
func (e *Server) script(c *client, args []string) {
	switch sub := strings.ToUpper(strings.Join(args[1:min(2, len(args))], "")); {
	case sub == "LOAD" && len(args) == 3:
		if _, err := compile(e.source(args[2])); err != nil {
			c.peer.WriteError(unparsed(err))
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
