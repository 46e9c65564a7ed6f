package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// The fate of a message, as bits.
const (
	handed    = 1 << iota // to an agent
	answered              // the offer, one way or another
	tried                 // the offer was begun
	confirmed             // it was accepted
	delivered
	removed
	held   // at the end
	notDue // at the end
)

// collector counts the samples of all agents in a phase. Nothing is counted elsewhere. It keeps 11 bytes for
// each message, and 64 more of a run in which something breaks. The engine's lock guards it.
type collector struct {
	engine   *engine
	start    int64     // Unix ns
	plan     plan.Plan // of the phase
	schedule plan.Schedule
	n        int64
	horizon  int64 // Unix ns after which messages are not waited for
	maxLag   int64

	state    []byte
	due      []int64
	owner    []uint16 // the member that is to offer it
	open     []int64  // of each member: items without an answer
	messages []Message
	other    Message // in the place of a record that is not kept

	counts      run.Counts
	unanswered  int64 // offers begun by an agent that reports that, without an answer yet
	untold      int64 // items that may have been offered, at the end
	failed      int64
	accepted    int64
	dropped     int64 // samples
	outstanding int64
	takeErrors  int64
	moveErrors  int64
	tooLate     int64
	lastDue     int64
	lastCame    int64
	offers      run.Offers
	lateByTool  []span
	order       order
	latest      []span // of the deliveries

	seconds    map[int64]*second // that are not over
	closed     int64
	pending    int64
	intervals  []run.Interval
	histograms run.Histograms // of the seconds that are closed
	log        *run.LatenessLog
}

func (e *engine) newCollector(which plan.Phase, start time.Time) *collector {
	p := e.Plan.Phase(which)
	schedule, at := p.Schedule(), e.epoch.Wall(start)
	n := schedule.Messages()
	c := &collector{
		engine: e, start: at, plan: p, schedule: schedule, n: n, horizon: math.MaxInt64, maxLag: int64(cmp.Or(e.Plan.MaxScheduleLag, plan.DefaultMaxScheduleLag)),
		state: make([]byte, n), due: make([]int64, n), owner: make([]uint16, n), open: make([]int64, len(e.members)),
		seconds: map[int64]*second{}, histograms: run.NewHistograms(), log: run.NewLatenessLog(start),
		order: order{queues: make([]int64, max(e.Plan.Queues, 1)), producers: make([]int64, e.Plan.Producers)},
	}
	if p.Horizon > 0 {
		c.horizon = at + int64(schedule.At(n-1)+p.Horizon)
	}
	if e.accounts() && which == plan.Measured {
		c.messages = make([]Message, n)
	}
	return c
}

// item is a message in the form for agents.
func (c *collector) item(i int64) program.Item {
	item := program.Item{Index: uint32(i), At: c.start + int64(c.schedule.At(i))}
	delay := c.plan.Delay.Of(c.plan.Seed, i, c.n)
	if c.plan.Delay.Together {
		item.Due = (c.start + int64(delay)) / 1e6
	} else {
		item.Delay = delay.Milliseconds()
	}
	if c.plan.Cancel.Chosen(c.plan.Seed, i) {
		item.CancelAfter = uint32(c.plan.Cancel.After.Milliseconds()) + 1
	}
	return item
}

// hand notes that a message is a member's to offer.
func (c *collector) hand(i int64, m *member) {
	c.state[i] |= handed
	c.owner[i] = uint16(m.number)
	c.open[m.number]++
}

// tolerance is how far the clocks of two processes may be apart, one of them on another host.
const tolerance = int64(2 * clockTolerance)

// add counts a sample of a member. Its error names the kind of an impossible sample, the field and the expected value.
func (c *collector) add(m *member, s program.Sample) error {
	switch s.Kind {
	case program.Foreign:
		c.counts.Foreign++
		return nil
	case program.Corrupt:
		c.counts.Corrupt++
		return nil
	case program.TakeFail:
		c.takeErrors++
		return nil
	case program.Dropped:
		c.dropped += s.A
		return nil
	}
	i, now := int64(s.Index), c.engine.epoch.Wall(time.Now())
	if i >= c.n || c.state[i]&handed == 0 {
		return wrong(s, "index", i, "a message that was handed out")
	}
	// The due instants in two kinds lie ahead.
	if s.A > now+tolerance && s.Kind != program.Taken || s.B > now+tolerance && s.Kind != program.Offering {
		return wrong(s, "b", instant(max(s.A, s.B)), "an instant in the past")
	}
	switch s.Kind {
	case program.Offering, program.Offered, program.Failed, program.Refused, program.Skipped:
		return c.offered(m, i, s)
	case program.Taken:
		return c.taken(i, s)
	case program.Removed, program.TooLate, program.Unmoved:
		return c.removal(i, s)
	}
	return fmt.Errorf("kind: expected a kind of docs/protocol.md, got %q", rune(s.Kind))
}

