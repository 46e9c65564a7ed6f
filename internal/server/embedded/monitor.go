package embedded

import (
	"fmt"
	"strings"
	"time"
)

// feed shows a client's command to the monitors, with the secrets and the
// exceptions of Redis 7.
func (e *Server) feed(at time.Time, c *client, args []string) {
	if len(e.monitors) == 0 || isAdmin(args) {
		return
	}
	e.show(at, c.db+" "+c.addr, redactArgs(args))
}

// feedLua shows a command that the running script calls.
func (e *Server) feedLua(args []string) {
	if len(e.monitors) > 0 {
		e.show(time.Now(), e.running.db+" lua", args)
	}
}

func (e *Server) show(at time.Time, who string, args []string) {
	line := fmt.Appendf(nil, "+%d.%06d [%s]", at.Unix(), at.Nanosecond()/1000, who)
	for _, a := range args {
		line = appendRepr(append(line, ' '), a)
	}
	line = append(line, "\r\n"...)
	for m := range e.monitors {
		m.send(line)
	}
}

// appendRepr quotes s as Redis's sdscatrepr does.
func appendRepr(to []byte, s string) []byte {
	to = append(to, '"')
	for i := range len(s) {
		switch b := s[i]; b {
		case '\\', '"':
			to = append(to, '\\', b)
		case '\n':
			to = append(to, `\n`...)
		case '\r':
			to = append(to, `\r`...)
		case '\t':
			to = append(to, `\t`...)
		case '\a':
			to = append(to, `\a`...)
		case '\b':
			to = append(to, `\b`...)
		default:
			if b >= ' ' && b <= '~' {
				to = append(to, b)
			} else {
				to = fmt.Appendf(to, `\x%02x`, b)
			}
		}
	}
	return append(to, '"')
}

// isAdmin tells the commands Redis keeps from monitors.
func isAdmin(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "MONITOR", "CONFIG", "DEBUG", "SHUTDOWN":
		return true
	case "CLIENT":
		if len(args) < 2 {
			return true
		}
		switch strings.ToUpper(args[1]) {
		case "LIST", "KILL", "UNBLOCK":
			return true
		}
	}
	return false
}

// redactArgs hides passwords as Redis does.
func redactArgs(args []string) []string {
	hide := func(from, to int) []string {
		out := append([]string{}, args...)
		for i := from; i < min(to, len(out)); i++ {
			out[i] = "(redacted)"
		}
		return out
	}
	switch strings.ToUpper(args[0]) {
	case "AUTH":
		return hide(1, len(args))
	case "HELLO":
		for i, a := range args {
			if strings.EqualFold(a, "AUTH") {
				return hide(i+1, i+3)
			}
		}
	}
	return args
}
