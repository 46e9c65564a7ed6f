package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// Role is the part that a call plays.
type Role struct {
	Name string // a constant below
	Of   string // the destination queue; of a consumer the first key, of a subscriber the first channel, of the publisher ""
}

// The names of roles.
const (
	Publisher    = "publisher"
	TransferTask = "transfer task"
	Consumer     = "consumer"
	Subscriber   = "subscriber"
)

func (r Role) String() string {
	if r.Of == "" {
		return r.Name
	}
	return r.Name + " of " + Quoted(r.Of)
}

// Event is a call in normal form.
type Event struct {
	Call
	Role Role
	Form []string // of the client's command, then of each inner one
	// Delay is the due time of an offer minus the client's clock when the server first saw it, in ms; HasDelay is false
	// for every other call.
	Delay    int64
	HasDelay bool

	ids   []string // of the members that the call adds or moves
	title string   // names the call instead of its script
}

// Trace is a recording, or one case of it, in normal form.
type Trace struct {
	Name   string   // for messages
	Lines  []Line   // all lines, set-up included
	Events []*Event // in the order of the recording
}

// Normalise brings lines of a recording into normal form: without their set-up, folded. Of an exchange it is the form of their changes.
// Script calls are rebuilt only where the metadata declares them absent. An unreadable member, or an inner command without its script
// call, is compared as it is.
func Normalise(rec *Recording, name string, lines []Line, exchange bool) (*Trace, error) {
	fold, write := foldEmptyTransfers, (*normaliser).normalise
	if exchange {
		fold, write = reduced, (*normaliser).change
	}
	part := &Recording{Path: rec.Path, Fields: rec.Fields, Lines: slices.Clone(lines)}
	for i := range part.Lines {
		if part.Lines[i].Number == 0 {
			part.Lines[i].Number = i + 1
		}
	}
	deviations, err := DeviationsOf(part)
	if err != nil {
		return nil, err
	}
	calls := Group(part.Lines)
	if rec.Field("script-calls") == "absent" {
		if calls, err = rebuild(part, deviations); err != nil {
			return nil, err
		}
	}
	t := &Trace{Name: name, Lines: part.Lines}
	for _, c := range foldMisses(dropSetUp(calls)) {
		t.Events = append(t.Events, &Event{Call: c, Role: roleOf(c)})
	}
	n := &normaliser{lengthSize: deviations.LengthSize, ids: make(map[[8]byte]string), clock: clockOffset(t.Events)}
	t.Events = fold(t.Events)
	for _, first := range []bool{true, false} { // offers number the ids: the order between roles depends on timing
		for _, e := range t.Events {
			if (e.Role.Name == Publisher) == first {
				write(n, e)
			}
		}
	}
	return t, nil
}

func roleOf(c Call) Role {
	if c.Transfer != nil {
		return Role{TransferTask, c.Transfer.Names.Destination}
	}
	if dest, ok := looksForDue(c); ok {
		return Role{TransferTask, dest}
	}
	switch name := c.Name(); {
	case name == "blpop" || name == "brpop" || name == "brpoplpush" || name == "blmove":
		return Role{Consumer, c.Arg(1)}
	case Subscribes(c.Line):
		return Role{Subscriber, c.Arg(1)}
	}
	return Role{Name: Publisher}
}

// looksForDue reports whether a script that no Redisson sends is a transfer by what it does: it asks a timeout set for
// a range of due times, or takes members out and pushes to the queue.
func looksForDue(c Call) (dest string, ok bool) {
	if c.Script == nil || c.Script.Known != nil {
		return "", false
	}
	for _, l := range c.Inner {
		switch l.Name() {
		case "zadd":
			return "", false
		case "zrangebyscore", "zpopmin", "zremrangebyscore":
			if dest, ok = wire.DestinationOf(l.Arg(1)); ok {
				return dest, true
			}
		}
	}
	return "", false
}

// clockOffset estimates the client's clock minus the server's in ms. A transfer names the client's clock just before
// the server runs it, so that the largest difference is the truest. Without transfers the clocks are taken to be equal.
func clockOffset(events []*Event) int64 {
	var offsets []int64
	for _, e := range events {
		if e.Transfer != nil {
			offsets = append(offsets, e.Transfer.Now-e.Time/1000)
		}
	}
	if len(offsets) == 0 {
		return 0
	}
	return slices.Max(offsets)
}

