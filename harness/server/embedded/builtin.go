package embedded

import (
	"errors"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file is the functions of Lua and of the library redis that differ from those of this Lua machine, and those of the library struct as it calls them.

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

// luaRep is string.rep, which does not make what no memory holds: Go ends the process there.
func luaRep(l *lua.LState) int {
	s, n := l.CheckString(1), l.CheckInt(2)
	if n > 0 && len(s) > longestText/n {
		l.RaiseError("not enough memory")
	}
	l.Push(lua.LString(strings.Repeat(s, max(n, 0))))
	return 1
}

// luaLog is redis.log, which writes nowhere.
func luaLog(l *lua.LState) int {
	if l.GetTop() < 2 {
		l.Error(lua.LString("redis.log() requires two arguments or more."), 0)
	}
	if level, isNumber := l.Get(1).(lua.LNumber); !isNumber || level < 0 || level > 3 {
		l.Error(lua.LString("Invalid debug level."), 0)
	}
	return 0
}

// luaErrorReply is redis.error_reply, which gives a text without a code the code ERR.
func luaErrorReply(l *lua.LState) int {
	l.Push(replyTable(l, func(text string) *lua.LTable {
		if code, isCode := strings.CutPrefix(text, "-"); isCode {
			return errorTable(l, code)
		}
		if !strings.Contains(text, " ") {
			text = "ERR " + text
		}
		return errorTable(l, text)
	}))
	return 1
}

// luaStatusReply is redis.status_reply.
func luaStatusReply(l *lua.LState) int {
	l.Push(replyTable(l, func(text string) *lua.LTable { return statusTable(l, text) }))
	return 1
}

// replyTable is the reply that of makes of the only argument, a text.
func replyTable(l *lua.LState, of func(text string) *lua.LTable) *lua.LTable {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		return errorTable(l, "ERR wrong number or type of arguments")
	}
	return of(string(text))
}

func luaSHA1(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.Error(lua.LString("wrong number of arguments"), 0)
	}
	l.Push(lua.LString(sha1Hex(lua.LVAsString(l.Get(1)))))
	return 1
}

func luaSetRESP(l *lua.LState) int {
	if v := l.CheckInt(1); v != 2 && v != 3 {
		l.Error(lua.LString("RESP version must be 2 or 3."), 0)
	}
	return 0
}

func luaNothing(*lua.LState) int { return 0 }

func luaTrue(l *lua.LState) int {
	l.Push(lua.LTrue)
	return 1
}

func luaArgs(l *lua.LState) []luaValue {
	values := make([]luaValue, l.GetTop())
	for i := range values {
		switch v := l.Get(i + 1).(type) {
		case lua.LNumber:
			values[i] = luaValue{kind: 'n', n: float64(v), s: v.String()}
		case lua.LString:
			values[i] = luaValue{kind: 's', s: string(v)}
		default:
			values[i] = luaValue{kind: '-', s: v.Type().String()}
		}
	}
	return values
}

func luaPack(l *lua.LState) int {
	packed, err := structPack(luaArgs(l))
	if err != nil {
		l.RaiseError("%s", err)
	}
	l.Push(lua.LString(packed))
	return 1
}

func luaUnpack(l *lua.LState) int {
	values, err := structUnpack(luaArgs(l))
	if err != nil {
		l.RaiseError("%s", err)
	}
	for _, v := range values {
		if v.kind == 'n' {
			l.Push(lua.LNumber(v.n))
		} else {
			l.Push(lua.LString(v.s))
		}
	}
	return len(values)
}

func luaSize(l *lua.LState) int {
	n, err := structSize(luaArgs(l))
	if err != nil {
		l.RaiseError("%s", err)
	}
	l.Push(lua.LNumber(n))
	return 1
}
