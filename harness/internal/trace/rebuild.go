package trace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// rebuilder makes script calls from the commands that the scripts made.
type rebuilder struct {
	deviations Deviations
	// destinations maps a timeout set to the list its transfers push to.
	destinations map[string]string
	// layouts maps a timeout set to the layout of its first readable member.
	layouts map[string]wire.Layout
	// uses counts how often each member comes in the whole recording.
	uses map[string]int
	// fallback is the layout of a queue without any member.
	fallback wire.Layout
}

// rebuild returns the calls of a recording that lacks the script calls. Only
// offers and transfers can be rebuilt. What a call is made from is the command
// that begins its script (zadd, zrangebyscore); the commands behind it are left
// to be compared with what the rebuilt call does.
func rebuild(rec *monitor.Recording, d Deviations) ([]Call, error) {
	r := newRebuilder(rec, d)
	var calls []Call
	for i := 0; i < len(rec.Lines); {
		l := rec.Lines[i]
		if !l.Inner() {
			calls = append(calls, newCall(l))
			i++
			continue
		}
		end := i + 1
		for end < len(rec.Lines) && rec.Lines[end].Inner() && !beginsScript(rec.Lines[end]) {
			end++
		}
		call, err := r.call(rec.Lines[i:end])
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
		i = end
	}
	return calls, nil
}

func beginsScript(l monitor.Line) bool { return l.Name() == "zadd" || l.Name() == "zrangebyscore" }

// newRebuilder gathers from the whole recording what one script's commands do
// not show: the destination of an offer, the layout of an empty transfer.
func newRebuilder(rec *monitor.Recording, d Deviations) *rebuilder {
	r := &rebuilder{
		deviations: d, destinations: make(map[string]string), layouts: make(map[string]wire.Layout),
		uses: make(map[string]int), fallback: wire.Newest().Layout(),
	}
	if release, err := wire.ParseRelease(rec.Field("version")); err == nil {
		r.fallback = release.Layout()
	}
	set := ""
	for _, l := range rec.Lines {
		for _, i := range memberArgs(l) {
			r.uses[l.Args[i]]++
		}
		switch {
		case !l.Inner() || len(l.Args) < 2:
			set = ""
		case l.Name() == "zrangebyscore":
			set = l.Args[1]
		case l.Name() == "zadd":
			set = ""
			if _, known := r.layouts[l.Args[1]]; !known && len(l.Args) == 4 {
				if m, err := unpackAny(l.Args[3], d.LengthSize); err == nil {
					r.layouts[l.Args[1]] = m.Layout
				}
			}
		case l.Name() == "rpush" && set != "" && wire.NamesOf(l.Args[1]).TimeoutSet == set:
			r.destinations[set] = l.Args[1]
		}
	}
	return r
}

// names returns the names of the queue that owns a timeout set. The sets of
// "orders" and "{orders}" have the same name; which is meant shows only where a
// transfer pushed to it.
func (r *rebuilder) names(set string) (wire.Names, bool) {
	if dest, ok := r.destinations[set]; ok {
		return wire.NamesOf(dest), true
	}
	rest, ok := strings.CutPrefix(set, timeoutSetPrefix)
	if !ok {
		return wire.Names{}, false
	}
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		inner = strings.TrimSuffix(inner, "}")
		if names := wire.NamesOf(inner); names.TimeoutSet == set {
			return names, true
		}
	}
	names := wire.NamesOf(rest)
	return names, names.TimeoutSet == set
}

// call rebuilds the call whose script made lines.
func (r *rebuilder) call(lines []monitor.Line) (Call, error) {
	first := lines[0]
	for _, l := range lines[1:] {
		if !slices.Contains([]string{"rpush", "lrem", "zrem", "zrange", "publish"}, l.Name()) {
			return Call{}, &LineError{l, "this command was called by a script that is neither offer nor transfer, and its call was not recorded"}
		}
	}
	var args []string
	var err error
	switch first.Name() {
	case "zadd":
		args, err = r.offer(lines)
	case "zrangebyscore":
		args, err = r.transfer(lines)
	default:
		err = &LineError{first, "this command was called by a script whose call was not recorded, and no offer (zadd …) or transfer (zrangebyscore …) begins with it"}
	}
	if err != nil {
		return Call{}, err
	}
	line := monitor.Line{Time: first.Time, DB: first.DB, Peer: RebuiltPeer, Args: args, Number: first.Number}
	c := newCall(line)
	c.Inner, c.Rebuilt = lines, true
	return c, nil
}

func (r *rebuilder) offer(lines []monitor.Line) ([]string, error) {
	zadd := lines[0]
	if len(zadd.Args) != 4 {
		return nil, &LineError{zadd, "no offer: expected zadd <timeout set> <due ms> <member>"}
	}
	names, ok := r.names(zadd.Args[1])
	if !ok {
		return nil, &LineError{zadd, "no offer: expected the key of a timeout set, " + timeoutSetPrefix + "…"}
	}
	m, err := unpackAny(r.offered(lines), r.deviations.LengthSize)
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

// offered returns the member that an offer packed: that of zadd, or of rpush where
// the recording names that one more often. Both should be the same; where they are
// not, the comparison is to point at the odd one.
func (r *rebuilder) offered(lines []monitor.Line) string {
	member := lines[0].Args[3]
	for _, l := range lines[1:] {
		if l.Name() == "rpush" && len(l.Args) == 3 && r.uses[l.Args[2]] > r.uses[member] {
			member = l.Args[2]
		}
	}
	return member
}

func (r *rebuilder) transfer(lines []monitor.Line) ([]string, error) {
	first := lines[0]
	if len(first.Args) != 7 {
		return nil, &LineError{first, "no transfer: expected zrangebyscore <timeout set> 0 <now ms> limit 0 <count>"}
	}
	names, ok := r.names(first.Args[1])
	if !ok {
		return nil, &LineError{first, "no transfer: expected the key of a timeout set, " + timeoutSetPrefix + "…"}
	}
	layout, err := r.transferLayout(lines)
	if err != nil {
		return nil, err
	}
	keys := []string{names.Destination, names.TimeoutSet, names.Pending}
	return evalArgs(wire.ScriptTransfer, layout, keys, first.Args[3], first.Args[6]), nil
}

// transferLayout tells which transfer script made lines, by the members it
// moved, or else by what else is in the queue.
func (r *rebuilder) transferLayout(lines []monitor.Line) (wire.Layout, error) {
	for _, l := range lines {
		if l.Name() != "lrem" || len(l.Args) != 4 {
			continue
		}
		m, err := unpackAny(l.Args[3], r.deviations.LengthSize)
		if err != nil {
			return 0, &MemberError{l, err}
		}
		return m.Layout, nil
	}
	layout, known := r.layouts[lines[0].Args[1]]
	switch {
	case !known:
		return r.fallback, nil
	case len(lines) > 1:
		return layout, nil
	case layout == wire.LayoutDLc0:
		// The script ended at its first member: it reads the other layout.
		return wire.LayoutBc0Lc0, nil
	}
	return wire.LayoutDLc0, nil
}

func evalArgs(script wire.ScriptName, layout wire.Layout, keys []string, args ...string) []string {
	for _, s := range wire.Scripts() {
		if s.Name == script && layoutOf(&s) == layout {
			return slices.Concat([]string{"EVAL", s.Body, strconv.Itoa(len(keys))}, keys, args)
		}
	}
	panic(fmt.Sprintf("trace: the catalogue has no %s script for %s", script, layout))
}