func wrong(s program.Sample, field string, got, want any) error {
	return fmt.Errorf("%c.%s: expected %v, got %v", s.Kind, field, want, got)
}

func instant(unixNs int64) time.Time { return time.Unix(0, unixNs).UTC() }

// dueIs keeps when a message is due. Its offer and its take must agree.
func (c *collector) dueIs(i, due int64, s program.Sample) error {
	if was := c.due[i]; was != 0 && was != due {
		return wrong(s, "a", due, fmt.Sprintf("due = sent + its delay = %d", was))
	}
	c.due[i] = due
	return nil
}

func (c *collector) offered(m *member, i int64, s program.Sample) error {
	item := c.item(i)
	switch {
	case int(c.owner[i]) != m.number:
		return wrong(s, "index", i, "a message that was handed to this agent")
	case c.state[i]&answered != 0:
		return wrong(s, "index", fmt.Sprintf("message %d twice", i), "one answer to each offer")
	case s.Kind == program.Skipped:
		c.becomes(i, answered, item.At)
		c.open[m.number]--
		c.second(item.At).Unsent++
		return nil
	case s.A < item.At-tolerance:
		return wrong(s, "a", instant(s.A), fmt.Sprintf("%s or later, when the offer was due", instant(item.At)))
	}
	if err := c.dueIs(i, item.DueAt(s.A), s); err != nil {
		return err
	}
	switch {
	case s.Kind == program.Offering && s.B != c.due[i]:
		return wrong(s, "b", s.B, fmt.Sprintf("due = sent + its delay = %d", c.due[i]))
	case s.Kind != program.Offering && s.B < s.A:
		return wrong(s, "b", s.B, fmt.Sprintf("%d, when it was sent, or later", s.A))
	case c.awaited(i):
		c.lastDue = max(c.lastDue, c.due[i])
	}
	if s.Kind == program.Offering {
		c.becomes(i, tried, s.A)
		c.unanswered++
		m := c.message(i)
		m.Sent, m.Due = s.A, s.B
		return nil
	}
	if c.state[i]&tried != 0 {
		c.unanswered--
	}
	c.open[m.number]--
	lag, second := s.A-item.At, c.second(s.B)
	second.h.OfferRTT.Record(s.B - s.A)
	second.h.ScheduleLag.Record(lag)
	second.h.ResponseTime.Record(s.B - item.At)
	c.late(item.At, lag, int64(s.Waited)*1000)
	kept := c.message(i)
	kept.Sent, kept.Due, kept.Answered, kept.Failed, kept.Refused = s.A, c.due[i], s.B, s.Kind != program.Offered, s.Kind == program.Refused
	if s.Kind != program.Offered {
		c.becomes(i, tried|answered, s.B)
		c.failed++
		return nil
	}
	c.becomes(i, tried|answered|confirmed, s.B)
	c.accepted++
	second.Offered++
	return nil
}

// becomes sets bits of a message, and counts the messages that are waited for.
func (c *collector) becomes(i int64, bits byte, at int64) {
	waits := func() bool { return c.state[i]&(confirmed|delivered|removed) == confirmed }
	before := waits()
	c.state[i] |= bits
	by := int64(1)
	switch {
	case waits() == before:
		return
	case before:
		by = -1
	}
	c.second(at).Pending += by
	if c.awaited(i) {
		c.outstanding += by
	}
}

func (c *collector) awaited(i int64) bool { return c.due[i] <= c.horizon }

// message is the record of a message, or one that is not kept.
func (c *collector) message(i int64) *Message {
	if c.messages == nil {
		return &c.other
	}
	return &c.messages[i]
}

