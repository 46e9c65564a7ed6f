package embedded

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// chunk is Redis's name for the text of a script.
const chunk = "user_script"

const (
	mostRegisters = 1 << 20  // values a script may have at once
	mostCalls     = 16 << 10 // depth of calls
	deepest       = 7000     // depth of a returned table, about as in Redis
)

// machine runs the scripts of one server, one at a time, in one Lua state. Scripts add nothing to its tables.
type machine struct {
	server  *Server
	state   *lua.LState
	globals *lua.LTable
	bodies  map[string]string // by SHA-1
	client  *client           // sends the commands of scripts
	limit   time.Duration     // of one script; 0 is for ever

	// The running script.
	body     string
	readOnly bool
}

// absent are globals of Redis's scripts that this server lacks, and globals of gopher-lua that Redis's scripts lack.
var absent = []string{"_printregs", "bit", "cjson", "cmsgpack", "collectgarbage", "coroutine", "dofile", "gcinfo", "getfenv", "load", "loadfile",
	"loadstring", "module", "newproxy", "print", "rawset", "require", "setfenv"}

func newMachine(e *Server, limit time.Duration) *machine {
	l := lua.NewState(lua.Options{RegistryMaxSize: mostRegisters, RegistryGrowStep: 1 << 14, CallStackSize: mostCalls, MinimizeStackMemory: true})
	m := &machine{server: e, state: l, globals: l.G.Global, limit: limit, bodies: map[string]string{}, client: &client{addr: "lua", peer: newPeer(nil)}}
	for _, name := range append([]string{"channel", "debug", "io", "os", "package"}, absent...) {
		m.globals.RawSetString(name, lua.LNil)
	}
	m.globals.RawGetString("math").(*lua.LTable).RawSetString("huge", lua.LNumber(math.Inf(1)))
	tonumber := m.globals.RawGetString("tonumber").(*lua.LFunction)
	m.globals.RawSetString("tonumber", l.NewFunction(func(l *lua.LState) int { return luaToNumber(l, tonumber) }))
	redis := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call":          func(l *lua.LState) int { return raise(l, m.command(l)) },
		"pcall":         func(l *lua.LState) int { l.Push(m.command(l)); return 1 },
		"acl_check_cmd": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 }, // every user may run every command
		"sha1hex":       func(l *lua.LState) int { l.Push(lua.LString(sha1Hex(l.CheckString(1)))); return 1 },
		"error_reply":   func(l *lua.LState) int { l.Push(replyTable(l, "err", l.CheckString(1))); return 1 },
		"status_reply":  func(l *lua.LState) int { l.Push(replyTable(l, "ok", l.CheckString(1))); return 1 },
	})
	redis.RawSetString("REDIS_VERSION", lua.LString(emulatedVersion))
	m.globals.RawSetString("redis", redis)
	m.globals.RawSetString("struct", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"pack": structPack, "unpack": structUnpack}))

	for _, library := range []string{"math", "redis", "string", "struct", "table"} {
		m.seal(m.globals.RawGetString(library).(*lua.LTable), "the embedded server has no "+library+".%s")
	}
	m.seal(m.globals, "Script attempted to access nonexistent global variable '%s'")
	return m
}

// seal refuses to read or write a name that a table lacks.
func (m *machine) seal(table *lua.LTable, refusal string) {
	t := m.state.SetFuncs(m.state.NewTable(), map[string]lua.LGFunction{
		"__index": func(l *lua.LState) int {
			name, text := l.ToStringMeta(l.Get(2)).String(), refusal
			if slices.Contains(absent, name) {
				text = "the embedded server has no %s"
			}
			l.RaiseError(text, name)
			return 0
		},
		"__newindex": func(l *lua.LState) int { l.RaiseError("Attempt to modify a readonly table"); return 0 },
	})
	t.RawSetString("__metatable", lua.LFalse)
	table.Metatable = t
}

// compiled has the programs of all servers of this process by their text.
var compiled sync.Map

// forLimit finds ARGV as the limit of a numeric for, as Redisson's scripts have it: Lua 5.1 reads its text as a number, gopher-lua does not.
var forLimit = regexp.MustCompile(`(for \w+ ?= ?\w+, ?)(ARGV\[\d+\])`)

