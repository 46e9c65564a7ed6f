package inspect

import (
	"bytes"
	"encoding/hex"
	"math"
	"sync"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// transferLimit is how many members one transfer of Redisson's moves.
const transferLimit = 100

// maxKinds bounds how many kinds of values are told apart: class names come from the
// members, of which each could have another.
const maxKinds = 1000

// otherKind counts those beyond maxKinds.
var otherKind = values.Kind{Codec: "other"}

// census is what one walk through the timeout set finds, in order of due time.
type census struct {
	own     wire.Layout
	show    shower
	samples int // of each kind

	forms      map[forensics.Form]int
	kinds      map[values.Kind]int
	first      []Member // of each form and kind
	shown      map[sampleKey]int
	byForm     map[forensics.Form][]Member
	head       *Member
	never      [fates]neverDue
	fractional []Member
	fractionN  int64
	sides      [2]sideCensus // to 3.21.0, from 3.21.1
	soonest    map[string]bool
	index      *forensics.Index
}

type sampleKey struct {
	form forensics.Form
	kind values.Kind
}

// sideCensus is what the scripts of one side make of the members, as they come due.
type sideCensus struct {
	layout  wire.Layout
	reads   int // before the first that it fails at
	wrong   int
	stop    *Member
	overdue bool // stop is
	behind  int
}

func newCensus(own wire.Layout, show shower, samples int, size int64) *census {
	return &census{
		own: own, show: show, samples: samples,
		forms: map[forensics.Form]int{}, kinds: map[values.Kind]int{}, shown: map[sampleKey]int{},
		byForm: map[forensics.Form][]Member{}, soonest: map[string]bool{},
		sides: [2]sideCensus{{layout: wire.LayoutDLc0}, {layout: wire.LayoutBc0Lc0}},
		index: forensics.NewIndex(int(size)),
	}
}

// add counts one member; now is the server's clock, in Unix ms.
func (c *census) add(z redis.Z, now float64) {
	raw := []byte(z.Member)
	content := forensics.Unpack(raw, c.own)
	detected := detect(content)
	kind := c.kindOf(content, detected)
	c.index.Add(z.Member)
	c.forms[content.Form]++
	if content.Form != forensics.Unreadable {
		c.kinds[kind]++
	}
	show := sync.OnceValue(func() Member { return c.show.of(raw, content, detected, &z.Score) })
	if c.head == nil {
		head := show()
		c.head = &head
	}
	if key := (sampleKey{content.Form, kind}); c.shown[key] < c.samples {
		c.shown[key]++
		c.first = append(c.first, show())
		if len(c.byForm[content.Form]) < c.samples {
			c.byForm[content.Form] = append(c.byForm[content.Form], show())
		}
	}
	if fate, is := fateOf(z.Score); is {
		c.never[fate].count++
		c.never[fate].first = appendFew(c.never[fate].first, show)
		return
	}
	if z.Score != math.Trunc(z.Score) {
		c.fractionN++
		c.fractional = appendFew(c.fractional, show)
	}
	if len(c.soonest) < transferLimit {
		c.soonest[z.Member] = true
	}
	for i := range c.sides {
		c.sides[i].meet(raw, content, show, z.Score <= now)
	}
}

// detect is values.Detect of the value of a member that can be read. It reads all of the value.
func detect(content forensics.Content) values.Kind {
	if content.Form == forensics.Unreadable {
		return values.Kind{}
	}
	return values.Detect(content.Value)
}

// kindOf is what the value of a member is, its name kept only while there are few.
func (c *census) kindOf(content forensics.Content, kind values.Kind) values.Kind {
	if _, known := c.kinds[kind]; !known && len(c.kinds) >= maxKinds && content.Form != forensics.Unreadable {
		return otherKind
	}
	return kind
}

func (s *sideCensus) meet(raw []byte, content forensics.Content, show func() Member, overdue bool) {
	if s.stop != nil {
		s.behind++
		return
	}
	value, ok := forensics.Read(raw, s.layout)
	switch {
	case !ok:
		stop := show()
		s.stop, s.overdue = &stop, overdue
	case !bytes.Equal(value, content.Value):
		s.wrong++
		s.reads++
	default:
		s.reads++
	}
}

// fewMembers is how many members a finding shows.
const fewMembers = 3

func appendFew(few []Member, show func() Member) []Member {
	if len(few) < fewMembers {
		few = append(few, show())
	}
	return few
}

// shower makes members fit to be shown.
type shower struct {
	own    wire.Layout
	redact bool
}

// startBytes is how much of a member is shown in hex: the packing of the longer layout,
// so that a redacted one shows nothing of its value.
const startBytes = 17

func (s shower) member(raw []byte, score *float64) Member {
	content := forensics.Unpack(raw, s.own)
	return s.of(raw, content, detect(content), score)
}

// of is member for one that is taken apart already.
func (s shower) of(raw []byte, content forensics.Content, kind values.Kind, score *float64) Member {
	m := Member{Layout: content.Form.String(), Bytes: len(raw)}
	if score != nil && !math.IsInf(*score, 0) {
		due := *score // not the caller's variable, which changes
		m.DueMS = &due
	}
	packing := len(raw) - len(content.Value)
	if content.Form == forensics.Unreadable {
		packing = min(len(raw), startBytes)
		if s.redact {
			packing = min(packing, 1)
		}
		m.Start = hex.EncodeToString(raw[:packing])
		return m
	}
	m.Start = hex.EncodeToString(raw[:packing])
	m.Codec, m.Class = kind.Codec, kind.Class
	if !s.redact {
		text, whole := forensics.Text(content.Value, kind)
		m.Value, m.Shortened = text, !whole
	}
	return m
}
