package trace

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
