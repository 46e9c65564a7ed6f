// Package resp reads and writes RESP, the protocol of Redis, versions 2 and 3: replies and commands.
//
// A reply is one of these in Go:
//
//	simple string, bulk string, verbatim string, double, big number   string
//	integer                                                           int64
//	boolean                                                           bool
//	null, in all its forms                                            nil
//	error, bulk error                                                 Error
//	array, set, map (keys and values in turn)                         []any
//	push                                                              Push
//
// A double stays text, so that no digit is lost. Read drops attributes.
package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Error is an error reply without its '-': a code such as WRONGTYPE, then a text. It is a redis.Error of go-redis.
type Error string

func (e Error) Error() string { return string(e) }

// RedisError marks an error reply.
func (Error) RedisError() {}

// Push is a message out of turn, in RESP3 also a message of a subscription.
type Push []any

// ErrProtocol is wrapped by the error of a reply, or a command, that is not RESP.
var ErrProtocol = errors.New("resp: not the protocol of Redis")

// ErrLineTooLong is the error of a line above its limit. It wraps ErrProtocol.
var ErrLineTooLong = fmt.Errorf("%w: a line is too long", ErrProtocol)

// Limits of one reply, as in Redis's own clients: 512 MB a string, and far more elements than a script can return.
const (
	maxBulk     = 512 << 20
	maxElements = 64 << 20
	maxDepth    = 32
	maxLine     = 64 << 10
)

// Reader reads replies, or commands, from a connection.
type Reader struct {
	r     *bufio.Reader
	begun []byte // the beginning of a line
	last  string // the last line
}

// NewReader returns a Reader with a buffer of size bytes; 0 means 32 KiB.
func NewReader(r io.Reader, size int) *Reader {
	if size <= 0 {
		size = 32 << 10
	}
	return &Reader{r: bufio.NewReaderSize(r, size)}
}

// Wait waits for one byte, which it does not read.
func (r *Reader) Wait() error {
	_, err := r.r.Peek(1)
	return err
}

// Buffered returns how many bytes were read from the connection that no reply or command has used yet.
func (r *Reader) Buffered() int { return r.r.Buffered() }

// HasLine reports whether ReadLine has a whole line, and need not wait.
func (r *Reader) HasLine() bool {
	buffered, _ := r.r.Peek(r.r.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// Read reads one reply. An error reply is a value of type Error. Read's errors are the connection's, or wrap ErrProtocol; after them nothing
// more can be read.
func (r *Reader) Read() (any, error) { return r.read(0) }

func (r *Reader) read(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrProtocol, maxDepth)
	}
	for {
		kind, rest, err := r.ReadLine(maxLine)
		if err != nil {
			return nil, err
		}
		if kind == '|' { // an attribute: it describes the reply behind it
			if _, err := r.elements(rest, 2, depth); err != nil {
				return nil, err
			}
			continue
		}
		return r.value(kind, rest, depth)
	}
}

func (r *Reader) value(kind byte, rest string, depth int) (any, error) {
	switch kind {
	case '+', ',', '(':
		return rest, nil
	case '-':
		return Error(rest), nil
	case ':':
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: expected an integer, got %q", ErrProtocol, rest)
		}
		return n, nil
	case '#':
		return rest == "t", nil
	case '_':
		return nil, nil
	case '$', '=', '!':
		return r.bulk(kind, rest)
	case '*', '~', '%':
		if rest == "-1" { // a null of RESP2
			return nil, nil
		}
		width := 1
		if kind == '%' {
			width = 2
		}
		return r.elements(rest, width, depth)
	case '>':
		elements, err := r.elements(rest, 1, depth)
		return Push(elements), err
	}
	return nil, fmt.Errorf("%w: expected one of its type bytes, got %q", ErrProtocol, kind)
}

func (r *Reader) elements(count string, width, depth int) ([]any, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxElements/width {
		return nil, fmt.Errorf("%w: expected a number of elements, got %q", ErrProtocol, count)
	}
	elements := make([]any, 0, min(n*width, 1024))
	for range n * width {
		e, err := r.read(depth + 1)
		if err != nil {
			return nil, err
		}
		elements = append(elements, e)
	}
	return elements, nil
}

func (r *Reader) bulk(kind byte, size string) (any, error) {
	if size == "-1" {
		return nil, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > maxBulk {
		return nil, fmt.Errorf("%w: expected a length of up to %d, got %q", ErrProtocol, maxBulk, size)
	}
	var body []byte
	if n+2 <= r.r.Size() {
		if body, err = r.r.Peek(n + 2); err == nil {
			defer r.r.Discard(n + 2) //nolint:errcheck // it is there
		}
	} else {
		body, err = r.body(n + 2)
	}
	if err != nil {
		return nil, err
	}
	if body[n] != '\r' || body[n+1] != '\n' {
		return nil, fmt.Errorf("%w: a string does not end after its length", ErrProtocol)
	}
	text := string(body[:n])
	switch {
	case kind == '!':
		return Error(text), nil
	case kind == '=' && len(text) >= 4: // it begins with "txt:" or "mkd:"
		return text[4:], nil
	}
	return text, nil
}

// body reads n bytes into a buffer that grows with them: a header alone costs a hostile server nothing.
func (r *Reader) body(n int) ([]byte, error) {
	var body bytes.Buffer
	_, err := io.CopyN(&body, r.r, int64(n))
	return body.Bytes(), err
}

// ReadLine reads a line of at most about limit bytes, such as a line of MONITOR: its type byte and the text after it. After an error of the
// connection, such as a deadline, the next call continues the line.
func (r *Reader) ReadLine(limit int) (kind byte, rest string, err error) {
	line, err := r.line(limit)
	if err != nil {
		return 0, "", err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, "", fmt.Errorf("%w: expected a line, got %.64q", ErrProtocol, line)
	}
	if text := line[1 : len(line)-2]; r.last != string(text) { // most values of a list are as long as the one before
		r.last = string(text)
	}
	return line[0], r.last, nil
}

// line reads to the next line feed. The bytes are valid until the next read.
func (r *Reader) line(limit int) ([]byte, error) {
	for {
		part, err := r.r.ReadSlice('\n')
		if err == nil && len(r.begun) == 0 {
			return part, nil
		}
		r.begun = append(r.begun, part...)
		switch {
		case err == nil:
			line := r.begun
			r.begun = nil
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(r.begun) >= limit:
			return nil, ErrLineTooLong
		}
	}
}