// compile returns the program for a body, with the text that a hook puts in its place, and keeps the body for EVALSHA.
func (m *machine) compile(body string) (*lua.FunctionProto, error) {
	text := body
	if m.server.hooks.Script != nil {
		text = m.server.hooks.Script(body)
	}
	program, known := compiled.Load(text)
	if strings.HasPrefix(text, "#!") {
		return nil, fmt.Errorf("ERR the embedded server has no first line #! of scripts")
	} else if !known {
		parsed, err := parse.Parse(strings.NewReader(forLimit.ReplaceAllString(text, "${1}tonumber($2)")), chunk)
		if err == nil {
			program, err = lua.Compile(parsed, chunk)
		}
		if err != nil {
			return nil, fmt.Errorf("ERR Error compiling script (new function): %s", oneLineText.Replace(err.Error()))
		}
		compiled.Store(text, program)
	}
	m.bodies[sha1Hex(body)] = body
	return program.(*lua.FunctionProto), nil
}

// raise is redis.call's end: it raises an error reply, and returns another one.
func raise(l *lua.LState, reply lua.LValue) int {
	if t, ok := reply.(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
		l.Error(t, 1)
	}
	l.Push(reply)
	return 1
}

// command runs the command on the stack.
func (m *machine) command(l *lua.LState) lua.LValue {
	args := make([]string, l.GetTop())
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(float64(v), 'g', 17, 64), "+"))
		default:
			return replyTable(l, "err", "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		return replyTable(l, "err", "ERR Please specify at least one argument for this redis lib call")
	}
	cmd, refusal := m.server.lookup(args)
	switch {
	case strings.HasPrefix(refusal, "ERR unknown "):
		refusal = "ERR Unknown Redis command called from script"
	case strings.HasPrefix(refusal, "ERR wrong number of arguments"):
		refusal = "ERR Wrong number of args calling Redis command from script"
	case refusal == "" && cmd.is('s'):
		refusal = "ERR This Redis command is not allowed from script"
	case refusal == "" && m.readOnly && cmd.is('w'):
		refusal = "ERR Write commands are not allowed from read-only scripts."
	}
	if refusal != "" {
		return replyTable(l, "err", refusal)
	}
	v, _ := readLua(l, m.server.run(m.client, cmd, args))
	return v
}

// luaToNumber is tonumber, which gopher-lua has no exponents for and no integers above 2^63.
func luaToNumber(l *lua.LState, tonumber *lua.LFunction) int {
	if s, ok := l.CheckAny(1).(lua.LString); ok && l.GetTop() == 1 {
		if n, err := strconv.ParseFloat(strings.TrimSpace(string(s)), 64); err == nil {
			l.Push(lua.LNumber(n))
			return 1
		}
	}
	return tonumber.GFunction(l)
}

func list(l *lua.LState, texts []string) *lua.LTable {
	t := l.CreateTable(len(texts), 0)
	for _, s := range texts {
		t.Append(lua.LString(s))
	}
	return t
}

func replyTable(l *lua.LState, kind, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(kind, lua.LString(text))
	return t
}

// readLua turns a RESP2 reply into a Lua value; rest follows the reply.
func readLua(l *lua.LState, reply []byte) (v lua.LValue, rest []byte) {
	line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	if len(line) == 0 {
		return lua.LFalse, nil
	}
	text := string(line[1:])
	n, _ := strconv.Atoi(text)
	switch {
	case line[0] == '+':
		return replyTable(l, "ok", text), rest
	case line[0] == '-':
		return replyTable(l, "err", text), rest
	case line[0] == ':':
		return lua.LNumber(n), rest
	case line[0] == '$' && n >= 0:
		return lua.LString(rest[:n]), rest[n+2:]
	case line[0] == '*' && n >= 0:
		t := l.CreateTable(n, 0)
		for range n {
			v, rest = readLua(l, rest)
			t.Append(v)
		}
		return t, rest
	}
	return lua.LFalse, rest
}

// writeLua writes a script's result: a number without its fraction, a list up to its first nil.
func writeLua(p *peer, v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		p.WriteBulk(string(v))
	case lua.LNumber:
		p.WriteInt(int(v))
	case lua.LBool:
		if v {
			p.WriteInt(1)
			return
		}
		p.WriteNull()
	case *lua.LTable:
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			p.WriteError(strings.TrimPrefix(oneLineText.Replace(string(text)), "-"))
			return
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			p.WriteInline(oneLineText.Replace(string(text)))
			return
		}
		if depth >= deepest {
			p.WriteError("ERR reached lua stack limit")
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		p.WriteLen(n)
		for i := range n {
			writeLua(p, v.RawGetInt(i+1), depth+1)
		}
	default:
		p.WriteNull()
	}
}
