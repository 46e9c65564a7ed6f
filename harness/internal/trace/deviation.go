package trace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// rebuild makes the calls of a recording without script calls. A call follows from the command that begins its script; the
// other commands are left for the comparison.
func rebuild(rec *Recording, d Deviations) (calls []Call, err error) {
	lists := map[string]string{} // by timeout set: the queues "orders" and "{orders}" have the same one, and a transfer pushes to one
	uses := map[string]int{}     // how often the recording names a member
	for _, l := range rec.Lines {
		for _, i := range memberArgs(l) {
			uses[l.Args[i]]++
		}
		if l.Inner() && l.Name() == "rpush" {
			lists[wire.NamesOf(l.Arg(1)).TimeoutSet] = l.Arg(1)
		}
	}
	for i := 0; i < len(rec.Lines); {
		l, end := rec.Lines[i], i+1
		c := newCall(l)
		if l.Inner() {
			for end < len(rec.Lines) && rec.Lines[end].Inner() && rec.Lines[end].Name() != "zadd" && rec.Lines[end].Name() != "zrangebyscore" {
				end++
			}
			dest, ok := lists[l.Arg(1)]
			if !ok {
				dest, _ = wire.DestinationOf(l.Arg(1))
			}
			args, err := scriptCall(rec.Lines[i:end], wire.NamesOf(dest), d.LengthSize, uses)
			if err != nil {
				return nil, err
			}
			c = newCall(Line{Time: l.Time, DB: l.DB, Peer: RebuiltPeer, Args: args, Number: l.Number})
			c.Inner, c.Rebuilt = rec.Lines[i:end], true
		}
		calls = append(calls, c)
		i = end
	}
	return calls, nil
}

// scriptCall is the call of a queue whose script sent lines. An offer has the member of ZADD or RPUSH, whichever the recording names
// more often: the comparison shows the odd one.
func scriptCall(lines []Line, n wire.Names, lengthSize int, uses map[string]int) ([]string, error) {
	first := lines[0]
	foreign := n.TimeoutSet != first.Arg(1) || slices.ContainsFunc(lines[1:], func(l Line) bool {
		return !slices.Contains([]string{"rpush", "lrem", "zrem", "zrange", "publish"}, l.Name())
	})
	switch {
	case !foreign && first.Name() == "zadd" && len(first.Args) == 4:
		member := first.Args[3]
		for _, l := range lines[1:] {
			if l.Name() == "rpush" && uses[l.Arg(2)] > uses[member] {
				member = l.Arg(2)
			}
		}
		m, err := unpackAny(member, lengthSize, nil)
		if err != nil {
			return nil, &LineError{first, true, err}
		}
		random := string(m.ID[:])
		if m.Layout == wire.LayoutDLc0 {
			number, ok := wire.RandomForID(m.ID)
			if !ok {
				return nil, &LineError{first, true, errors.New("the first 8 bytes of the member are a double that is no 64-bit integer: Redisson packs only such")}
			}
			random = strconv.FormatInt(number, 10)
		}
		return evalArgs(wire.ScriptOffer, m.Layout, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, first.Args[2], random, string(m.Value)), nil
	case !foreign && first.Name() == "zrangebyscore" && len(first.Args) == 7:
		layout := wire.Newest().Layout() // without a member any does the same
		if i := slices.IndexFunc(lines, func(l Line) bool { return l.Name() == "lrem" && len(l.Args) == 4 }); i >= 0 {
			m, err := unpackAny(lines[i].Args[3], lengthSize, nil)
			if err != nil {
				return nil, &LineError{lines[i], true, err}
			}
			layout = m.Layout
		}
		return evalArgs(wire.ScriptTransfer, layout, []string{n.Destination, n.TimeoutSet, n.Pending}, first.Args[3], first.Args[6]), nil
	}
	return nil, &LineError{Line: first, Err: errors.New("the call of the script that begins here was not recorded, and it is neither an offer (zadd …) nor a transfer (zrangebyscore …) of a delayed queue")}
}

func evalArgs(script wire.ScriptName, layout wire.Layout, keys []string, args ...string) []string {
	for _, s := range wire.Scripts() {
		if s.Name == script && LayoutOf(&s) == layout {
			return slices.Concat([]string{"EVAL", s.Body, strconv.Itoa(len(keys))}, keys, args)
		}
	}
	panic(fmt.Sprintf("trace: the catalogue has no %s script for %s", script, layout))
}

// Deviations are the properties that a recording declares in its metadata, and that change the lines a server of today must show.
type Deviations struct {
	// LengthSize is the size in bytes of the length field in its members: wire.LengthSize, or wire.WindowsLengthSize by "length-size: 4".
	LengthSize int
	// ScriptCallsAbsent is true where only commands inside scripts were recorded, by "script-calls: absent" or because
	// there are inner commands and no script call at all.
	ScriptCallsAbsent bool
}

// DeviationsOf reads the declarations of a recording. An unknown value is an error.
func DeviationsOf(rec *Recording) (Deviations, error) {
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
		d.ScriptCallsAbsent = v == "" && slices.ContainsFunc(rec.Lines, Line.Inner) &&
			!slices.ContainsFunc(rec.Lines, callsScript)
	case "absent":
		d.ScriptCallsAbsent = true
	default:
		return d, fmt.Errorf("script-calls: expected present or absent, found %q", v)
	}
	return d, nil
}

// Expected returns the line that a Redis on a 64-bit Unix shows where l was recorded, with members of the usual length
// size, and whether it differs. A member that cannot be read gives a *LineError.
func (d Deviations) Expected(l Line) (expected Line, translated bool, err error) {
	if d.LengthSize == wire.LengthSize {
		return l, false, nil
	}
	for _, i := range memberArgs(l) {
		m, err := unpackAny(l.Args[i], d.LengthSize, nil)
		if err != nil {
			return l, false, &LineError{l, true, err}
		}
		if !translated {
			l.Args, translated = slices.Clone(l.Args), true
		}
		m.LengthSize = wire.LengthSize
		l.Args[i] = string(m.Bytes())
	}
	return l, translated, nil
}

// unpackAny reads a member of either layout. Where both fit, as they can for a value of nothing but zero bytes, the ids of
// the offers tell which it is.
func unpackAny(member string, lengthSize int, offered map[[8]byte]string) (m wire.Member, err error) {
	read := false
	for _, layout := range []wire.Layout{wire.LayoutBc0Lc0, wire.LayoutDLc0} {
		fits, failed := layout.UnpackSized([]byte(member), lengthSize)
		if _, ok := offered[fits.ID]; failed == nil && (ok || !read) {
			m, read = fits, true
		}
		err = errors.Join(failed, err)
	}
	if read {
		err = nil
	}
	return m, err
}