// normaliser writes normal forms; it numbers ids as they come.
type normaliser struct {
	lengthSize int
	ids        map[[8]byte]string
	clock      int64
}

func (n *normaliser) normalise(e *Event) {
	tokens := make(map[string]string)
	if e.Script != nil {
		e.Form = append(e.Form, n.script(e, tokens))
	} else {
		e.Form = append(e.Form, n.line(e, e.Line, tokens))
	}
	for _, l := range e.Inner {
		e.Form = append(e.Form, "  "+n.line(e, l, tokens))
	}
}

// script returns the normal form of a script call, and in tokens what its due time or clock is called inside the script.
func (n *normaliser) script(e *Event, tokens map[string]string) string {
	s := e.Script
	args := slices.Clone(s.Args)
	for i := range args {
		args[i] = Quoted(args[i])
	}
	if o := e.Offer; o != nil {
		tokens[s.Args[0]] = "due"
		e.Delay, e.HasDelay = n.delay(e, o.Due), true
		args[0] = "due"
		if id, ok := offerID(o); ok {
			args[1] = n.id(id)
		}
	}
	if e.Transfer != nil {
		tokens[s.Args[0]] = "now"
		args[0] = "now"
	}
	script := "script:" + s.Name()
	if e.Name() == "evalsha" && e.Args[1] != s.SHA1 {
		script += " as " + Quoted(e.Args[1]) // Redis takes capitals too, and Redisson sends none
	}
	parts := []string{fmt.Sprintf("[%d]", e.DB), e.Args[0], script, strconv.Itoa(len(s.Keys))}
	for _, key := range s.Keys {
		parts = append(parts, Quoted(key))
	}
	return strings.Join(append(parts, args...), " ")
}

// delay is how far a due time lies behind the client's clock when the server first saw it.
func (n *normaliser) delay(e *Event, due int64) int64 {
	return due - (cmp.Or(e.Tried, e.Time)/1000 + n.clock)
}

// offerID returns the id that an offer packs.
func offerID(o *Offer) (id [8]byte, ok bool) {
	if o.Layout == wire.LayoutBc0Lc0 {
		copy(id[:], o.Random)
		return id, len(o.Random) == len(id)
	}
	random, err := strconv.ParseInt(o.Random, 10, 64)
	return wire.DoubleID(random), err == nil
}

func (n *normaliser) id(id [8]byte) string {
	name, ok := n.ids[id]
	if !ok {
		name = fmt.Sprintf("id#%d", len(n.ids)+1)
		n.ids[id] = name
	}
	return name
}

// line returns the normal form of any command but a script call.
func (n *normaliser) line(e *Event, l Line, tokens map[string]string) string {
	parts := []string{fmt.Sprintf("[%d]", l.DB), Quoted(l.Args[0])}
	members := memberArgs(l)
	for i, arg := range l.Args[1:] {
		token, ok := tokens[arg]
		switch {
		case slices.Contains(members, i+1):
			parts = append(parts, n.member(e, arg))
		case ok && i+1 == timeArgs[l.Name()]:
			parts = append(parts, token)
		default:
			parts = append(parts, Quoted(arg))
		}
	}
	return strings.Join(parts, " ")
}

// timeArgs are the arguments in which the scripts of offer and transfer pass a time on.
var timeArgs = map[string]int{"zadd": 2, "publish": 2, "zrangebyscore": 3}

func (n *normaliser) member(e *Event, member string) string {
	m, err := unpackAny(member, n.lengthSize, n.ids)
	if err != nil {
		return Quoted(member)
	}
	id := n.id(m.ID)
	if !slices.Contains(e.ids, id) {
		e.ids = append(e.ids, id)
	}
	return fmt.Sprintf("member(%s, %s, %s)", m.Layout, id, Quoted(string(m.Value)))
}

// Quoted returns a name or a value as MONITOR prints it.
func Quoted(s string) string { return string(resp.AppendQuoted(nil, s)) }
