package trace

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Script is the script of an EVAL or EVALSHA.
type Script struct {
	SHA1       string       // the lower-case digest of the text
	Known      *wire.Script // the entry of the catalogue; nil for a text that no Redisson sends
	Keys, Args []string     // KEYS and ARGV
}

// Offer has the arguments of an offer script.
type Offer struct {
	Names  wire.Names
	Layout wire.Layout // of the member that the script packs
	Due    int64       // in Unix ms
	Random string      // makes the id: a decimal number for LayoutDLc0, the bytes of the id for LayoutBc0Lc0
	Value  string      // encoded
}

// Transfer has the arguments of a transfer script.
type Transfer struct {
	Names  wire.Names // without the channel, which the script does not use
	Layout wire.Layout
	Now    int64 // the client's clock in Unix ms
	Limit  int   // of the members to move
}

// newCall reads a line: each line once, here.
func newCall(l Line) Call {
	c := Call{Line: l}
	if len(l.Args) < 3 {
		return c
	}
	sha := ""
	switch l.Name() {
	case "eval", "eval_ro":
		c.Body, c.BodySHA1 = l.Args[1], digest(l.Args[1])
		sha = c.BodySHA1
	case "evalsha", "evalsha_ro":
		sha = strings.ToLower(l.Args[1])
	case "script":
		if len(l.Args) == 3 && strings.EqualFold(l.Args[1], "load") {
			c.Body, c.BodySHA1 = l.Args[2], digest(l.Args[2])
		}
		return c
	default:
		return c
	}
	rest := l.Args[3:]
	n, err := strconv.Atoi(l.Args[2])
	if err != nil || n < 0 || n > len(rest) {
		return c
	}
	s := &Script{SHA1: sha, Keys: rest[:n], Args: rest[n:]}
	s.Known, _ = wire.ScriptBySHA1(sha)
	c.Script = s
	switch {
	case s.Known == nil:
	case s.Known.Name == wire.ScriptOffer && len(s.Keys) == 4 && len(s.Args) == 3:
		if due, err := strconv.ParseInt(s.Args[0], 10, 64); err == nil {
			names := wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2], Channel: s.Keys[3]}
			c.Offer = &Offer{names, LayoutOf(s.Known), due, s.Args[1], s.Args[2]}
		}
	case s.Known.Name == wire.ScriptTransfer && len(s.Keys) == 3 && len(s.Args) == 2:
		now, err1 := strconv.ParseInt(s.Args[0], 10, 64)
		limit, err2 := strconv.Atoi(s.Args[1])
		if err1 == nil && err2 == nil {
			names := wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2]}
			c.Transfer = &Transfer{names, LayoutOf(s.Known), now, limit}
		}
	}
	return c
}

// digests are of the texts that every Redisson sends, of which some releases send one with each command.
var digests = func() map[string]string {
	all := map[string]string{}
	for _, s := range wire.Scripts() {
		all[s.Body] = s.SHA1
	}
	return all
}()

// digest returns the name of a script for EVALSHA.
func digest(body string) string {
	if sum, ok := digests[body]; ok {
		return sum
	}
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// Name returns the variant of a known script, such as "offer-v1", or the SHA-1.
func (s *Script) Name() string {
	if s.Known != nil {
		return s.Known.Variant
	}
	return s.SHA1
}

// LayoutOf returns the layout that a variant packs or reads: the text holds its format string.
func LayoutOf(s *wire.Script) wire.Layout {
	if strings.Contains(s.Body, "'"+wire.LayoutBc0Lc0.String()+"'") {
		return wire.LayoutBc0Lc0
	}
	return wire.LayoutDLc0
}
