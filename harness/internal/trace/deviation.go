package trace

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Deviations is what the metadata of a recording declares about it, so far as it changes what a server of today must
// show.
type Deviations struct {
	// LengthSize is the size in bytes of the length field in its members: wire.LengthSize, or wire.WindowsLengthSize by
	// "length-size: 4".
	LengthSize int
	// ScriptCallsAbsent is true where only commands inside scripts were recorded, by "script-calls: absent" or because
	// there are inner commands and no script call at all.
	ScriptCallsAbsent bool
}

// DeviationsOf reads the declarations of a recording. A value that is not known is an error: ignoring it would make the
// comparison say too much.
func DeviationsOf(rec *monitor.Recording) (Deviations, error) {
	d := Deviations{LengthSize: wire.LengthSize}
	switch v := rec.Field("length-size"); v {
	case "", "8":
	case "4":
		d.LengthSize = wire.WindowsLengthSize
	default:
		return d, fmt.Errorf("length-size: expected 8, or 4 for a Redis built for Windows, found %q", v)
	}
	switch v := rec.Field("script-calls"); v {
	case "", "present":
		d.ScriptCallsAbsent = v == "" && slices.ContainsFunc(rec.Lines, monitor.Line.Inner) &&
			!slices.ContainsFunc(rec.Lines, callsScript)
	case "absent":
		d.ScriptCallsAbsent = true
	default:
		return d, fmt.Errorf("script-calls: expected present or absent, found %q", v)
	}
	return d, nil
}

// Expected returns the line that a Redis on a 64-bit Unix shows where l was recorded, and whether it differs: each
// member is read with the declared length size and packed again with the usual one. A member that cannot be read gives
// a *MemberError.
func (d Deviations) Expected(l monitor.Line) (expected monitor.Line, translated bool, err error) {
	if d.LengthSize == wire.LengthSize {
		return l, false, nil
	}
	for _, i := range memberArgs(l) {
		m, err := unpackAny(l.Args[i], d.LengthSize)
		if err != nil {
			return l, false, &MemberError{l, err}
		}
		if !translated {
			l.Args, translated = slices.Clone(l.Args), true
		}
		m.LengthSize = wire.LengthSize
		l.Args[i] = string(m.Bytes())
	}
	return l, translated, nil
}

// unpackAny reads a member of either layout.
func unpackAny(member string, lengthSize int) (wire.Member, error) {
	m, err1 := wire.LayoutDLc0.UnpackSized([]byte(member), lengthSize)
	if err1 == nil {
		return m, nil
	}
	m, err2 := wire.LayoutBc0Lc0.UnpackSized([]byte(member), lengthSize)
	if err2 == nil {
		return m, nil
	}
	return wire.Member{}, errors.Join(err1, err2)
}
