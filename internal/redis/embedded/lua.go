package embedded

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// chunk is Redis's name for the text of a script.
const chunk = "user_script"

const (
	mostRegisters = 1 << 20  // values a script may have at once
	mostCalls     = 16 << 10 // depth of calls
	deepest       = 7000     // depth of a returned table, about as in Redis
)

// machine runs the scripts of one server, one at a time, in one Lua state. Scripts see read-only tables.
type machine struct {
	server   *Server
	state    *lua.LState
	known    *lua.LTable                   // the globals
	globals  *lua.LTable                   // shows known to scripts
	programs map[string]*lua.FunctionProto // by body
	bodies   map[string]string             // by SHA-1
	calls    *mini.Peer                    // miniredis's client for the commands of scripts
	reply    bytes.Buffer
	limit    time.Duration // of one script; 0 is for ever
	most     memory

	// The running script.
	sha, db    string
	readOnly   bool
	made       int   // bytes of texts since the last look at the memory
	heldBefore int64 // bytes in use before the script; 0 if not known yet
}

// absent are globals of Redis's scripts that this server lacks.
var absent = []string{"bit", "cjson", "cmsgpack", "collectgarbage", "coroutine", "gcinfo", "load", "loadstring", "rawset"}

// unknown are globals of gopher-lua that Redis's scripts lack.
var unknown = []string{"_printregs", "dofile", "getfenv", "loadfile", "module", "newproxy", "print", "require", "setfenv"}

func newMachine(e *Server, limit time.Duration) *machine {
	l := lua.NewState(lua.Options{SkipOpenLibs: true, RegistryMaxSize: mostRegisters, RegistryGrowStep: 1 << 14, CallStackSize: mostCalls, MinimizeStackMemory: true})
	m := &machine{server: e, state: l, known: l.G.Global, limit: limit, most: scriptMemory, programs: map[string]*lua.FunctionProto{}, bodies: map[string]string{}}
	m.calls = mini.NewPeer(bufio.NewWriterSize(&m.reply, 512))
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	for _, name := range slices.Concat(absent, unknown) {
		m.known.RawSetString(name, lua.LNil)
	}
	text := m.known.RawGetString("string").(*lua.LTable)
	m.override(m.known, "tonumber", luaToNumber)
	m.override(m.known, "tostring", luaToString)
	m.override(m.known, "pcall", luaPCall)
	m.override(text, "rep", m.luaRep)
	m.override(text, "format", luaFormat)
	m.known.RawSetString(concat, l.NewFunction(m.concat))
	m.known.RawGetString("math").(*lua.LTable).RawSetString("huge", lua.LNumber(math.Inf(1)))
	redis := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call": m.call, "pcall": m.pcall, "acl_check_cmd": m.mayRun, "log": func(*lua.LState) int { return 0 },
		"sha1hex":      func(l *lua.LState) int { l.Push(lua.LString(sha1Hex(l.CheckString(1)))); return 1 },
		"error_reply":  func(l *lua.LState) int { l.Push(replyTable(l, "err", l.CheckString(1))); return 1 },
		"status_reply": func(l *lua.LState) int { l.Push(replyTable(l, "ok", l.CheckString(1))); return 1 },
	})
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(name, lua.LNumber(level))
	}
	redis.RawSetString("REDIS_VERSION", lua.LString(emulatedVersion))
	redis.RawSetString("REDIS_VERSION_NUM", lua.LNumber(emulatedVersionNumber))
	m.known.RawSetString("redis", redis)
	m.known.RawSetString("struct", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"pack": structPack, "unpack": structUnpack}))

	for _, library := range []string{"math", "redis", "string", "struct", "table"} {
		t := m.known.RawGetString(library).(*lua.LTable)
		t.Metatable = m.missing(func(name string) string { return "the embedded server has no " + library + "." + name })
		m.known.RawSetString(library, m.shown(t))
	}
	l.GetMetatable(lua.LString("")).(*lua.LTable).RawSetString("__metatable", lua.LFalse)
	m.known.Metatable = m.missing(func(name string) string {
		if slices.Contains(absent, name) {
			return "the embedded server has no " + name
		}
		return "Script attempted to access nonexistent global variable '" + name + "'"
	})
	m.globals = m.shown(m.known)
	m.known.RawSetString("_G", m.globals)
	return m
}

