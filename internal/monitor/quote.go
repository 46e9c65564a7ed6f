package monitor

import "strings"

const (
	hexDigits = "0123456789abcdefABCDEF"
	// escaped are the bytes with an escape of one letter, and escapes are these letters: see resp.AppendQuoted.
	escaped, escapes = "\\\"\n\r\t\a\b", `\"nrtab`
)

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
	if end := strings.IndexByte(text[pos:], '"'); end >= 0 && strings.IndexByte(text[pos:pos+end], '\\') < 0 {
		return text[pos : pos+end], pos + end + 1, nil
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
	if s[1] != 'x' {
		if at := strings.IndexByte(escapes, s[1]); at >= 0 {
			return escaped[at], 2
		}
	} else if len(s) >= 4 && strings.IndexByte(hexDigits, s[2]) >= 0 && strings.IndexByte(hexDigits, s[3]) >= 0 {
		return nibble(s[2])<<4 | nibble(s[3]), 4
	}
	return 0, 0
}

// nibble is the value of a hexadecimal digit.
func nibble(digit byte) byte { return digit&15 + 9*(digit>>6) }
