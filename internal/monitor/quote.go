package monitor

import "encoding/hex"

// escapes are the bytes that follow a backslash, 0 for none: see resp.AppendQuoted.
var escapes = [256]byte{'\\': '\\', '"': '"', 'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b'}

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
	from := pos
	for pos < len(text) && text[pos] != '"' && text[pos] != '\\' {
		pos++
	}
	if pos < len(text) && text[pos] == '"' { // no escape
		return text[from:pos], pos + 1, nil
	}
	var room [512]byte // spares most members a second piece of memory
	b := append(room[:0], text[from:pos]...)
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
			from = pos
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
	var decoded [1]byte
	if len(s) < 4 || s[1] != 'x' {
		return 0, 0
	}
	if _, err := hex.Decode(decoded[:], []byte(s[2:4])); err != nil {
		return 0, 0
	}
	return decoded[0], 4
}
