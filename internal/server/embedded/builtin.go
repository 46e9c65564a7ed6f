package embedded

import (
	"errors"
	"math"
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
	var read float64
	var err error
	if base == 10 {
		read, err = readNumber(string(text))
	} else {
		read, err = readWhole(numberWithin(string(text)), base)
	}
	if err != nil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(read))
	return 1
}

// numberWithin is what of a text may be a number: what stands between blanks, up to a byte 0.
func numberWithin(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return strings.Trim(text, " \t\n\v\f\r")
}

// readNumber reads a number as C's strtod does.
func readNumber(text string) (float64, error) {
	s := numberWithin(text)
	digits := strings.TrimLeft(s, "+-")
	hex := strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X")
	switch {
	case strings.ContainsRune(s, '_'):
		return 0, strconv.ErrSyntax
	case hex && !strings.ContainsAny(s, "pP"):
		s += "p0"
	}
	read, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return read, err
}

// readWhole reads a whole number as C's strtoul does, for which a negative one is a great one.
func readWhole(s string, base int) (float64, error) {
	digits := strings.TrimPrefix(s, "-")
	negative := digits != s
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	if base == 16 && (strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X")) {
		digits = digits[2:]
	}
	whole, err := strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxUint64, nil
	}
	if negative {
		whole = -whole
	}
	return float64(whole), err
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

// luaChar is string.char, luaUpper string.upper and luaLower string.lower: a character is a byte.
func luaChar(l *lua.LState) int {
	text := make([]byte, l.GetTop())
	for i := range text {
		c := l.CheckInt(i + 1)
		if c < 0 || c > math.MaxUint8 {
			l.ArgError(i+1, "invalid value")
		}
		text[i] = byte(c)
	}
	l.Push(lua.LString(text))
	return 1
}

func luaUpper(l *lua.LState) int { return luaBytes(l, 'a', 'z', 'A') }
func luaLower(l *lua.LState) int { return luaBytes(l, 'A', 'Z', 'a') }

// luaBytes has the bytes from first to last begin with to.
func luaBytes(l *lua.LState, first, last, to byte) int {
	text := []byte(l.CheckString(1))
	for i, c := range text {
		if first <= c && c <= last {
			text[i] = c - first + to
		}
	}
	l.Push(lua.LString(text))
	return 1
}

// luaConcat is table.concat, which has 14 digits of a number.
func luaConcat(l *lua.LState) int {
	t, between := l.CheckTable(1), l.OptString(2, "")
	from, to := l.OptInt(3, 1), l.OptInt(4, t.Len())
	var text strings.Builder
	for i := from; i <= to; i++ {
		switch v := l.RawGetInt(t, i).(type) {
		case lua.LString:
			text.WriteString(string(v))
		case lua.LNumber:
			text.WriteString(numberTextOf(float64(v), 14))
		default:
			l.RaiseError("invalid value (%s) at index %d in table for 'concat'", v.Type(), i)
		}
		if i < to {
			text.WriteString(between)
		}
		if text.Len() > longestText {
			l.RaiseError("not enough memory")
		}
	}
	l.Push(lua.LString(text.String()))
	return 1
}

// luaForNumber is what a for statement makes of its initial value, its limit or its step, as the second argument says.
func luaForNumber(l *lua.LState) int {
	switch v := l.Get(1).(type) {
	case lua.LNumber:
		l.Push(v)
		return 1
	case lua.LString:
		if n, err := readNumber(string(v)); err == nil {
			l.Push(lua.LNumber(n))
			return 1
		}
	}
	l.RaiseError("'for' %s must be a number", l.CheckString(2))
	return 0
}

// mostNested is how many tables in each other cjson.encode takes.
const mostNested = 1000

// luaEncode is cjson.encode.
func luaEncode(l *lua.LState, encode *lua.LFunction) int {
	var check func(v lua.LValue, depth int)
	check = func(v lua.LValue, depth int) {
		t, ok := v.(*lua.LTable)
		if !ok {
			return
		}
		if depth > mostNested {
			l.RaiseError("Cannot serialise, excessive nesting (%d)", depth)
		}
		t.ForEach(func(_, v lua.LValue) { check(v, depth+1) })
	}
	check(l.Get(1), 1)
	return luaCall(l, encode)
}

// luaLog is redis.log, which writes nowhere.
func luaLog(l *lua.LState) int {
	if l.GetTop() < 2 {
		l.Error(lua.LString("redis.log() requires two arguments or more."), 0)
	}
	if level, isNumber := l.Get(1).(lua.LNumber); !isNumber || int(level) < 0 || int(level) > 3 {
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
	text := lua.LVAsString(l.Get(1))
	if n, isNumber := l.Get(1).(lua.LNumber); isNumber {
		text = numberTextOf(float64(n), 14)
	}
	l.Push(lua.LString(sha1Hex(text)))
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
