package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// LuaPeer is the peer of a command that a script called.
const LuaPeer = "lua"

// Line is one command as MONITOR prints it:
//
//	1645518012.326477 [0 127.0.0.1:50852] "EVAL" "…" …
type Line struct {
	// Time is the server's clock in Unix microseconds.
	Time int64
	// DB is the number of the database selected; after SELECT the new one.
	DB int
	// Peer is ip:port, [ip6]:port, unix:/path or LuaPeer.
	Peer string
	// Args are the command name, in the case the client sent, and its arguments: any bytes.
	Args []string

	command *command // of a line that was parsed

	// Raw is the text the line was parsed from; empty for a line made by hand.
	Raw string
	// Number is the line number in the recording file, from 1; 0 if there is none.
	Number int
	// Offset is the byte at which the line begins in the log that a LineScanner reads.
	Offset int64
}

// Inner reports whether a script made the call, not a client.
func (l Line) Inner() bool { return l.Peer == LuaPeer }

// Name returns the command name in lower case.
func (l Line) Name() string { return l.known().name }

func (l Line) is(kinds int) bool { return l.known().kinds&kinds != 0 }

func (l Line) known() *command {
	if l.command != nil {
		return l.command
	}
	return commandOf(l.Arg(0))
}

// Arg returns an argument, the command name being the first, or "" if it is missing.
func (l Line) Arg(i int) string {
	if i >= len(l.Args) {
		return ""
	}
	return l.Args[i]
}

// String returns the line byte for byte as the server prints it, without the line end. It never returns Raw: see Text for that.
func (l Line) String() string {
	b := make([]byte, 0, 64)
	b = strconv.AppendInt(b, l.Time/1e6, 10)
	b = fmt.Appendf(b, ".%06d [%d %s]", l.Time%1e6, l.DB, l.Peer)
	for _, arg := range l.Args {
		b = resp.AppendQuoted(append(b, ' '), arg)
	}
	return string(b)
}

// Text returns Raw, or String for a line that was not parsed.
func (l Line) Text() string {
	if l.Raw != "" {
		return l.Raw
	}
	return l.String()
}

// SyntaxError says where a text stops being a MONITOR line.
type SyntaxError struct {
	// Offset is the byte of the text at which something else was expected.
	Offset int
	// Expected says what.
	Expected string
	// Text is the line.
	Text string
}

func (e *SyntaxError) Error() string {
	from := min(e.Offset, len(e.Text))
	return fmt.Sprintf("not a MONITOR line: at byte %d expected %s, found %s", e.Offset, e.Expected, excerpt(e.Text[from:]))
}

func excerpt(s string) string {
	switch {
	case s == "":
		return "the end of the line"
	case len(s) > 24:
		return fmt.Sprintf("%q…", s[:24])
	}
	return strconv.Quote(s)
}

// ParseLine reads one line without its line end, and accepts only lines that a server can print. The error is a
// *SyntaxError. The line is cut at the first space and then at the first "] ", which no peer contains.
func ParseLine(text string) (Line, error) { return parseLine(text, nil) }

// parseLine appends the arguments to args.
func parseLine(text string, args []string) (Line, error) {
	bad := func(offset int, expected string) (Line, error) {
		return Line{}, &SyntaxError{Offset: offset, Expected: expected, Text: text}
	}
	space := strings.IndexByte(text, ' ')
	if space < 0 {
		return bad(0, `a time stamp, a space and "[db peer]"`)
	}
	micros, ok := parseTime(text[:space])
	if !ok {
		return bad(0, "a time stamp such as 1645518012.326477")
	}
	pos := space + 1
	if pos == len(text) || text[pos] != '[' {
		return bad(pos, `"[db peer]" (servers before Redis 2.6 print none and are not read)`)
	}
	end := strings.Index(text[pos:], "] ")
	if end < 0 {
		return bad(pos, `"[db peer] " and the command`)
	}
	dbText, peer, found := strings.Cut(text[pos+1:pos+end], " ")
	db, err := strconv.ParseUint(dbText, 10, 31)
	if err != nil || !found || peer == "" || len(dbText) > 1 && dbText[0] == '0' {
		return bad(pos+1, "a database number, a space and a peer")
	}
	args, err = parseArgs(args, text, pos+end+2)
	if err != nil {
		return Line{Time: micros}, err
	}
	return Line{Time: micros, DB: int(db), Peer: peer, Args: args, command: commandOf(args[0]), Raw: text}, nil
}

// parseTime reads seconds, a point and exactly six digits into microseconds.
func parseTime(s string) (micros int64, ok bool) {
	point := len(s) - 7
	if point < 1 || point > 12 || s[point] != '.' || point > 1 && s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == point:
		case c < '0' || c > '9':
			return 0, false
		default:
			micros = 10*micros + int64(c-'0')
		}
	}
	return micros, true
}

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
	var room [512]byte // spares most members a second piece of memory
	b := room[:0]
	for quote := -1; ; {
		if quote < pos { // the one before was escaped
			if quote = strings.IndexByte(text[pos:], '"'); quote < 0 {
				return bad(len(text), "a closing quote")
			}
			quote += pos
		}
		plain := strings.IndexByte(text[pos:quote], '\\')
		switch {
		case plain < 0 && len(b) == 0:
			return text[pos:quote], quote + 1, nil
		case plain < 0:
			return string(append(b, text[pos:quote]...)), quote + 1, nil
		}
		b = append(b, text[pos:pos+plain]...)
		decoded, size := unescape(text[pos+plain:])
		if size == 0 {
			return bad(pos+plain, `one of the escapes \\ \" \n \r \t \a \b \xHH`)
		}
		b = append(b, decoded)
		pos += plain + size
	}
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

