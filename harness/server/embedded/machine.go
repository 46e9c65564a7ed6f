package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	mini "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// chunk is what Redis calls the place where a script stands.
const chunk = "user_script"

const (
	// mostRegisters is how many values a script may have at once, mostCalls how deep its functions may call each other, and
	// mostUnpacked how many values unpack may return, which is Redis's own bound.
	mostRegisters = 1 << 20
	mostCalls     = 16 << 10
	mostUnpacked  = 7999
	// databases is how many there are, as in Redis without a configuration.
	databases = 16
)

// machine is the Lua machine of a server. As in Redis there is one, and all scripts run in it one after the other, with
// globals that none of them can set. That of miniredis is made anew for each script, which takes longer than most scripts.
type machine struct {
	server  *Server
	state   *lua.LState
	globals *lua.LTable // the metatable of a script's globals: reads what all scripts know, and refuses to be written
	refuse  *lua.LFunction
	calls   *mini.Peer // who calls what the running script calls
	reply   bytes.Buffer
	// limit is how long a script may run; 0 for as long as it likes.
	limit time.Duration
}

func newMachine(e *Server, limit time.Duration) *machine {
	m := &machine{server: e, limit: limit, state: lua.NewState(lua.Options{
		SkipOpenLibs: true, RegistryMaxSize: mostRegisters, RegistryGrowStep: 1 << 14, CallStackSize: mostCalls, MinimizeStackMemory: true,
	})}
	m.calls = mini.NewPeer(bufio.NewWriterSize(&m.reply, 512))
	l := m.state
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.CoroutineLibName: lua.OpenCoroutine, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	known := l.G.Global
	for _, name := range []string{"dofile", "loadfile", "print", "require", "module", "_printregs", "newproxy"} {
		known.RawSetString(name, lua.LNil)
	}
	known.RawSetString("tonumber", l.NewFunction(luaToNumber))
	known.RawSetString("tostring", l.NewFunction(luaToString))
	known.RawSetString("unpack", l.NewFunction(luaUnpackTable))
	pcall := known.RawGetString("pcall").(*lua.LFunction)
	known.RawSetString("pcall", l.NewFunction(func(l *lua.LState) int { return luaPCall(l, pcall) }))
	rawset := known.RawGetString("rawset").(*lua.LFunction)
	known.RawSetString("rawset", l.NewFunction(func(l *lua.LState) int { return m.rawSet(l, rawset) }))
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	known.RawSetString("cjson", m.raising(l.Get(-1).(*lua.LTable)))
	l.Pop(1)
	known.RawSetString("struct", m.library(map[string]lua.LGFunction{"pack": luaPack, "unpack": luaUnpack, "size": luaSize}))
	known.RawSetString("os", m.library(map[string]lua.LGFunction{"clock": luaClock}))
	redis := m.library(map[string]lua.LGFunction{
		"call": m.call, "pcall": m.pcall, "error_reply": luaErrorReply, "status_reply": luaStatusReply, "sha1hex": luaSHA1,
		"log": luaNothing, "replicate_commands": luaTrue, "set_repl": luaNothing, "setresp": luaSetRESP,
	})
	for name, n := range map[string]int{"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3, "REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3} {
		redis.RawSetString(name, lua.LNumber(n))
	}
	known.RawSetString("redis", redis)
	known.RawSetString("server", redis)

	m.refuse = l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	})
	// The methods of texts are found by a library that a script does not see, for the one it sees is behind a table that
	// stays empty.
	known.ForEach(func(name, v lua.LValue) {
		if t, ok := v.(*lua.LTable); ok && t != known {
			known.RawSet(name, m.readOnly(t))
		}
	})
	known.RawSetString("_G", m.readOnly(known))
	texts := l.GetMetatable(lua.LString("")).(*lua.LTable)
	texts.RawSetString("__metatable", lua.LFalse)
	known.Metatable = m.library(nil)
	known.Metatable.(*lua.LTable).RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToStringMeta(l.Get(2)).String())
		return 0
	}))
	m.globals = m.guard(known)
	return m
}

// readOnly is a table that shows another one and refuses to be written.
func (m *machine) readOnly(t *lua.LTable) *lua.LTable {
	shown := m.state.NewTable()
	shown.Metatable = m.guard(t)
	return shown
}

// guard is the metatable of what shows t and refuses to be written.
func (m *machine) guard(t *lua.LTable) *lua.LTable {
	guard := m.library(nil)
	guard.RawSetString("__index", t)
	guard.RawSetString("__newindex", m.refuse)
	guard.RawSetString("__metatable", lua.LFalse)
	return guard
}

// rawSet is rawset, which writes no such table.
func (m *machine) rawSet(l *lua.LState, rawset *lua.LFunction) int {
	if guard, ok := l.CheckTable(1).Metatable.(*lua.LTable); ok && guard.RawGetString("__newindex") == m.refuse {
		l.Error(lua.LString("Attempt to modify a readonly table"), 0)
	}
	l.Insert(rawset, 1)
	l.Call(l.GetTop()-1, lua.MultRet)
	return l.GetTop()
}

