package embedded

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	mini "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// This file turns replies into Lua values, and Lua values into replies, as Redis does.

// numberText is %.17g of C, by which Redis makes an argument of a number.
func numberText(n float64) string { return numberTextOf(n, 17) }

func numberTextOf(n float64, digits int) string {
	switch {
	case math.IsInf(n, 1):
		return "inf"
	case math.IsInf(n, -1):
		return "-inf"
	case math.IsNaN(n):
		if math.Signbit(n) {
			return "-nan"
		}
		return "nan"
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
