package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/agent"
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

// Message is the record of one message of the measured phase. Instants are Unix times in ns, 0 for steps that did not happen.
type Message struct {
	// Due is its due instant.
	Due int64
	// Sent is the instant before its offer, Answered the instant of the answer, which Failed says was an error, and Refused
	// one which says that nothing was queued. An offer without an answer was cancelled, or its process was killed.
	Sent, Answered  int64
	Failed, Refused bool
	// Came is the first delivery; Again counts the later ones.
	Came, Again int64
	// Pending says that it is still held at the end.
	Pending bool
}

// Acknowledged reports whether its offer was confirmed.
func (m Message) Acknowledged() bool { return m.Answered != 0 && !m.Failed }

// ReportError says that an agent reported what cannot be.
type ReportError struct {
	// Field names the mistake: the kind of the sample and the field.
	Field     string
	Got, Want any
}

func (e *ReportError) Error() string {
	return fmt.Sprintf("%s: expected %v, got %v", e.Field, e.Want, e.Got)
}

// span is a time, in Unix ns: from a due instant, cut to its millisecond, to the delivery, or a stall.
type span struct{ from, to int64 }

func (s span) length() int64 { return s.to - s.from }

// collector counts the samples of all agents in a phase. Nothing is counted anywhere else. It keeps 11 bytes for
// each message, and 64 more of a run in which something breaks. The engine's lock guards it.
type collector struct {
	start   int64 // Unix ns
	seed    uint64
	plan    plan.PhasePlan
	n       int64
	queues  int64
	horizon int64 // Unix ns after which messages are not waited for
	maxLag  int64
	now     func() int64 // an agent's instants must not be later
	members []*member

	state    []byte
	due      []int64
	owner    []uint16 // the member that is to offer it
	open     []int64  // of each member: items without an answer
	messages []Message
	other    Message // in the place of a record that is not kept

	counts      run.Counts
	unanswered  int64 // offers begun by an agent that reports that, without an answer yet
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
	n := p.Schedule.Messages()
	at := e.epoch.Wall(start)
	c := &collector{
		start: at, seed: e.Plan.Seed, plan: p, n: n, queues: int64(max(e.Plan.Queues, 1)), horizon: math.MaxInt64,
		maxLag: int64(cmp.Or(e.Plan.MaxScheduleLag, plan.DefaultMaxScheduleLag)), now: func() int64 { return e.epoch.Wall(time.Now()) },
		members: e.members, state: make([]byte, n), due: make([]int64, n), owner: make([]uint16, n), open: make([]int64, len(e.members)),
		seconds: map[int64]*second{}, histograms: run.NewHistograms(), log: run.NewLatenessLog(start),
		order: newOrder(max(e.Plan.Queues, 1), e.Plan.Producers),
	}
	if p.Horizon > 0 {
		c.horizon = at + int64(p.Schedule.At(n-1)+p.Horizon)
	}
	if e.accounts() && which == plan.Measured {
		c.messages = make([]Message, n)
	}
	return c
}