// override puts f in the place of a library's function. f may call the original.
func (m *machine) override(library *lua.LTable, name string, f func(l *lua.LState, original *lua.LFunction) int) {
	original := library.RawGetString(name).(*lua.LFunction)
	library.RawSetString(name, m.state.NewFunction(func(l *lua.LState) int { return f(l, original) }))
}

// memory bounds the texts of a script, in bytes: one text, all texts at once, and new texts between two looks.
type memory struct{ text, held, look int }

var scriptMemory = memory{text: 256 << 20, held: 512 << 20, look: 64 << 20}

// grow counts a new text of n bytes, and ends a script that holds too much.
func (m *machine) grow(l *lua.LState, n int) {
	m.made += n
	switch {
	case n > m.most.text:
		l.RaiseError("the embedded server makes no text of more than %d bytes", m.most.text)
	case m.made > m.most.look:
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		held := int64(now.HeapAlloc)
		if m.heldBefore == 0 {
			m.heldBefore = held - int64(m.made)
		}
		if m.made = n; held-m.heldBefore+int64(n) > int64(m.most.held) {
			l.RaiseError("the embedded server has no more than %d bytes for the texts of a script", m.most.held)
		}
	}
}

func (m *machine) luaRep(l *lua.LState, rep *lua.LFunction) int {
	if n, times := len(l.CheckString(1)), l.CheckInt(2); n > 0 && times > 0 {
		m.grow(l, n*min(times, m.most.text/n+1))
	}
	return rep.GFunction(l)
}

// concat is the name of the function for the operator. No script can write the name.
const concat = ".."

// concat joins two values as Lua 5.1 does.
func (m *machine) concat(l *lua.LState) int {
	var texts [2]lua.LString
	for i := range texts {
		v := plainText(l.Get(i + 1))
		var ok bool
		if texts[i], ok = v.(lua.LString); !ok {
			l.RaiseError("attempt to concatenate a %s value", v.Type())
		}
	}
	m.grow(l, len(texts[0])+len(texts[1]))
	l.Push(texts[0] + texts[1])
	return 1
}

// plainText returns the text of a number by C's %.14g, as Lua 5.1 does, and any other value as it is.
func plainText(v lua.LValue) lua.LValue {
	if n, ok := v.(lua.LNumber); ok {
		return lua.LString(formatted(float64(n), 14))
	}
	return v
}

// luaToString is tostring of Lua 5.1.
func luaToString(l *lua.LState, tostring *lua.LFunction) int {
	if _, ok := l.CheckAny(1).(lua.LNumber); !ok {
		return luaCall(l, tostring)
	}
	l.Push(plainText(l.Get(1)))
	return 1
}

// mayRun is redis.acl_check_cmd: every user may run every command.
func (m *machine) mayRun(l *lua.LState) int {
	if !m.server.srv.IsRegisteredCommand(strings.ToUpper(l.CheckString(1))) {
		l.Error(replyTable(l, "err", "ERR Invalid command passed to redis.acl_check_cmd()"), 1)
	}
	l.Push(lua.LTrue)
	return 1
}

// directive finds the directives of string.format.
var directive = regexp.MustCompile(`%(?:%|[-+ #0]*\d*(?:\.\d*)?[a-zA-Z])`)

// longWidth finds a width or a precision of more than two digits, which Lua refuses too.
var longWidth = regexp.MustCompile(`%[-+ #0]*(\d{3}|\d*\.\d{3})`)

