package monitor

import "strings"

const hexDigits = "0123456789abcdef"

// AppendQuoted appends arg in double quotes as a Redis server quotes it (its
// sdscatrepr): \\ \" \n \r \t \a \b by name, every other byte that is not
// printable ASCII as \xHH in lower case.
func AppendQuoted(b []byte, arg string) []byte {
	b = append(b, '"')
	for i := range len(arg) {
		switch c := arg[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\a':
			b = append(b, '\\', 'a')
		case '\b':
			b = append(b, '\\', 'b')
		default:
			if c < ' ' || c > '~' {
				b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// parseArgs reads quoted arguments, one space apart, from text[pos:] to its end.
func parseArgs(text string, pos int) ([]string, error) {
	var args []string
	for {
		arg, next, err := parseQuoted(text, pos)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if next == len(text) {
			return args, nil
		}
		if text[next] != ' ' {
			return nil, &SyntaxError{Offset: next, Expected: "a space or the end after the closing quote", Text: text}
		}
		pos = next + 1
	}
}

// parseQuoted reads the quoted argument at text[pos:] by the rules of the
// server's sdssplitargs and returns the offset behind its closing quote. An
// escape that no server writes is an error, not a guess.
func parseQuoted(text string, pos int) (arg string, next int, err error) {
	bad := func(offset int, expected string) (string, int, error) {
		return "", 0, &SyntaxError{Offset: offset, Expected: expected, Text: text}
	}
	if pos >= len(text) || text[pos] != '"' {
		return bad(pos, "an argument in double quotes")
	}
	pos++
	if end := strings.IndexAny(text[pos:], `"\`); end >= 0 && text[pos+end] == '"' {
		return text[pos : pos+end], pos + end + 1, nil
	}
	var b []byte
	for pos < len(text) {
		c := text[pos]
		if c == '"' {
			return string(b), pos + 1, nil
		}
		if c != '\\' {
			b = append(b, c)
			pos++
			continue
		}
		decoded, size := unescape(text[pos:])
		if size == 0 {
			return bad(pos, `one of the escapes \\ \" \n \r \t \a \b \xHH`)
		}
		b = append(b, decoded)
		pos += size
	}
	return bad(pos, "a closing quote")
}

// unescape decodes the escape that s begins with; size is 0 if it is none.
func unescape(s string) (c byte, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '\\', '"':
		return s[1], 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'a':
		return '\a', 2
	case 'b':
		return '\b', 2
	case 'x':
		if len(s) < 4 {
			return 0, 0
		}
		hi, ok1 := hexValue(s[2])
		lo, ok2 := hexValue(s[3])
		if ok1 && ok2 {
			return hi<<4 | lo, 4
		}
	}
	return 0, 0
}

func hexValue(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