// MaxScannedBytes is the longest line that a LineScanner keeps in memory, as printed.
const MaxScannedBytes = 16 << 20

// maxNULs is how many NUL bytes may precede the first line: some ways to rotate a log leave a hole at its beginning.
const maxNULs = 16 << 20

// LineScanner reads a MONITOR log of any size line by line, in the memory of one line. It reports a line that cannot be read
// and goes on. It skips blank lines, the OK of redis-cli, lines that begin with '#', and the '+' of a raw reply.
type LineScanner struct {
	in     *bufio.Reader
	line   Line
	args   []string // room for the next lines
	long   []byte   // a line that is longer than the buffer, reused
	bad    error    // why the line is none
	err    error    // of the reader
	number int
	offset int64 // of the line
	next   int64 // of the line behind it
	nuls   int   // before the first line; -1 behind it
}

// NewLineScanner returns a LineScanner that reads from r.
func NewLineScanner(r io.Reader) *LineScanner {
	return &LineScanner{in: bufio.NewReaderSize(r, 256<<10)}
}

// Scan goes to the next line. It returns false at the end, and when the reader fails.
func (s *LineScanner) Scan() bool {
	for s.err == nil {
		text, tooLong := s.readLine()
		if tooLong {
			s.line, s.bad = Line{Number: s.number, Offset: s.offset}, ErrLineTooLong
			return true
		}
		if text = bytes.TrimSuffix(text, []byte("\n")); len(text) > 0 && text[len(text)-1] <= ' ' {
			text = bytes.TrimRight(text, " \t\r\n")
		}
		text = bytes.TrimPrefix(text, []byte("+"))
		if len(text) == 0 || text[0] == '#' || string(text) == "OK" {
			continue
		}
		if cap(s.args) < 16 {
			s.args = make([]string, 0, 4096)
		}
		s.line, s.bad = parseLine(string(text), s.args)
		if n := len(s.line.Args); s.bad == nil {
			s.line.Args, s.args, s.nuls = slices.Clip(s.line.Args), s.line.Args[n:], -1
		}
		s.line.Number, s.line.Offset = s.number, s.offset
		return true
	}
	return false
}

// Line returns the line that Scan went to. The error, a *SyntaxError or ErrLineTooLong, concerns only this line.
func (s *LineScanner) Line() (Line, error) { return s.line, s.bad }

// Err returns the error that the reader failed with, or ErrNoText; nil at the end of the log.
func (s *LineScanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// readLine reads up to the next '\n', or the end. A line that is too long is read over. The bytes are good until the next call.
func (s *LineScanner) readLine() (line []byte, tooLong bool) {
	s.number++
	s.offset = s.next
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		s.next += int64(len(part))
		if s.nuls >= 0 {
			if s.nuls += bytes.Count(part, []byte{0}); s.nuls > maxNULs {
				s.err = ErrNoText
				return nil, false
			}
		}
		full := errors.Is(err, bufio.ErrBufferFull)
		if !full {
			s.err = err
		}
		if !full && len(s.long) == 0 && !tooLong {
			return part, false
		}
		if tooLong = tooLong || len(s.long)+len(part) > MaxScannedBytes; !tooLong {
			s.long = append(s.long, part...)
		}
		if !full {
			return s.long, tooLong
		}
	}
}

// Bounds of one call: further commands of its script become a call without a client's line.
const (
	maxInner      = 1 << 17
	maxInnerBytes = 64 << 20
)

// Scanner groups the lines of a log into calls as they arrive, in the memory of two calls. It rebuilds nothing.
type Scanner struct {
	lines, last []Line // of the call under way, and of the one that was returned, whose memory is reused
	bytes       int
	joined      bool // commands of a script can follow
	call        Call
}

// Add takes the next line and returns the call before it, or nil if the line belongs to the call under way. The call is valid until the
// next call of Add or End. Commands of a script whose own line is missing are one call: Line is the first command, Inner has the others.
func (s *Scanner) Add(l Line) (before *Call) {
	if joins := s.joined && l.Inner(); !joins || len(s.lines) > maxInner || s.bytes > maxInnerBytes {
		before = s.End()
		s.joined = l.Inner() || callsScript(l)
	}
	s.lines = append(s.lines, l)
	s.bytes += len(l.Raw)
	return before
}

// End returns the call under way, or nil without one.
func (s *Scanner) End() *Call {
	if len(s.lines) == 0 {
		return nil
	}
	s.lines, s.last, s.bytes = s.last[:0], s.lines, 0
	s.call = newCall(s.last[0])
	s.call.Inner = s.last[1:]
	return &s.call
}
