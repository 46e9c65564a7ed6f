package trace

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Script is what an EVAL or EVALSHA says.
type Script struct {
	// SHA1 is the lower-case digest of the text.
	SHA1 string
	// Known is the entry of the catalogue; nil for a text no Redisson sends.
	Known *wire.Script
	// Keys and Args are KEYS and ARGV.
	Keys, Args []string
}

// Offer is what an offer script was called with.
type Offer struct {
	Names wire.Names
	// Layout is that of the member that the script packs.
	Layout wire.Layout
	// Due is the due time in Unix ms.
	Due int64
	// Random is the argument that makes the id: a decimal number for LayoutDLc0, the bytes of the id for LayoutBc0Lc0.
	Random string
	// Value is the encoded value.
	Value string
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

// newCall reads what a line says: each line once, here.
func newCall(l monitor.Line) Call {
	c := Call{Line: l}
	if body, ok := bodyOf(l); ok {
		c.Body, c.BodySHA1 = body, digest(body)
	}
	c.Script = c.readScript()
	if c.Script == nil || c.Script.Known == nil {
		return c
	}
	switch c.Script.Known.Name {
	case wire.ScriptOffer:
		c.Offer = c.Script.offer()
	case wire.ScriptTransfer:
		c.Transfer = c.Script.transfer()
	}
	return c
}

// bodyOf returns the script text that a command brings along.
func bodyOf(l monitor.Line) (body string, ok bool) {
	if len(l.Args) < 3 {
		return "", false
	}
	switch l.Name() {
	case "eval", "eval_ro":
		return l.Args[1], true
	case "script":
		return l.Args[2], len(l.Args) == 3 && strings.EqualFold(l.Args[1], "load")
	}
	return "", false
}

// digests are of the texts that every Redisson sends, of which some releases send one with each command.
var digests = func() map[string]string {
	all := map[string]string{}
	for _, s := range wire.Scripts() {
		all[s.Body] = s.SHA1
	}
	return all
}()

// digest returns what EVALSHA names a script by.
func digest(body string) string {
	if sum, ok := digests[body]; ok {
		return sum
	}
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// readScript reads a script call; nil for every other command, and for a call whose number of keys is wrong.
func (c *Call) readScript() *Script {
	if len(c.Args) < 3 {
		return nil
	}
	s := &Script{SHA1: c.BodySHA1}
	switch c.Name() {
	case "eval", "eval_ro":
	case "evalsha", "evalsha_ro":
		s.SHA1 = strings.ToLower(c.Args[1])
	default:
		return nil
	}
	rest := c.Args[3:]
	n, err := strconv.Atoi(c.Args[2])
	if err != nil || n < 0 || n > len(rest) {
		return nil
	}
	s.Keys, s.Args = rest[:n], rest[n:]
	s.Known, _ = wire.ScriptBySHA1(s.SHA1)
	return s
}

// Name returns the variant of a known script, such as "offer-v1", or the SHA-1.
func (s *Script) Name() string {
	if s.Known != nil {
		return s.Known.Variant
	}
	return s.SHA1
}

// offer reads the arguments of an offer script; nil where they are not of one.
func (s *Script) offer() *Offer {
	if len(s.Keys) != 4 || len(s.Args) != 3 {
		return nil
	}
	due, err := strconv.ParseInt(s.Args[0], 10, 64)
	if err != nil {
		return nil
	}
	return &Offer{
		Names:  wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2], Channel: s.Keys[3]},
		Layout: layoutOf(s.Known), Due: due, Random: s.Args[1], Value: s.Args[2],
	}
}

// transfer reads the arguments of a transfer script; nil where they are not of one.
func (s *Script) transfer() *Transfer {
	if len(s.Keys) != 3 || len(s.Args) != 2 {
		return nil
	}
	now, err1 := strconv.ParseInt(s.Args[0], 10, 64)
	limit, err2 := strconv.Atoi(s.Args[1])
	if err1 != nil || err2 != nil {
		return nil
	}
	return &Transfer{
		Names:  wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2]},
		Layout: layoutOf(s.Known), Now: now, Limit: limit,
	}
}

// layoutOf returns the layout that a variant packs or reads: the text holds its format string.
func layoutOf(s *wire.Script) wire.Layout {
	if strings.Contains(s.Body, "'"+wire.LayoutBc0Lc0.String()+"'") {
		return wire.LayoutBc0Lc0
	}
	return wire.LayoutDLc0
}