// luaFormat is string.format of Lua 5.1. Go writes numbers as text, and negative numbers without a sign, in another way.
func luaFormat(l *lua.LState, original *lua.LFunction) int {
	format := l.CheckString(1)
	if longWidth.MatchString(format) {
		l.RaiseError("invalid format (width or precision too long)")
	}
	at := 1
	format = directive.ReplaceAllStringFunc(format, func(d string) string {
		if d == "%%" {
			return d
		}
		at++
		n, ok := l.Get(at).(lua.LNumber)
		switch verb := d[len(d)-1]; {
		case !ok:
		case verb == 's':
			l.Replace(at, plainText(n))
		case strings.IndexByte("xXou", verb) >= 0 && n < 0:
			text := fmt.Sprintf(strings.Replace(d, "u", "d", 1), uint64(int64(n)))
			l.Replace(at, lua.LString(text))
			return "%s"
		}
		return d
	})
	l.Replace(1, lua.LString(format))
	return original.GFunction(l)
}

// missing returns a metatable that refuses each name that a table lacks.
func (m *machine) missing(text func(name string) string) *lua.LTable {
	return m.state.SetFuncs(m.state.NewTable(), map[string]lua.LGFunction{"__index": func(l *lua.LState) int {
		l.RaiseError("%s", text(l.ToStringMeta(l.Get(2)).String()))
		return 0
	}})
}

// shown returns a read-only view of t.
func (m *machine) shown(t *lua.LTable) *lua.LTable {
	meta := m.state.SetFuncs(m.state.NewTable(), map[string]lua.LGFunction{"__newindex": func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}})
	meta.RawSetString("__index", t)
	meta.RawSetString("__metatable", lua.LFalse)
	shown := m.state.NewTable()
	shown.Metatable = meta
	return shown
}

// compiled has the programs of all servers of this process by their text.
var compiled sync.Map

// compile returns the program for a body, with the text that a hook puts in its place.
func (m *machine) compile(body string) (*lua.FunctionProto, error) {
	if p := m.programs[body]; p != nil {
		return p, nil
	}
	text := body
	if m.server.hooks.Script != nil {
		text = m.server.hooks.Script(body)
	}
	p, known := compiled.Load(text)
	if !known {
		parsed, err := parse.Parse(strings.NewReader(text), chunk)
		if err != nil {
			return nil, err
		}
		rewrite(reflect.ValueOf(parsed))
		if p, err = lua.Compile(parsed, chunk); err != nil {
			return nil, err
		}
		compiled.Store(text, p)
	}
	m.programs[body] = p.(*lua.FunctionProto)
	return m.programs[body], nil
}

// rewrite puts calls in the place of two things that differ from Lua 5.1. A numeric for accepts a string as a limit (Redisson's scripts pass
// ARGV), which tonumber reads. The operator .. becomes the function concat.
func rewrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		rewrite(v.Elem())
		if join, ok := v.Interface().(*ast.StringConcatOpExpr); ok {
			v.Set(reflect.ValueOf(callOf(concat, join.Line(), join.Lhs, join.Rhs)))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		rewrite(v.Elem())
		if loop, ok := v.Interface().(*ast.NumberForStmt); ok {
			for _, limit := range []*ast.Expr{&loop.Init, &loop.Limit, &loop.Step} {
				if _, is := (*limit).(*ast.NumberExpr); *limit != nil && !is {
					*limit = callOf("tonumber", loop.Line(), *limit)
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewrite(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				rewrite(v.Field(i))
			}
		}
	}
}

func callOf(name string, line int, args ...ast.Expr) *ast.FuncCallExpr {
	call := &ast.FuncCallExpr{Func: &ast.IdentExpr{Value: name}, Args: args, AdjustRet: true}
	call.SetLine(line)
	call.Func.SetLine(line)
	return call
}

// run runs a program and writes its result to p.
func (m *machine) run(p *mini.Peer, program *lua.FunctionProto, keys, args []string) (err error) {
	l := m.state
	m.calls.Ctx = nil // database 0, no watched key
	m.made, m.heldBefore = 0, 0
	if m.db != "0" {
		m.dispatch([]string{"SELECT", m.db})
	}
	m.known.RawSetString("KEYS", list(l, keys))
	m.known.RawSetString("ARGV", list(l, args))
	if m.limit > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), m.limit)
		defer cancel()
		l.SetContext(ctx)
		defer l.RemoveContext()
		defer func() {
			if err != nil && ctx.Err() != nil {
				err = fmt.Errorf("the embedded server ended the script after %s", m.limit)
			}
		}()
	}
	defer l.SetTop(0)
	f := l.NewFunctionFromProto(program)
	f.Env = m.globals
	l.Push(f)
	if err := l.PCall(0, 1, nil); err != nil {
		return err
	}
	writeLua(p, l.Get(-1), 0)
	return nil
}

