package trace

// Bounds of one call: further commands of its script become a call without a client's line.
const (
	maxInner      = 1 << 17
	maxInnerBytes = 64 << 20
)

// Scanner groups the lines of a log into calls as they arrive, in the memory of two calls. It rebuilds nothing.
type Scanner struct {
	under, whole callLines // the call under way, and the last one returned
	call         Call
}

// callLines are the lines of a call and their arguments, whose memory is reused.
type callLines struct {
	lines []Line
	args  []string
	bytes int
	// joined is true if commands of a script can follow.
	joined bool
}

// Add takes the next line and returns the call before it, or nil if the line belongs to the call under way. The
// call is valid until the next call of Add or End. Commands of a script whose own line is missing are one call:
// Line is the first command, Inner has the others.
func (s *Scanner) Add(l Line) (before *Call) {
	u := &s.under
	if joins := u.joined && l.Inner(); !joins || len(u.lines) > maxInner || u.bytes > maxInnerBytes {
		before = s.End()
	}
	if len(u.lines) == 0 {
		u.joined = l.Inner() || callsScript(l)
	}
	from := len(u.args)
	u.args = append(u.args, l.Args...)
	l.Args = u.args[from:len(u.args):len(u.args)]
	u.lines = append(u.lines, l)
	u.bytes += len(l.Raw)
	return before
}

// End returns the call under way, or nil without one.
func (s *Scanner) End() *Call {
	if len(s.under.lines) == 0 {
		return nil
	}
	s.under, s.whole = s.whole, s.under
	s.under = callLines{lines: s.under.lines[:0], args: s.under.args[:0]}
	s.call = newCall(s.whole.lines[0])
	s.call.Inner = s.whole.lines[1:]
	return &s.call
}