// raising has the functions of a library raise what they return as nil and a text.
func (m *machine) raising(t *lua.LTable) *lua.LTable {
	t.ForEach(func(name, v lua.LValue) {
		f, ok := v.(*lua.LFunction)
		if !ok {
			return
		}
		t.RawSet(name, m.state.NewFunction(func(l *lua.LState) int {
			l.Insert(f, 1)
			l.Call(l.GetTop()-1, lua.MultRet)
			if text, failed := l.Get(2).(lua.LString); failed && l.Get(1) == lua.LNil {
				l.RaiseError("%s", string(text))
			}
			return l.GetTop()
		}))
	})
	return t
}

func (m *machine) library(functions map[string]lua.LGFunction) *lua.LTable {
	t := m.state.NewTable()
	for name, f := range functions {
		t.RawSetString(name, m.state.NewFunction(f))
	}
	return t
}

// programs are those that were compiled in this process, by their text: servers come and go, and scripts stay.
var programs sync.Map

// compile returns what runs for a script's text.
func compile(text string) (*lua.FunctionProto, error) {
	if p, known := programs.Load(text); known {
		return p.(*lua.FunctionProto), nil
	}
	parsed, err := parse.Parse(strings.NewReader(text), chunk)
	if err != nil {
		return nil, err
	}
	p, err := lua.Compile(parsed, chunk)
	if err != nil {
		return nil, err
	}
	programs.Store(text, p)
	return p, nil
}

// run runs a program with the database, the keys and the arguments of a call, and writes what it returns to p.
func (m *machine) run(p *mini.Peer, program *lua.FunctionProto, db string, keys, args []string) (err error) {
	l := m.state
	m.calls.Ctx = nil // no database is chosen, and no key is watched
	if db != "0" {
		m.dispatch([]string{"SELECT", db})
	}
	globals := l.NewTable()
	globals.RawSetString("KEYS", m.list(keys))
	globals.RawSetString("ARGV", m.list(args))
	globals.Metatable = m.globals
	f := l.NewFunctionFromProto(program)
	f.Env = globals
	defer l.SetTop(0)
	if m.limit > 0 {
		ctx, cancel := context.WithTimeoutCause(context.Background(), m.limit, fmt.Errorf("the script ran for more than %s, where the embedded server ends it", m.limit))
		defer cancel()
		l.SetContext(ctx)
		defer l.RemoveContext()
		defer func() {
			if err != nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
		}()
	}
	l.Push(f)
	if err := l.PCall(0, 1, nil); err != nil {
		return err
	}
	writeLua(p, l.Get(-1), 0)
	return nil
}

func (m *machine) list(texts []string) *lua.LTable {
	t := m.state.CreateTable(len(texts), 0)
	for _, s := range texts {
		t.Append(lua.LString(s))
	}
	return t
}

// dispatch has miniredis run a command for the running script. The reply is valid until the next.
func (m *machine) dispatch(args []string) []byte {
	m.reply.Reset()
	m.server.dispatch(m.calls, args...)
	return m.reply.Bytes()
}

// call is redis.call: an error that the command replies is raised, as a table.
func (m *machine) call(l *lua.LState) int {
	reply := m.command(l)
	if t, ok := reply.(*lua.LTable); ok {
		if text, failed := t.RawGetString("err").(lua.LString); failed {
			m.server.running.failed(string(text), l.Where(1))
			l.Error(reply, 1)
			return 0
		}
	}
	l.Push(reply)
	return 1
}

// pcall is redis.pcall, which returns that table.
func (m *machine) pcall(l *lua.LState) int {
	l.Push(m.command(l))
	return 1
}