// item is a message in the form for agents.
func (c *collector) item(i int64) agent.Item {
	item := agent.Item{Index: uint32(i), At: c.start + int64(c.plan.Schedule.At(i))}
	delay := c.plan.Delay.Of(c.seed, i, c.n)
	if c.plan.Delay.Together {
		item.Due = (c.start + int64(delay)) / 1e6
	} else {
		item.Delay = delay.Milliseconds()
	}
	if c.plan.Cancel.Chosen(c.seed, i) {
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

// add counts a sample of a member. Its error is a *ReportError.
func (c *collector) add(m *member, s agent.Sample) error {
	switch s.Kind {
	case agent.Foreign:
		c.counts.Foreign++
		return nil
	case agent.Corrupt:
		c.counts.Corrupt++
		return nil
	case agent.TakeFail:
		c.takeErrors++
		return nil
	case agent.Dropped:
		c.dropped += s.A
		return nil
	}
	i, now := int64(s.Index), c.now()
	if i >= c.n || c.state[i]&handed == 0 {
		return wrong(s, "index", i, "a message that was handed out")
	}
	// The due instants in two kinds lie ahead.
	if s.A > now+tolerance && s.Kind != agent.Taken || s.B > now+tolerance && s.Kind != agent.Offering {
		return wrong(s, "b", instant(max(s.A, s.B)), "an instant in the past")
	}
	switch s.Kind {
	case agent.Offering, agent.Offered, agent.Failed, agent.Refused, agent.Skipped:
		return c.offered(m, i, s)
	case agent.Taken:
		return c.taken(i, s)
	case agent.Removed, agent.TooLate, agent.Unmoved:
		return c.removal(i, s)
	}
	return &ReportError{"kind", fmt.Sprintf("%q", rune(s.Kind)), "a kind of docs/protocol.md"}
}

func wrong(s agent.Sample, field string, got, want any) error {
	return &ReportError{string(s.Kind) + "." + field, got, want}
}

func instant(unixNs int64) time.Time { return time.Unix(0, unixNs).UTC() }

// dueIs keeps when a message is due. Its offer and its take must agree.
func (c *collector) dueIs(i, due int64, s agent.Sample) error {
	if was := c.due[i]; was != 0 && was != due {
		return wrong(s, "a", due, fmt.Sprintf("due = sent + its delay = %d", was))
	}
	c.due[i] = due
	return nil
}

// offered counts how an offer went.
func (c *collector) offered(m *member, i int64, s agent.Sample) error {
	item := c.item(i)
	switch {
	case int(c.owner[i]) != m.number:
		return wrong(s, "index", i, "a message that was handed to this agent")
	case c.state[i]&answered != 0:
		return wrong(s, "index", fmt.Sprintf("message %d twice", i), "one answer to each offer")
	case s.Kind == agent.Skipped:
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
	case s.Kind == agent.Offering && s.B != c.due[i]:
		return wrong(s, "b", s.B, fmt.Sprintf("due = sent + its delay = %d", c.due[i]))
	case s.Kind != agent.Offering && s.B < s.A:
		return wrong(s, "b", s.B, fmt.Sprintf("%d, when it was sent, or later", s.A))
	case c.awaited(i):
		c.lastDue = max(c.lastDue, c.due[i])
	}
	if s.Kind == agent.Offering {
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
	kept.Sent, kept.Due, kept.Answered, kept.Failed, kept.Refused = s.A, c.due[i], s.B, s.Kind != agent.Offered, s.Kind == agent.Refused
	if s.Kind != agent.Offered {
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

// mostLate bounds the samples kept to separate the machine's lateness from the tool's.
const mostLate = 100_000

// late attributes an offer that left late: to the system, whose answers all senders waited for, or to the tool, of which the
// machine's part is found out at the end.
func (c *collector) late(intended, lag, waited int64) {
	switch {
	case lag <= c.maxLag:
	case lag-waited <= c.maxLag:
		c.offers.LateForSystem++
	default:
		c.offers.LateForTool++
		if len(c.lateByTool) < mostLate {
			c.lateByTool = append(c.lateByTool, span{intended, intended + lag - waited})
		}
	}
}

// taken counts a delivery.
func (c *collector) taken(i int64, s agent.Sample) error {
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
	second.arrivals = append(second.arrivals, delivery{s.B, s.A, i})
	c.lastCame = max(c.lastCame, s.B)
	if a.length() > int64(run.LateBound) {
		if c.latest = append(c.latest, a); len(c.latest) >= 2*c.keeps() {
			c.sortLatest()
		}
	}
	return nil
}

// removal counts how a cancellation went.
func (c *collector) removal(i int64, s agent.Sample) error {
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
	case agent.TooLate:
		c.tooLate++
	case agent.Unmoved:
		c.moveErrors++
	default:
		c.becomes(i, removed, s.B)
	}
	return nil
}

// keeps is how many of the latest deliveries a phase keeps: a hundredth of its messages, for quantiles up to p99, within bounds.
func (c *collector) keeps() int { return int(min(max(c.n/100, 1000), 10_000)) }

func (c *collector) sortLatest() {
	slices.SortFunc(c.latest, func(a, b span) int { return cmp.Compare(b.length(), a.length()) })
	c.latest = c.latest[:min(len(c.latest), c.keeps())]
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

// keepHeld notes a message that is still held at the end.
func (c *collector) keepHeld(index uint32, due, now int64) {
	if i := int64(index); i < c.n && c.state[i]&handed != 0 {
		c.state[i] |= held
		if due > now {
			c.state[i] |= notDue
		}
	}
}

// balance strikes the counts: delivered before cancelled before held before lost. unread says that the held messages could not be
// read. A dead member's offers are unknown from its last report on; its later items were not sent.
func (c *collector) balance(unread bool) run.Counts {
	b := c.counts
	unknown := unread || c.dropped > 0 || slices.ContainsFunc(c.members, func(m *member) bool { return m.broken && m.Takes })
	for i, s := range c.state {
		owner := c.members[c.owner[i]]
		open := s&(handed|answered) == handed && owner.broken && c.item(int64(i)).At <= owner.brokenSince()+int64(time.Second)
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
			c.intervalOf(int64(i)).Unknown++
		case s&confirmed != 0:
			b.Lost++
		}
	}
	for _, s := range c.seconds { // of samples that came after the last second was closed
		c.histograms.Add(s.h)
	}
	clear(c.seconds)
	b.Offered = b.Delivered + b.Removed + b.Pending + b.Lost + b.Unknown
	b.OfferErrors = c.unsure()
	return b
}

// intervalOf is the interval in which a message was due, or the last one.
func (c *collector) intervalOf(i int64) *run.Interval {
	item := c.item(i)
	second := (cmp.Or(c.due[i], item.DueAt(item.At)) - c.start) / int64(time.Second)
	return &c.intervals[max(min(int(second), len(c.intervals)-1), 0)]
}

// settled is how long after its end a second is closed: what agents report later counts for the next one that is open.
const settled = 500 * time.Millisecond

// second is a second that is not over yet. Its Pending is by how many messages more are pending.
type second struct {
	run.Interval
	h        run.Histograms
	arrivals []delivery
}

// second is the second of an instant, or the oldest that is not closed.
func (c *collector) second(at int64) *second {
	k := max((at-c.start)/int64(time.Second), c.closed)
	s := c.seconds[k]
	if s == nil {
		s = &second{h: run.NewHistograms()}
		c.seconds[k] = s
	}
	return s
}

// close closes the seconds that ended before an instant, Unix ns; with last all that there is.
func (c *collector) close(now int64, last bool) (all []*second) {
	elapsed := now - c.start
	for k := c.closed; (k+1)*int64(time.Second) <= elapsed || last && (len(c.seconds) > 0 || k == 0); k++ {
		s := c.second(c.start + k*int64(time.Second))
		delete(c.seconds, k)
		s.Second = float64(k + 1)
		if last && len(c.seconds) == 0 {
			s.Second = min(s.Second, max(float64(elapsed)/1e9, float64(k)))
		}
		c.pending += s.Pending
		late, past := s.h.Lateness, s.h.PastDue
		s.Pending, s.Inversions = max(c.pending, 0), c.order.add(s.arrivals)
		s.P50, s.P99, s.Max = late.Quantile(.5), late.Quantile(.99), late.Max()
		s.PastDueP50, s.PastDueP99, s.PastDueMax = past.Quantile(.5), past.Quantile(.99), past.Max()
		c.intervals = append(c.intervals, s.Interval)
		c.histograms.Add(s.h)
		_ = c.log.Add(instant(c.start+k*int64(time.Second)), instant(c.start+int64(s.Second*1e9)), late)
		c.closed = k + 1
		all = append(all, s)
	}
	return all
}

// delivery is a delivery at an instant, of a message that was due at another, in Unix ns.
type delivery struct{ came, due, index int64 }

// order counts inversions: messages delivered after a message that was due clearly later.
type order struct {
	run.Order
	queues, producers []int64 // the latest due instant delivered
}

// apart is by how much a message must be due earlier, to be out of order: the resolution of the format.
const apart = int64(time.Millisecond)

func newOrder(queues, producers int) order {
	return order{queues: make([]int64, queues), producers: make([]int64, producers)}
}

// add takes the deliveries of a second, and returns the number out of order.
func (o *order) add(arrivals []delivery) int64 {
	slices.SortFunc(arrivals, func(a, b delivery) int {
		return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.due, b.due))
	})
	before := o.Inversions
	for _, a := range arrivals {
		queue, producer := &o.queues[a.index%int64(len(o.queues))], &o.producers[a.index%int64(len(o.producers))]
		if by := *queue - a.due; by >= apart {
			o.Inversions++
			o.LongestNs = max(o.LongestNs, by)
		}
		if *producer-a.due >= apart {
			o.OfOneProducer++
		}
		*queue, *producer = max(*queue, a.due), max(*producer, a.due)
	}
	return o.Inversions - before
}
