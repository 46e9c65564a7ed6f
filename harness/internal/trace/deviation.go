package trace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// rebuilder makes the calls of offers and transfers from the commands inside their scripts. Some arguments show only
// elsewhere in the recording.
type rebuilder struct {
	lengthSize   int
	destinations map[string]string      // by timeout set: the list that its transfers push to
	layouts      map[string]wire.Layout // by timeout set: of its first readable member
	uses         map[string]int         // how often the recording names a member
	fallback     wire.Layout            // of a queue without members
}

// rebuild returns the calls of a recording without script calls. A call follows from the command that begins its
// script; the other commands are left for the comparison.
func rebuild(rec *Recording, d Deviations) (calls []Call, err error) {
	r := newRebuilder(rec, d)
	for i := 0; i < len(rec.Lines); {
		l, end := rec.Lines[i], i+1
		c := newCall(l)
		if l.Inner() {
			for end < len(rec.Lines) && rec.Lines[end].Inner() && rec.Lines[end].Name() != "zadd" && rec.Lines[end].Name() != "zrangebyscore" {
				end++
			}
			if c, err = r.call(rec.Lines[i:end]); err != nil {
				return nil, err
			}
		}
		calls = append(calls, c)
		i = end
	}
	return calls, nil
}

func newRebuilder(rec *Recording, d Deviations) *rebuilder {
	r := &rebuilder{d.LengthSize, map[string]string{}, map[string]wire.Layout{}, map[string]int{}, wire.Newest().Layout()}
	if release, err := wire.ParseRelease(rec.Field("version")); err == nil {
		r.fallback = release.Layout()
	}
	transferred := ""
	for _, l := range rec.Lines {
		for _, i := range memberArgs(l) {
			r.uses[l.Args[i]]++
		}
		switch set := l.Arg(1); {
		case !l.Inner():
			transferred = ""
		case l.Name() == "zrangebyscore":
			transferred = set
		case l.Name() == "zadd":
			transferred = ""
			if _, known := r.layouts[set]; !known && len(l.Args) == 4 {
				if m, err := unpackAny(l.Args[3], d.LengthSize, nil); err == nil {
					r.layouts[set] = m.Layout
				}
			}
		case l.Name() == "rpush" && transferred != "" && wire.NamesOf(set).TimeoutSet == transferred:
			r.destinations[transferred] = set
		}
	}
	return r
}

// names returns the names of the queue with a timeout set. The queues "orders" and "{orders}" have the same set: only a
// transfer shows which one it is.
func (r *rebuilder) names(l Line, args int) (wire.Names, error) {
	dest, ok := r.destinations[l.Arg(1)]
	if !ok {
		dest, ok = wire.DestinationOf(l.Arg(1))
	}
	names := wire.NamesOf(dest)
	if !ok || len(l.Args) != args || names.TimeoutSet != l.Args[1] {
		return names, &LineError{l, fmt.Sprintf("neither offer nor transfer: expected %s of a timeout set, %s…, with %d arguments", l.Args[0], timeoutSetPrefix, args-1)}
	}
	return names, nil
}

// call rebuilds the call whose script made lines.
func (r *rebuilder) call(lines []Line) (c Call, err error) {
	first := lines[0]
	for _, l := range lines[1:] {
		if !slices.Contains([]string{"rpush", "lrem", "zrem", "zrange", "publish"}, l.Name()) {
			return c, &LineError{l, "this command was called by a script that is neither offer nor transfer, and its call was not recorded"}
		}
	}
	var args []string
	switch first.Name() {
	case "zadd":
		args, err = r.offer(lines)
	case "zrangebyscore":
		args, err = r.transfer(lines)
	default:
		err = &LineError{first, "this command was called by a script whose call was not recorded, and no offer (zadd …) or transfer (zrangebyscore …) begins with it"}
	}
	if err != nil {
		return c, err
	}
	c = newCall(Line{Time: first.Time, DB: first.DB, Peer: RebuiltPeer, Args: args, Number: first.Number})
	c.Inner, c.Rebuilt = lines, true
	return c, nil
}

// offer takes the member from ZADD or RPUSH, whichever the recording names more often: the comparison shows the odd one.
func (r *rebuilder) offer(lines []Line) ([]string, error) {
	zadd := lines[0]
	names, err := r.names(zadd, 4)
	if err != nil {
		return nil, err
	}
	member := zadd.Args[3]
	for _, l := range lines[1:] {
		if l.Name() == "rpush" && len(l.Args) == 3 && r.uses[l.Args[2]] > r.uses[member] {
			member = l.Args[2]
		}
	}
	m, err := unpackAny(member, r.lengthSize, nil)
	if err != nil {
		return nil, &MemberError{zadd, err}
	}
	random := string(m.ID[:])
	if m.Layout == wire.LayoutDLc0 {
		number, ok := wire.RandomForID(m.ID)
		if !ok {
			return nil, &MemberError{zadd, errors.New("the first 8 bytes of the member are a double that is no 64-bit integer: Redisson packs only such")}
		}
		random = strconv.FormatInt(number, 10)
	}
	keys := []string{names.Destination, names.TimeoutSet, names.Pending, names.Channel}
	return evalArgs(wire.ScriptOffer, m.Layout, keys, zadd.Args[2], random, string(m.Value)), nil
}

func (r *rebuilder) transfer(lines []Line) ([]string, error) {
	first := lines[0]
	names, err := r.names(first, 7)
	if err != nil {
		return nil, err
	}
	layout, known := r.layouts[names.TimeoutSet]
	switch {
	case !known:
		layout = r.fallback
	case len(lines) == 1: // the script ended at its first member: it reads the other layout
		layout = layout.Other()
	}
	if i := slices.IndexFunc(lines, func(l Line) bool { return l.Name() == "lrem" && len(l.Args) == 4 }); i >= 0 {
		m, err := unpackAny(lines[i].Args[3], r.lengthSize, nil)
		if err != nil {
			return nil, &MemberError{lines[i], err}
		}
		layout = m.Layout
	}
	return evalArgs(wire.ScriptTransfer, layout, []string{names.Destination, names.TimeoutSet, names.Pending}, first.Args[3], first.Args[6]), nil
}

func evalArgs(script wire.ScriptName, layout wire.Layout, keys []string, args ...string) []string {
	for _, s := range wire.Scripts() {
		if s.Name == script && LayoutOf(&s) == layout {
			return slices.Concat([]string{"EVAL", s.Body, strconv.Itoa(len(keys))}, keys, args)
		}
	}
	panic(fmt.Sprintf("trace: the catalogue has no %s script for %s", script, layout))
}

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
// size, and whether it differs. A member that cannot be read gives a *MemberError.
func (d Deviations) Expected(l Line) (expected Line, translated bool, err error) {
	if d.LengthSize == wire.LengthSize {
		return l, false, nil
	}
	for _, i := range memberArgs(l) {
		m, err := unpackAny(l.Args[i], d.LengthSize, nil)
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

// unpackAny reads a member of either layout. Where both fit, as they can for a value of nothing but zero bytes, the ids of
// the offers tell which it is.
func unpackAny(member string, lengthSize int, offered map[[8]byte]string) (m wire.Member, err error) {
	read := false
	for _, layout := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
		fits, failed := layout.UnpackSized([]byte(member), lengthSize)
		if _, ok := offered[fits.ID]; failed == nil && (ok || !read) {
			m, read = fits, true
		}
		err = errors.Join(err, failed)
	}
	if read {
		err = nil
	}
	return m, err
}
