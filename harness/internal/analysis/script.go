package analysis

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// script is what a text is known as.
type script struct {
	sha1 string
	kind callKind
	// layout is the one that a transfer of Redisson reads; 0 of one that reads both, and
	// of every other script.
	layout wire.Layout
	known  *wire.Script // nil where no Redisson sends it
	own    bool         // dq sends it
}

// maxTexts is how many texts that nobody knows are remembered.
const maxTexts = 1_000

// scriptTable finds scripts by text and by digest.
type scriptTable struct {
	byText, bySHA1 map[string]*script
	unknown        int
}

func newScriptTable() *scriptTable {
	t := &scriptTable{byText: map[string]*script{}, bySHA1: map[string]*script{}}
	known := wire.Scripts()
	for i := range known {
		k := &known[i]
		s := &script{sha1: k.SHA1, known: k, kind: otherCall}
		switch k.Name {
		case wire.ScriptOffer:
			s.kind = offerCall
		case wire.ScriptTransfer:
			s.kind, s.layout = transferCall, layoutOf(k)
		}
		t.byText[k.Body], t.bySHA1[k.SHA1] = s, s
	}
	for _, of := range scripts.All() {
		s := &script{sha1: of.SHA1, own: true, kind: otherCall}
		if of.Name == "transfer" {
			s.kind = transferCall
		}
		t.byText[of.Body], t.bySHA1[of.SHA1] = s, s
	}
	return t
}

// layoutOf is the layout that a script names in its text.
func layoutOf(s *wire.Script) wire.Layout {
	if strings.Contains(s.Body, "'"+wire.LayoutBc0Lc0.String()+"'") {
		return wire.LayoutBc0Lc0
	}
	return wire.LayoutDLc0
}

// ofText returns the script of a text.
func (t *scriptTable) ofText(text string) *script {
	s := t.byText[text]
	if s == nil {
		sum := sha1.Sum([]byte(text))
		s = &script{sha1: hex.EncodeToString(sum[:]), kind: otherCall}
		if t.unknown < maxTexts && len(text) <= maxKeySize {
			t.unknown++
			t.byText[strings.Clone(text)] = s
		}
	}
	return s
}

func (t *scriptTable) ofSHA1(sha1 string) *script {
	s := t.bySHA1[sha1]
	if s == nil {
		s = t.bySHA1[strings.ToLower(sha1)]
	}
	if s == nil {
		s = &script{sha1: clipName(sha1), kind: otherCall}
	}
	return s
}

// script is an EVAL, EVALSHA or EVALSHA_RO: what its inner commands do is still to come.
func (a *Analysis) script(c *conn, cmd command, l monitor.Line, at place) {
	if len(l.Args) < 3 {
		return
	}
	n, err := strconv.Atoi(l.Args[2])
	if err != nil || n < 0 || n > len(l.Args)-3 {
		return
	}
	keys, args := l.Args[3:3+n], l.Args[3+n:]
	var s *script
	if cmd == eval {
		if c.probes(l.Args[1], keys, args) {
			return
		}
		s = a.scripts.ofText(l.Args[1])
	} else {
		s = a.scripts.ofSHA1(l.Args[1])
	}
	a.tells(c, cmd, s)
	q := a.queueOfKeys(l.DB, keys)
	if q == nil {
		return
	}
	a.close(q)
	a.latestQueue = q
	if (s.kind == offerCall || s.kind == transferCall) && n >= 3 {
		a.setName(q, keys[0])
	}
	q.open(call{kind: s.kind, at: at, text: l.Raw, begun: l.Time, from: c, script: s})
	if s.kind == transferCall && len(args) >= 2 {
		if now, err := strconv.ParseInt(args[0], 10, 64); err == nil {
			c.host.saw(now, l.Time)
			q.call.named = now
		}
	}
	if s.known == nil && !s.own && slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, commonPrefix) }) {
		a.findings.add(UnknownScript, q, l.Time, 0, func() (string, []LineOf) {
			return "script " + s.sha1 + " works on the queue's keys; no Redisson release sends it, nor dq", []LineOf{shown(at, l.Raw)}
		})
	}
}

// probes notes the script by which a Redisson that starts looks for a cluster.
func (c *conn) probes(text string, keys, args []string) bool {
	if !slices.Equal(keys, probeKeys) || !strings.HasPrefix(text, "redis.call('get', KEYS[1]") {
		return false
	}
	c.speaks = true
	if len(args) > 0 {
		c.sent(probesFaulty)
	} else {
		c.sent(probesGet)
	}
	return true
}

// tells narrows the releases by a script and the command that it was sent with.
func (a *Analysis) tells(c *conn, cmd command, s *script) {
	if s.known == nil {
		if s.own {
			c.speaks, c.client = true, "dq"
		}
		return
	}
	c.speaks = true
	c.sent(sentBy[s.sha1])
	switch cmd {
	case eval:
		c.usual = c.usual.and(sendsBodies)
	case evalSHAReadOnly:
		c.sent(readsBySHA)
		fallthrough
	default:
		c.sent(canCacheScripts)
		c.usual = c.usual.and(cachesScripts)
	}
}

// queueOfKeys finds the queue that a script works on: by a key that is only a delayed
// queue's, or else by its destination.
func (a *Analysis) queueOfKeys(db int, keys []string) *queue {
	for _, key := range keys {
		if strings.HasPrefix(key, commonPrefix) {
			if ref, ok := a.queueOf(db, key); ok {
				return ref.queue
			}
		}
	}
	for _, key := range keys {
		if ref, ok := a.queueOf(db, key); ok {
			return ref.queue
		}
	}
	return nil
}