func (c *collector) taken(i int64, s program.Sample) error {
	if err := c.dueIs(i, s.A, s); err != nil {
		return err
	}
	if c.due[i] == 0 || s.A < c.item(i).At-tolerance {
		return wrong(s, "a", s.A, "an instant after the offer was due")
	}
	kept := c.message(i)
	kept.Due = s.A
	if kept.Came == 0 || s.B < kept.Came {
		kept.Came = s.B
	}
	if c.state[i]&delivered != 0 {
		kept.Again++
		c.counts.Duplicate++
		return nil
	}
	c.becomes(i, delivered, s.B)
	late, a, second := s.B-s.A, span{s.A / 1e6 * 1e6, s.B}, c.second(s.B)
	if late < -int64(run.EarlyTolerance) {
		c.counts.Early++
	}
	second.h.Lateness.Record(late)
	second.h.PastDue.Record(a.length())
	second.Delivered++
	if s.B >= c.start+c.closed*int64(time.Second) { // else its second has been put in order
		second.arrivals = append(second.arrivals, delivery{s.B, s.A, i})
	}
	c.lastCame = max(c.lastCame, s.B)
	if a.length() > int64(run.LateBound) {
		if c.latest = append(c.latest, a); len(c.latest) >= 2*c.keeps() {
			c.sortLatest()
		}
	}
	return nil
}

func (c *collector) removal(i int64, s program.Sample) error {
	switch {
	case c.item(i).CancelAfter == 0:
		return wrong(s, "index", i, "a message that was to be cancelled")
	case s.B < s.A:
		return wrong(s, "b", s.B, fmt.Sprintf("%d, when it began, or later", s.A))
	}
	h := &c.second(s.B).h
	if h.RemoveRTT == nil {
		h.RemoveRTT = run.NewHistogram()
	}
	h.RemoveRTT.Record(s.B - s.A)
	switch s.Kind {
	case program.TooLate:
		c.tooLate++
	case program.Unmoved:
		c.moveErrors++
	default:
		c.becomes(i, removed, s.B)
	}
	return nil
}

// offering is how many items have no answer.
func (c *collector) offering() (n int64) {
	for _, open := range c.open {
		n += open
	}
	return n
}

// offersBegun is how many offers were made, answered or not.
func (c *collector) offersBegun() int64 { return c.accepted + c.unsure() }

// unsure is how many offers were not confirmed, though they may have been accepted.
func (c *collector) unsure() int64 { return c.failed + c.unanswered }

// keepHeld notes a message that is still held at the end. Its error is as add's.
func (c *collector) keepHeld(s program.Sample, now int64) error {
	i := int64(s.Index)
	if s.Kind != program.Held || i >= c.n || c.state[i]&handed == 0 {
		return wrong(s, "index", i, "a message that was handed out, as a sample h")
	}
	c.state[i] |= held
	if s.A > now {
		c.state[i] |= notDue
	}
	return c.dueIs(i, s.A, s)
}

// balance strikes the counts: delivered before cancelled before held before lost. unread says that the held messages could not be
// read. A dead member's offers are unknown from its last report on; its later items were not sent.
func (c *collector) balance(unread bool) run.Counts {
	b := c.counts
	unknown := unread || c.dropped > 0 || slices.ContainsFunc(c.engine.members, func(m *member) bool { return m.broken && m.Takes })
	for i, s := range c.state {
		owner := c.engine.members[c.owner[i]]
		open := s&(handed|answered) == handed && owner.broken && c.item(int64(i)).At <= c.engine.epoch.Wall(owner.heard.Add(time.Second))
		switch {
		case s&delivered != 0:
			b.Delivered++
			if s&removed != 0 {
				b.Revived++
			}
		case s&removed != 0:
			b.Removed++
		case s&held != 0:
			b.Pending++
			if s&notDue != 0 {
				b.NotDue++
			}
			c.message(int64(i)).Pending = true
		case s&confirmed != 0 && unknown, open:
			b.Unknown++
			if s&(tried|confirmed) == 0 {
				c.untold++
			}
			item := c.item(int64(i))
			due := int((cmp.Or(c.due[i], item.DueAt(item.At)) - c.start) / int64(time.Second))
			c.intervals[max(min(due, len(c.intervals)-1), 0)].Unknown++ // of the second in which it was due, or of the last one
		case s&confirmed != 0:
			b.Lost++
		}
	}
	for _, s := range c.seconds { // of samples after the close of the last second
		c.histograms.Add(s.h)
	}
	clear(c.seconds)
	b.Offered = b.Delivered + b.Removed + b.Pending + b.Lost + b.Unknown
	b.OfferErrors = c.unsure()
	return b
}
