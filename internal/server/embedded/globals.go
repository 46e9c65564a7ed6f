package embedded

import (
	"bufio"
	"math"
	"strings"
	"time"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	mini "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

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
	for _, name := range []string{"dofile", "loadfile", "print", "require", "module", "getfenv", "setfenv", "_printregs", "newproxy"} {
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
	cjson := m.raising(l.Get(-1).(*lua.LTable))
	l.Pop(1)
	encode := cjson.RawGetString("encode").(*lua.LFunction)
	cjson.RawSetString("encode", l.NewFunction(func(l *lua.LState) int { return luaEncode(l, encode) }))
	known.RawSetString("cjson", cjson)
	known.RawSetString("struct", m.library(map[string]lua.LGFunction{"pack": luaPack, "unpack": luaUnpack, "size": luaSize}))
	for name, functions := range map[string]map[string]lua.LGFunction{
		"string": {"rep": luaRep, "char": luaChar, "upper": luaUpper, "lower": luaLower}, "table": {"concat": luaConcat},
	} {
		for function, f := range functions {
			known.RawGetString(name).(*lua.LTable).RawSetString(function, l.NewFunction(f))
		}
	}
	for name, functions := range map[string][]string{"table": {"insert"}, "coroutine": {"create", "wrap"}} {
		for _, function := range functions {
			library := known.RawGetString(name).(*lua.LTable)
			f, before := library.RawGetString(function).(*lua.LFunction), m.checkWritable
			if name == "coroutine" {
				before = m.countCoroutine
			}
			library.RawSetString(function, l.NewFunction(func(l *lua.LState) int {
				before(l)
				return luaCall(l, f)
			}))
		}
	}
	known.RawSetString(forNumber, l.NewFunction(luaForNumber))
	known.RawSetString("loadstring", l.NewFunction(m.loadString))
	known.RawSetString("load", l.NewFunction(m.load))
	known.RawGetString("math").(*lua.LTable).RawSetString("huge", lua.LNumber(math.Inf(1)))
	redis := m.library(map[string]lua.LGFunction{
		"call": m.call, "pcall": m.pcall, "error_reply": luaErrorReply, "status_reply": luaStatusReply, "sha1hex": luaSHA1,
		"log": luaLog, "replicate_commands": luaTrue, "set_repl": luaNothing, "setresp": luaSetRESP,
	})
	for name, n := range map[string]int{"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3, "REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3} {
		redis.RawSetString(name, lua.LNumber(n))
	}
	redis.RawSetString("REDIS_VERSION", lua.LString(emulatedVersion))
	redis.RawSetString("REDIS_VERSION_NUM", lua.LNumber(emulatedVersionNumber))
	known.RawSetString("redis", redis)

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
	m.globals = m.readOnly(known)
	known.RawSetString("_G", m.globals)
	texts := l.GetMetatable(lua.LString("")).(*lua.LTable)
	texts.RawSetString("__metatable", lua.LFalse)
	known.Metatable = m.library(nil)
	known.Metatable.(*lua.LTable).RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.ToStringMeta(l.Get(2)).String())
		return 0
	}))
	m.known = known
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
	m.checkWritable(l)
	return luaCall(l, rawset)
}

// checkWritable raises an error where the first argument is such a table.
func (m *machine) checkWritable(l *lua.LState) {
	if guard, ok := l.CheckTable(1).Metatable.(*lua.LTable); ok && guard.RawGetString("__newindex") == m.refuse {
		l.Error(lua.LString("Attempt to modify a readonly table"), 0)
	}
}

// countCoroutine raises an error where a script has made too many.
func (m *machine) countCoroutine(l *lua.LState) {
	if m.made++; m.made > mostCoroutines {
		l.RaiseError("too many coroutines: the embedded server has %d for a script", mostCoroutines)
	}
}

// luaCall is what f returns of the arguments.
func luaCall(l *lua.LState, f *lua.LFunction) int {
	l.Insert(f, 1)
	l.Call(l.GetTop()-1, lua.MultRet)
	return l.GetTop()
}

// loadString is loadstring, of what knows the globals that scripts know.
func (m *machine) loadString(l *lua.LState) int { return m.loaded(l, l.CheckString(1)) }

// load is load, which is given the text in parts.
func (m *machine) load(l *lua.LState) int {
	f := l.CheckFunction(1)
	var text strings.Builder
	for text.Len() <= longestScript {
		l.Push(f)
		l.Call(0, 1)
		part := l.Get(-1)
		l.Pop(1)
		s, isText := part.(lua.LString)
		if part != lua.LNil && !isText {
			l.Push(lua.LNil)
			l.Push(lua.LString("reader function must return a string"))
			return 2
		}
		if s == "" {
			break
		}
		text.WriteString(string(s))
	}
	return m.loaded(l, text.String())
}

func (m *machine) loaded(l *lua.LState, text string) int {
	program, err := compile(text)
	if err != nil {
		l.Push(lua.LNil)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	f := l.NewFunctionFromProto(program)
	f.Env = m.globals
	l.Push(f)
	return 1
}

// raising has the functions of a library raise what they return as nil and a text.
func (m *machine) raising(t *lua.LTable) *lua.LTable {
	t.ForEach(func(name, v lua.LValue) {
		f, ok := v.(*lua.LFunction)
		if !ok {
			return
		}
		t.RawSet(name, m.state.NewFunction(func(l *lua.LState) int {
			returned := luaCall(l, f)
			if text, failed := l.Get(2).(lua.LString); failed && l.Get(1) == lua.LNil {
				l.RaiseError("%s", string(text))
			}
			return returned
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
