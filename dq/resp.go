package dq

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits of what a subscription connection accepts, far above anything that a
// delayed queue's channel carries.
const (
	maxFrameElements = 16
	maxFrameBytes    = 1 << 20
)

// readFrame reads one array or push of a subscription connection, RESP2 or
// RESP3, as its elements in text, or the simple string that answers a PING in
// RESP3. Nested arrays are not part of pub/sub.
func readFrame(r *bufio.Reader) ([]string, error) {
	kind, n, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '*', '>':
	case '+':
		return []string{n}, nil
	case '-':
		return nil, fmt.Errorf("dq: subscription: the server answered %q", n)
	default:
		return nil, fmt.Errorf("dq: subscription: expected an array from the server, got %q", kind)
	}
	count, err := strconv.Atoi(n)
	if err != nil || count < 1 || count > maxFrameElements {
		return nil, fmt.Errorf("dq: subscription: expected an array of 1 to %d elements, got %q", maxFrameElements, n)
	}
	elements := make([]string, count)
	for i := range elements {
		if elements[i], err = readElement(r); err != nil {
			return nil, err
		}
	}
	return elements, nil
}

func readElement(r *bufio.Reader) (string, error) {
	kind, text, err := readHeader(r)
	if err != nil {
		return "", err
	}
	switch kind {
	case ':', '+', '_':
		return text, nil
	case '$':
	default:
		return "", fmt.Errorf("dq: subscription: expected a string or an integer from the server, got %q", kind)
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < -1 || size > maxFrameBytes {
		return "", fmt.Errorf("dq: subscription: expected a string of up to %d bytes, got length %q", maxFrameBytes, text)
	}
	if size == -1 {
		return "", nil
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(r, body); err != nil {
		return "", err
	}
	if body[size] != '\r' || body[size+1] != '\n' {
		return "", errors.New("dq: subscription: a string from the server does not end where its length says")
	}
	return string(body[:size]), nil
}

// readHeader reads one line: the type byte and what follows it.
func readHeader(r *bufio.Reader) (kind byte, rest string, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, "", err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, "", fmt.Errorf("dq: subscription: expected a RESP line, got %q", line)
	}
	return line[0], string(line[1 : len(line)-2]), nil
}

// appendCommand appends a command as an array of strings.
func appendCommand(b []byte, args ...string) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, "\r\n"...)
	for _, a := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(a)), 10)
		b = append(b, "\r\n"...)
		b = append(b, a...)
		b = append(b, "\r\n"...)
	}
	return b
}
