package embedded

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// eval answers EVAL, EVALSHA and their _RO forms.
func (m *machine) eval(c *client, name string, args []string) {
	keys, err := strconv.Atoi(args[2])
	if err != nil || keys < 0 || keys > len(args)-3 {
		c.peer.WriteError("ERR Number of keys can't be greater than number of args")
		return
	}
	body := args[1]
	if strings.HasPrefix(name, "evalsha") {
		var known bool
		if body, known = m.bodies[strings.ToLower(args[1])]; !known {
			c.peer.WriteError("NOSCRIPT No matching script. Please use EVAL.")
			return
		}
	}
	program, err := m.compile(body)
	if err != nil {
		c.peer.WriteError(err.Error())
		return
	}
	m.body, m.readOnly = body, strings.HasSuffix(name, "_ro")
	m.client.db, m.client.peer.Ctx = c.db, nil // no watched key
	if c.db != "0" {
		m.server.srv.Dispatch(m.client.peer.Peer, []string{"SELECT", c.db})
	}
	l := m.state
	m.globals.RawSetString("KEYS", list(l, args[3:3+keys]))
	m.globals.RawSetString("ARGV", list(l, args[3+keys:]))
	if m.limit > 0 {
		ctx, end := context.WithTimeout(context.Background(), m.limit)
		defer end()
		l.SetContext(ctx)
		defer l.RemoveContext()
	}
	defer l.SetTop(0)
	l.Push(l.NewFunctionFromProto(program))
	if err := l.PCall(0, 1, nil); err != nil {
		c.peer.WriteError(m.explain(err))
		return
	}
	writeLua(c.peer, l.Get(-1), 0)
}

// stackPlace finds the innermost line of the script in a stack.
var stackPlace = regexp.MustCompile(`\t` + chunk + `:(\d+): `)

// badArgument finds a library function that this Lua names without quotes.
var badArgument = regexp.MustCompile(`(bad argument #\d+ to )(\w+) \(`)

// explain words the error of a script as Redis 7 does; the errors of Lua itself keep this Lua's words.
func (m *machine) explain(err error) string {
	text, line := "ERR "+err.Error(), "1"
	var raised *lua.ApiError
	if errors.As(err, &raised) {
		if at := stackPlace.FindStringSubmatch(raised.StackTrace); at != nil {
			line = at[1]
		}
		text = "ERR " + badArgument.ReplaceAllString(raised.Object.String(), "$1'$2' (")
		if t, ok := raised.Object.(*lua.LTable); ok {
			text = "ERR unknown error"
			if said := t.RawGetString("err"); said != lua.LNil {
				text = said.String()
			}
		}
	}
	if ctx := m.state.Context(); ctx != nil && ctx.Err() != nil {
		text = fmt.Sprintf("ERR the embedded server ended the script after %s", m.limit)
	}
	return oneLineText.Replace(fmt.Sprintf("%s script: %s, on @%s:%s.", text, sha1Hex(m.body), chunk, line))
}

// script answers SCRIPT LOAD, EXISTS and FLUSH.
func (m *machine) script(c *client, name string, args []string) {
	switch name {
	case "script|load":
		if _, err := m.compile(args[2]); err != nil {
			c.peer.WriteError(err.Error())
			return
		}
		c.peer.WriteBulk(sha1Hex(args[2]))
	case "script|exists":
		c.peer.WriteLen(len(args) - 2)
		for _, sha := range args[2:] {
			_, known := m.bodies[strings.ToLower(sha)]
			c.peer.WriteInt(map[bool]int{true: 1}[known])
		}
	default:
		clear(m.bodies)
		m.server.srv.Dispatch(c.peer.Peer, args)
	}
}

func sha1Hex(s string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) }

// sizes has the supported options of Redis's Lua library struct, in little-endian order: unsigned integers, a double, and c0, a string
// whose length is the value before it.
var sizes = map[string]int{"B": 1, "I4": 4, "L": 8, "d": 8, "c0": 0}

var option = regexp.MustCompile(`[A-Za-z]\d*|[^A-Za-z]`)

func parseFormat(l *lua.LState) (options []string) {
	for _, o := range option.FindAllString(l.CheckString(1), -1) {
		if _, known := sizes[o]; known {
			options = append(options, o)
		} else if o != "<" { // the default
			l.RaiseError("the embedded server has no struct option '%s'", o)
		}
	}
	return options
}

// structPack is struct.pack(format, value…).
func structPack(l *lua.LState) int {
	var out []byte
	for i, o := range parseFormat(l) {
		if o == "c0" {
			out = append(out, l.CheckString(i+2)...)
			continue
		}
		n := float64(l.CheckNumber(i + 2))
		bits := uint64(int64(n))
		switch {
		case o == "d":
			bits = math.Float64bits(n)
		case n >= 1<<63:
			bits = uint64(n)
		}
		out = append(out, binary.LittleEndian.AppendUint64(nil, bits)[:sizes[o]]...)
	}
	l.Push(lua.LString(out))
	return 1
}

// structUnpack is struct.unpack(format, data[, position]): the values, then the position after them.
func structUnpack(l *lua.LState) int {
	options := parseFormat(l)
	data, at := l.CheckString(2), l.OptInt(3, 1)-1
	if at < 0 {
		l.RaiseError("bad argument #3 to 'unpack' (offset must be 1 or greater)")
	}
	var values []lua.LValue
	for _, o := range options {
		size := sizes[o]
		if o == "c0" {
			last := len(values) - 1
			if last < 0 || values[last].Type() != lua.LTNumber {
				l.RaiseError("format 'c0' needs a previous size")
			}
			size, values = int(min(max(values[last].(lua.LNumber), -1), math.MaxInt32)), values[:last]
		}
		if size < 0 || at > len(data) || size > len(data)-at {
			l.RaiseError("bad argument #2 to 'unpack' (data string too short)")
		}
		field := data[at : at+size]
		at += size
		bits := binary.LittleEndian.Uint64(append([]byte(field[:min(size, 8)]), make([]byte, 8-min(size, 8))...))
		switch o {
		case "c0":
			values = append(values, lua.LString(field))
		case "d":
			values = append(values, lua.LNumber(math.Float64frombits(bits)))
		default:
			values = append(values, lua.LNumber(bits))
		}
	}
	for _, v := range append(values, lua.LNumber(at+1)) {
		l.Push(v)
	}
	return len(values) + 1
}
