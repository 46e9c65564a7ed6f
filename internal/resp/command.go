package resp

import (
	"fmt"
	"strconv"
	"strings"
)

// maxArgs bounds the arguments of a command, as Redis does.
const maxArgs = 1 << 20

// ReadCommand reads a client's command: an array of bulk strings, or words on a line as people type them. An empty line or array returns no
// words and no error. Other errors are the connection's, or wrap ErrProtocol; after them nothing more can be read.
func (r *Reader) ReadCommand() ([]string, error) {
	line, err := r.line(maxLine)
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(line), "\r\n")
	count, isArray := strings.CutPrefix(text, "*")
	if !isArray {
		return strings.Fields(text), nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n > maxArgs {
		return nil, fmt.Errorf("%w: expected a number of arguments up to %d, got %.64q", ErrProtocol, maxArgs, count)
	}
	all, err := r.elements(strconv.Itoa(max(n, 0)), 1, 0)
	if err != nil {
		return nil, err
	}
	args := make([]string, len(all))
	for i, arg := range all {
		text, ok := arg.(string)
		if args[i] = text; !ok {
			return nil, fmt.Errorf("%w: expected a string as an argument, got %T", ErrProtocol, arg)
		}
	}
	return args, nil
}

// AppendCommand appends a command as an array of bulk strings. An argument is a string, a []byte, an integer, or any value with a text.
func AppendCommand[T any](b []byte, args ...T) []byte {
	b = appendHeader(b, '*', len(args))
	for _, a := range args {
		var digits [20]byte
		switch a := any(a).(type) {
		case string:
			b = appendBulk(b, a)
		case []byte:
			b = appendBulk(b, a)
		case int:
			b = appendBulk(b, strconv.AppendInt(digits[:0], int64(a), 10))
		case int64:
			b = appendBulk(b, strconv.AppendInt(digits[:0], a, 10))
		default:
			b = appendBulk(b, fmt.Sprint(a))
		}
	}
	return b
}

func appendBulk[T string | []byte](b []byte, s T) []byte {
	return append(append(appendHeader(b, '$', len(s)), s...), "\r\n"...)
}

func appendHeader(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}

// AppendQuoted appends an argument as MONITOR shows it, which Redis calls sdscatrepr: in double quotes, with \\ \" \n \r \t \a \b by name,
// and every other byte that is not printable ASCII as \xHH in lower case.
func AppendQuoted(b []byte, arg string) []byte {
	const escaped, escapes, hexDigits = "\\\"\n\r\t\a\b", `\"nrtab`, "0123456789abcdef"
	b = append(b, '"')
	for i := range len(arg) {
		c := arg[i]
		if c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			b = append(b, c)
		} else if at := strings.IndexByte(escaped, c); at >= 0 {
			b = append(b, '\\', escapes[at])
		} else {
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(b, '"')
}