// dispatch has miniredis run a command; the reply is valid until the next call.
func (m *machine) dispatch(args []string) []byte {
	m.reply.Reset()
	m.server.dispatch(m.calls, args...)
	return corrected(args, m.reply.Bytes())
}

// call is redis.call, which raises an error reply; pcall is redis.pcall, which returns it.
func (m *machine) call(l *lua.LState) int {
	reply := m.command(l)
	if t, ok := reply.(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
		l.Error(t, 1)
	}
	l.Push(reply)
	return 1
}

func (m *machine) pcall(l *lua.LState) int { l.Push(m.command(l)); return 1 }

// command runs the command on the stack.
func (m *machine) command(l *lua.LState) lua.LValue {
	args := make([]string, l.GetTop())
	for i := range args {
		switch v := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = numberText(float64(v))
		default:
			return replyTable(l, "err", "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	reply, refused := m.server.scriptCall(m, args)
	if refused != "" {
		return replyTable(l, "err", refused)
	}
	v, _ := readLua(l, reply)
	return v
}

// luaToNumber is tonumber of Lua 5.1, which reads a string as C's strtod does; gopher-lua reads "1e3" as nil.
func luaToNumber(l *lua.LState, tonumber *lua.LFunction) int {
	s, ok := l.CheckAny(1).(lua.LString)
	if !ok || l.GetTop() > 1 {
		return luaCall(l, tonumber)
	}
	text := strings.Trim(string(s), " \t\n\v\f\r")
	if digits := strings.ToLower(strings.TrimLeft(text, "+-")); strings.HasPrefix(digits, "0x") && !strings.Contains(digits, "p") {
		text += "p0" // Go's hexadecimal numbers need an exponent
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(n))
	return 1
}

// luaPCall is pcall, which returns the text of an error raised by redis.call, as Redis's pcall does.
func luaPCall(l *lua.LState, pcall *lua.LFunction) int {
	n := luaCall(l, pcall)
	if raised, ok := l.Get(2).(*lua.LTable); ok && l.Get(1) == lua.LFalse {
		if text := raised.RawGetString("err"); text != lua.LNil {
			l.Replace(2, text)
		}
	}
	return n
}

// luaCall calls f with the arguments on the stack, and leaves its results there.
func luaCall(l *lua.LState, f *lua.LFunction) int {
	l.Insert(f, 1)
	l.Call(l.GetTop()-1, lua.MultRet)
	return l.GetTop()
}

// numberText returns a number as Redis writes scores and numeric arguments of scripts.
func numberText(n float64) string { return formatted(n, 17) }

// formatted returns C's %g with so many digits.
func formatted(n float64, digits int) string {
	switch {
	case math.IsNaN(n) && math.Signbit(n):
		return "-nan"
	case math.IsNaN(n):
		return "nan"
	case math.IsInf(n, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(n, 'g', -1, 64), "+"))
	}
	return strconv.FormatFloat(n, 'g', digits, 64)
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
func writeLua(p *mini.Peer, v lua.LValue, depth int) {
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