// command runs the command that is on the stack.
func (m *machine) command(l *lua.LState) lua.LValue {
	args := make([]string, l.GetTop())
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = numberText(float64(v))
		default:
			return errorTable(l, "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	reply, refused := m.server.scriptCall(m, args)
	if refused != "" {
		return errorTable(l, refused)
	}
	v, _ := readLua(l, reply)
	return v
}

// numberText is %.17g of C, by which Redis makes an argument of a number.
func numberText(n float64) string { return numberTextOf(n, 17) }

func numberTextOf(n float64, digits int) string {
	switch {
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	case math.IsNaN(n):
		return "-nan"
	}
	return strconv.FormatFloat(n, 'g', digits, 64)
}

func errorTable(l *lua.LState, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	return t
}

func statusTable(l *lua.LState, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString("ok", lua.LString(text))
	return t
}

// readLua is a reply in RESP2 as Lua has it, and what comes after it.
func readLua(l *lua.LState, reply []byte) (v lua.LValue, rest []byte) {
	line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	if len(line) == 0 {
		return lua.LFalse, nil
	}
	text := string(line[1:])
	n, _ := strconv.Atoi(text)
	switch line[0] {
	case '+':
		return statusTable(l, text), rest
	case '-':
		return errorTable(l, text), rest
	case ':':
		return lua.LNumber(n), rest
	case '$':
		if n < 0 {
			return lua.LFalse, rest
		}
		return lua.LString(rest[:n]), rest[n+2:]
	case '*':
		if n < 0 {
			return lua.LFalse, rest
		}
		t := l.CreateTable(n, 0)
		for range n {
			v, rest = readLua(l, rest)
			t.Append(v)
		}
		return t, rest
	default:
		return lua.LFalse, nil
	}
}

// deepest is how many lists within each other a script may return; the stack of Redis's Lua has room for about as many.
const deepest = 7000

// writeLua writes a value as Redis converts it: a number without what is behind its point, a list until its first nil.
func writeLua(p *mini.Peer, v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		p.WriteBulk(string(v))
	case lua.LNumber:
		p.WriteInt(int(v))
	case lua.LBool:
		if !v {
			p.WriteNull()
			return
		}
		p.WriteInt(1)
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

// luaToNumber is tonumber of Lua 5.1, which reads a text without a base as C's strtod does.
func luaToNumber(l *lua.LState) int {
	v := l.CheckAny(1)
	base := l.OptInt(2, 10)
	if base < 2 || base > 36 {
		l.ArgError(2, "base out of range")
	}
	text, isText := v.(lua.LString)
	n, isNumber := v.(lua.LNumber)
	switch {
	case isNumber && base == 10:
		l.Push(n)
		return 1
	case isNumber:
		text = lua.LString(n.String())
	case !isText:
		l.Push(lua.LNil)
		return 1
	}
	s := strings.Trim(string(text), " \t\n\v\f\r")
	read, err := 0., error(nil)
	digits := strings.TrimLeft(s, "+-")
	switch hex := strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X"); {
	case base != 10 || hex && !strings.ContainsAny(digits, ".pP"):
		if hex && (base == 10 || base == 16) {
			base, s = 16, s[:len(s)-len(digits)]+digits[2:]
		}
		var whole int64
		whole, err = strconv.ParseInt(s, base, 64)
		read = float64(whole)
	case strings.ContainsRune(s, '_'):
		err = strconv.ErrSyntax
	default:
		if hex && !strings.ContainsAny(s, "pP") {
			s += "p0"
		}
		if read, err = strconv.ParseFloat(s, 64); errors.Is(err, strconv.ErrRange) {
			err = nil
		}
	}
	if err != nil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(read))
	return 1
}

// luaToString is tostring, which gives 14 digits of a number. What this Lua machine puts into a text by itself has all of them.
func luaToString(l *lua.LState) int {
	v := l.CheckAny(1)
	if n, ok := v.(lua.LNumber); ok {
		l.Push(lua.LString(numberTextOf(float64(n), 14)))
		return 1
	}
	l.Push(l.ToStringMeta(v))
	return 1
}

// luaUnpackTable is unpack, which returns no more than Redis's.
func luaUnpackTable(l *lua.LState) int {
	t := l.CheckTable(1)
	from, to := l.OptInt(2, 1), l.OptInt(3, t.Len())
	if from > to {
		return 0
	}
	if n := to - from; n < 0 || n >= mostUnpacked {
		l.RaiseError("too many results to unpack")
	}
	for i := from; i <= to; i++ {
		l.Push(l.RawGetInt(t, i))
	}
	return to - from + 1
}

// luaPCall is pcall, which returns the text of the error that redis.call raises, as Redis's does.
func luaPCall(l *lua.LState, pcall *lua.LFunction) int {
	l.Insert(pcall, 1)
	l.Call(l.GetTop()-1, lua.MultRet)
	if raised, ok := l.Get(2).(*lua.LTable); ok && l.Get(1) == lua.LFalse {
		if text := raised.RawGetString("err"); text != lua.LNil {
			l.Replace(2, text)
		}
	}
	return l.GetTop()
}

func luaErrorReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		l.Push(errorTable(l, "ERR wrong number or type of arguments"))
		return 1
	}
	s := string(text)
	if code, isCode := strings.CutPrefix(s, "-"); isCode {
		s = code
	} else if !strings.Contains(s, " ") {
		s = "ERR " + s
	}
	l.Push(errorTable(l, s))
	return 1
}

func luaStatusReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		l.Push(errorTable(l, "ERR wrong number or type of arguments"))
		return 1
	}
	l.Push(statusTable(l, string(text)))
	return 1
}

func luaSHA1(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.RaiseError("wrong number of arguments")
	}
	l.Push(lua.LString(sha1Hex(lua.LVAsString(l.Get(1)))))
	return 1
}

func luaSetRESP(l *lua.LState) int {
	if v := l.CheckInt(1); v != 2 && v != 3 {
		l.RaiseError("RESP version must be 2 or 3.")
	}
	return 0
}

func luaNothing(*lua.LState) int { return 0 }

func luaTrue(l *lua.LState) int {
	l.Push(lua.LTrue)
	return 1
}

// luaClock measures nothing: scripts that decide by it would not do the same again.
func luaClock(l *lua.LState) int {
	l.Push(lua.LNumber(0))
	return 1
}
