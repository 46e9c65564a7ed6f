package resp

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxArgs is how many arguments a command may have, the limit of Redis itself.
const maxArgs = 1 << 20

// ReadCommand reads what a client sends: an array of bulk strings, or words on a line
// as people type them. An empty line, or array, gives no words and no error. The error
// is that of the connection, or wraps ErrProtocol, and then nothing more can be read.
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
	args := make([]string, 0, min(max(n, 0), 64))
	for range n {
		arg, err := r.argument()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

func (r *Reader) argument() (string, error) {
	kind, size, err := r.ReadLine(maxLine)
	if err != nil {
		return "", err
	}
	if kind != '$' {
		return "", fmt.Errorf("%w: expected '$', got %q", ErrProtocol, kind)
	}
	if n, _ := strconv.Atoi(size); r.Keep > 0 && n > r.Keep && n <= maxBulk {
		return r.head(n)
	}
	arg, err := r.bulk(kind, size)
	if err != nil {
		return "", err
	}
	text, ok := arg.(string)
	if !ok {
		return "", fmt.Errorf("%w: an argument is null", ErrProtocol)
	}
	return text, nil
}

// head reads an argument of n bytes and returns the first Keep.
func (r *Reader) head(n int) (string, error) {
	head := make([]byte, r.Keep)
	if _, err := io.ReadFull(r.r, head); err != nil {
		return "", err
	}
	if _, err := io.CopyN(io.Discard, r.r, int64(n-r.Keep)); err != nil {
		return "", err
	}
	end, err := r.line(2)
	if err == nil && string(end) != "\r\n" {
		err = fmt.Errorf("%w: a string does not end where its length says", ErrProtocol)
	}
	return string(head), err
}

// AppendCommand appends a command as an array of bulk strings. An argument is a
// string, a []byte or an integer, or whatever has a text.
func AppendCommand[T any](b []byte, args ...T) []byte {
	b = appendHeader(b, '*', len(args))
	for _, a := range args {
		var digits [20]byte
		switch a := any(a).(type) {
		case string:
			b = append(appendHeader(b, '$', len(a)), a...)
		case []byte:
			b = append(appendHeader(b, '$', len(a)), a...)
		case int:
			text := strconv.AppendInt(digits[:0], int64(a), 10)
			b = append(appendHeader(b, '$', len(text)), text...)
		case int64:
			text := strconv.AppendInt(digits[:0], a, 10)
			b = append(appendHeader(b, '$', len(text)), text...)
		default:
			text := fmt.Sprint(a)
			b = append(appendHeader(b, '$', len(text)), text...)
		}
		b = append(b, "\r\n"...)
	}
	return b
}

func appendHeader(b []byte, kind byte, n int) []byte {
	b = append(b, kind)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, "\r\n"...)
}
