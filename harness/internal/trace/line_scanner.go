package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

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
		text = bytes.TrimRight(text, " \t\r\n")
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

// readLine reads up to the next '\n', or the end. A line that is too long is read over. The bytes are good until the
// next call.
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

// Add takes the next line and returns the call before it, or nil if the line belongs to the call under way. The
// call is valid until the next call of Add or End. Commands of a script whose own line is missing are one call:
// Line is the first command, Inner has the others.
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
