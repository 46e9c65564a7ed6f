package trace

import "strings"

// escapes are the bytes that follow a backslash, 0 for none: see resp.AppendQuoted.
var escapes = [256]byte{'\\': '\\', '"': '"', 'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b'}

// nibbles are the values of hexadecimal digits, with bit 4 set; 0 for any other byte.
var nibbles = func() (values [256]byte) {
	for i := range byte(16) {
		values["0123456789abcdef"[i]], values["0123456789ABCDEF"[i]] = 16+i, 16+i
	}
	return values
}()

// parseArgs reads quoted arguments, one space apart, from text[pos:] to its end, and appends them to args.
func parseArgs(args []string, text string, pos int) ([]string, error) {
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

// parseQuoted reads the quoted argument at text[pos:] by the rules of the server's sdssplitargs and returns the offset
// behind its closing quote. An escape that no server writes is an error, not a guess.
func parseQuoted(text string, pos int) (arg string, next int, err error) {
	bad := func(offset int, expected string) (string, int, error) {
		return "", 0, &SyntaxError{Offset: offset, Expected: expected, Text: text}
	}
	if pos >= len(text) || text[pos] != '"' {
		return bad(pos, "an argument in double quotes")
	}
	pos++
	if size := strings.IndexByte(text[pos:], '"'); size >= 0 && strings.IndexByte(text[pos:pos+size], '\\') < 0 {
		return text[pos : pos+size], pos + size + 1, nil
	}
	var room [512]byte // spares most members a second piece of memory
	b := room[:0]
	for pos < len(text) {
		switch text[pos] {
		case '"':
			return string(b), pos + 1, nil
		case '\\':
			decoded, size := unescape(text[pos:])
			if size == 0 {
				return bad(pos, `one of the escapes \\ \" \n \r \t \a \b \xHH`)
			}
			b = append(b, decoded)
			pos += size
		default:
			from := pos
			for pos++; pos < len(text) && text[pos] != '"' && text[pos] != '\\'; pos++ {
			}
			b = append(b, text[from:pos]...)
		}
	}
	return bad(pos, "a closing quote")
}

// unescape decodes the escape that s begins with; size is 0 if it is none.
func unescape(s string) (c byte, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	if c = escapes[s[1]]; c != 0 {
		return c, 2
	}
	if len(s) < 4 || s[1] != 'x' || nibbles[s[2]]&nibbles[s[3]] < 16 {
		return 0, 0
	}
	return nibbles[s[2]]<<4 | nibbles[s[3]]&15, 4
}
