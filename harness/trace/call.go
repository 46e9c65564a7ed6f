package trace

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/monitor"
)

// Call is a command of a client with the commands that its script made.
type Call struct {
	// Line is what the client sent.
	monitor.Line
	// Inner are the commands of the script, in order; empty for other commands.
	Inner []monitor.Line
	// Rebuilt is true where the recording holds Inner only and Line was made from
	// it; its peer is RebuiltPeer and its number that of the first inner line.
	Rebuilt bool
	// Tried is when the client first tried, in Unix microseconds, where Line is what
	// it sent after a script miss; else it is zero.
	Tried int64
}

// RebuiltPeer is the peer of a script call that a recording does not hold.
const RebuiltPeer = "rebuilt"

// LineError says what is wrong with one line of a recording: the recording as
// such cannot be used.
type LineError struct {
	Line   monitor.Line
	Reason string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s: %.200s", e.Line.Number, e.Reason, e.Line.Text())
}

// MemberError says that a packed member, or what should be one, is not what a
// Redisson release packs.
type MemberError struct {
	Line monitor.Line
	Err  error
}

func (e *MemberError) Error() string { return fmt.Sprintf("line %d: %v", e.Line.Number, e.Err) }
func (e *MemberError) Unwrap() error { return e.Err }

// Calls groups the lines of a recording into calls. Inner commands belong to the
// script call right before them: a script runs alone. Where a recording holds
// inner commands only, which its metadata says (script-calls: absent) or the
// lack of any script call shows, the calls are rebuilt from them.
//
// An inner command that belongs to no script call gives a *LineError; a member
// from which no call can be rebuilt gives a *MemberError.
func Calls(rec *monitor.Recording) ([]Call, error) {
	deviations, err := DeviationsOf(rec)
	if err != nil {
		return nil, err
	}
	if deviations.ScriptCallsAbsent {
		return rebuild(rec, deviations)
	}
	calls, orphan := group(rec.Lines)
	if orphan != nil {
		return nil, &LineError{*orphan, "this command was called by a script, but no EVAL, EVALSHA or FCALL comes before it"}
	}
	return calls, nil
}

// group puts inner commands under the script call before them. The first one
// that has none is returned; it becomes a call of its own.
func group(lines []monitor.Line) (calls []Call, orphan *monitor.Line) {
	for i, l := range lines {
		switch {
		case !l.Inner():
			calls = append(calls, Call{Line: l})
		case len(calls) > 0 && callsScript(calls[len(calls)-1].Line):
			last := &calls[len(calls)-1]
			last.Inner = append(last.Inner, l)
		default:
			calls = append(calls, Call{Line: l})
			if orphan == nil {
				orphan = &lines[i]
			}
		}
	}
	return calls, orphan
}

func callsScript(l monitor.Line) bool {
	switch l.Name() {
	case "eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro":
		return true
	}
	return false
}

// Script is what an EVAL or EVALSHA says.
type Script struct {
	// SHA1 is the lower-case digest of the text.
	SHA1 string
	// Known is the entry of the catalogue; nil for a text no Redisson sends.
	Known *wire.Script
	// Keys and Args are KEYS and ARGV.
	Keys, Args []string
}

// Name returns the variant of a known script, such as "offer-v1", or the SHA-1.
func (s Script) Name() string {
	if s.Known != nil {
		return s.Known.Variant
	}
	return s.SHA1
}

// ScriptOf reads a script call; ok is false for every other command, and for a
// call whose number of keys is wrong.
func ScriptOf(l monitor.Line) (s Script, ok bool) {
	if len(l.Args) < 3 {
		return Script{}, false
	}
	switch l.Name() {
	case "eval", "eval_ro":
		s.SHA1 = SHA1(l.Args[1])
	case "evalsha", "evalsha_ro":
		s.SHA1 = strings.ToLower(l.Args[1])
	default:
		return Script{}, false
	}
	s.Known, _ = wire.ScriptBySHA1(s.SHA1)
	rest := l.Args[3:]
	n, err := strconv.Atoi(l.Args[2])
	if err != nil || n < 0 || n > len(rest) {
		return Script{}, false
	}
	s.Keys, s.Args = rest[:n], rest[n:]
	return s, true
}

// SHA1 returns the digest that EVALSHA names a script by, in lower-case hex.
func SHA1(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Offer is what an offer script was called with.
type Offer struct {
	Names wire.Names
	// Layout is that of the member that the script packs.
	Layout wire.Layout
	// Due is the due time in Unix ms.
	Due int64
	// Random is the argument that makes the id: a decimal number for
	// LayoutDLc0, the bytes of the id for LayoutBc0Lc0.
	Random string
	// Value is the encoded value.
	Value string
}

// OfferOf reads a call of an offer script.
func OfferOf(l monitor.Line) (Offer, bool) {
	s, ok := ScriptOf(l)
	if !ok || s.Known == nil || s.Known.Name != "offer" || len(s.Keys) != 4 || len(s.Args) != 3 {
		return Offer{}, false
	}
	due, err := strconv.ParseInt(s.Args[0], 10, 64)
	if err != nil {
		return Offer{}, false
	}
	return Offer{
		Names:  wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2], Channel: s.Keys[3]},
		Layout: layoutOf(s.Known), Due: due, Random: s.Args[1], Value: s.Args[2],
	}, true
}

// Transfer is what a transfer script was called with.
type Transfer struct {
	// Names lacks the channel, which the script does not use.
	Names  wire.Names
	Layout wire.Layout
	// Now is the client's clock in Unix ms.
	Now int64
	// Limit is the number of members moved at most.
	Limit int
}

// TransferOf reads a call of a transfer script.
func TransferOf(l monitor.Line) (Transfer, bool) {
	s, ok := ScriptOf(l)
	if !ok || s.Known == nil || s.Known.Name != "transfer" || len(s.Keys) != 3 || len(s.Args) != 2 {
		return Transfer{}, false
	}
	now, err1 := strconv.ParseInt(s.Args[0], 10, 64)
	limit, err2 := strconv.Atoi(s.Args[1])
	if err1 != nil || err2 != nil {
		return Transfer{}, false
	}
	return Transfer{
		Names:  wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2]},
		Layout: layoutOf(s.Known), Now: now, Limit: limit,
	}, true
}

// Offers returns the offers among calls, in order.
func Offers(calls []Call) []Offer { return collect(calls, OfferOf) }

// Transfers returns the transfers among calls, in order.
func Transfers(calls []Call) []Transfer { return collect(calls, TransferOf) }

func collect[T any](calls []Call, read func(monitor.Line) (T, bool)) []T {
	var all []T
	for _, c := range calls {
		if v, ok := read(c.Line); ok {
			all = append(all, v)
		}
	}
	return all
}

// layoutOf returns the layout that a variant packs or reads: the text holds its
// format string.
func layoutOf(s *wire.Script) wire.Layout {
	if strings.Contains(s.Body, "'"+wire.LayoutBc0Lc0.String()+"'") {
		return wire.LayoutBc0Lc0
	}
	return wire.LayoutDLc0
}
