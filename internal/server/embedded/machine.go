package embedded

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
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
	// mostCoroutines is how many coroutines a script may make, each with registers of its own.
	mostCoroutines = 1000
	// longestScript bounds the text of a script, whose depth the parser does not.
	longestScript = 512 << 10
	// longestText is what string.rep may make, as many bytes as a value of Redis.
	longestText = 512 << 20
	// databases is how many there are, as in Redis without a configuration.
	databases = 16
)

// machine is the Lua machine of a server. As in Redis there is one, and all scripts run in it one after the other, with
// globals that none of them can set. That of miniredis is made anew for each script, which takes longer than most scripts.
type machine struct {
	server  *Server
	state   *lua.LState
	known   *lua.LTable // what scripts know, and the keys and arguments of the one that runs
	globals *lua.LTable // shows it to them, and refuses to be written
	refuse  *lua.LFunction
	calls   *mini.Peer // who calls what the running script calls
	reply   bytes.Buffer
	made    int // coroutines of the running script
	// limit is how long a script may run, which is looked at between two instructions; 0 for as long as it likes.
	limit time.Duration
}

// programs are those that were compiled in this process, by their text: servers come and go, and scripts stay.
var programs sync.Map

// compile returns what runs for a script's text.
func compile(text string) (*lua.FunctionProto, error) {
	if p, known := programs.Load(text); known {
		return p.(*lua.FunctionProto), nil
	}
	if len(text) > longestScript {
		return nil, fmt.Errorf("a script of %d bytes: the embedded server takes %d at most", len(text), longestScript)
	}
	parsed, err := parse.Parse(strings.NewReader(text), chunk)
	if err != nil {
		return nil, err
	}
	readNumbers(reflect.ValueOf(parsed))
	p, err := lua.Compile(parsed, chunk)
	if err != nil {
		return nil, err
	}
	programs.Store(text, p)
	return p, nil
}

// forNumber is the name by which a script calls luaForNumber, and which it cannot write.
const forNumber = "for number"

// readNumbers has each for statement of a program take a text for a number, as that of Lua 5.1 does.
func readNumbers(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if loop, ok := v.Interface().(*ast.NumberForStmt); ok {
			for what, number := range map[string]*ast.Expr{"initial value": &loop.Init, "limit": &loop.Limit, "step": &loop.Step} {
				if _, is := (*number).(*ast.NumberExpr); *number == nil || is {
					continue
				}
				call := &ast.FuncCallExpr{Func: &ast.IdentExpr{Value: forNumber}, Args: []ast.Expr{*number, &ast.StringExpr{Value: what}}, AdjustRet: true}
				for _, e := range append(call.Args[1:], call.Func, call) {
					e.SetLine(loop.Line())
				}
				*number = call
			}
		}
		readNumbers(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			readNumbers(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				readNumbers(v.Field(i))
			}
		}
	}
}

// run runs a program with the database, the keys and the arguments of a call, and writes what it returns to p.
func (m *machine) run(p *mini.Peer, program *lua.FunctionProto, db string, keys, args []string) (err error) {
	l := m.state
	m.calls.Ctx = nil // no database is chosen, and no key is watched
	if db != "0" {
		m.dispatch([]string{"SELECT", db})
	}
	m.known.RawSetString("KEYS", m.list(keys))
	m.known.RawSetString("ARGV", m.list(args))
	f := l.NewFunctionFromProto(program)
	f.Env = m.globals
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
	m.made = 0
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
