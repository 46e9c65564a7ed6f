package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// What has become of a message, as bits.
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

// Message is the record of one message of the measured phase. Instants are Unix times in ns, 0 for
// what has not been.
type Message struct {
	// Due is when it comes due.
	Due int64
	// Sent is the instant before its offer, Answered that of the answer, which Failed says
	// was an error, and Refused one which says that nothing was queued. An offer without an
	// answer was cancelled, or its process was killed.
	Sent, Answered  int64
	Failed, Refused bool
	// Came is the first delivery; Again counts those after it.
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

// collector counts the samples of all agents in a phase. It is the only place where anything is
// counted. It keeps 11 bytes for each message, and 64 more where account is kept.
type collector struct {
	start   int64 // Unix ns
	seed    uint64
	plan    plan.PhasePlan
	n       int64
	queues  int64
	horizon int64 // Unix ns after which messages are not waited for
	maxLag  int64
	now     func() int64 // by which an agent's instants must have come

	mu       sync.Mutex
	state    []byte
	due      []int64
	owner    []uint16 // the member that is to offer it
	open     []int64  // of each member: items without an answer
	messages []Message

	counts      run.Counts
	attempted   int64
	unanswered  int64 // offers begun by an agent that reports that, without an answer yet
	failed      int64
	accepted    int64
	skipped     int64
	dropped     int64 // samples
	outstanding int64
	takeErrors  int64
	moveErrors  int64
	tooLate     int64
	lastDue     int64
	lastCame    int64
	offers      run.Offers
	lateByTool  []stretch
	histograms  run.Histograms
	order       order
	seconds     map[int64]*second
	closed      int64
	pending     int64
	intervals   []run.Interval
	sums        run.Histograms // of the seconds that are closed
	log         *run.LatenessLog
	latest      []arrival
}

// arrival is a delivery: the due instant, cut to its millisecond, and when it came, both in Unix ns.
type arrival struct{ due, came int64 }

func (a arrival) pastDue() int64 { return a.came - a.due }

// stretch is a time in which an offer that was due had not been made, in Unix ns.
type stretch struct{ from, to int64 }

func (e *engine) newCollector(which plan.Phase, start time.Time) *collector {
	p := e.Plan.Phase(which)
	n := p.Schedule.Messages()
	at := e.epoch.Wall(start)
	c := &collector{
		start: at, seed: e.Plan.Seed, plan: p, n: n, queues: int64(max(e.Plan.Queues, 1)), horizon: math.MaxInt64,
		maxLag: int64(cmp.Or(e.Plan.MaxScheduleLag, plan.DefaultMaxScheduleLag)), now: func() int64 { return e.epoch.Wall(time.Now()) },
		state: make([]byte, n), due: make([]int64, n), owner: make([]uint16, n), open: make([]int64, len(e.members)),
		histograms: run.NewHistograms(), seconds: map[int64]*second{}, sums: liveHistograms(),
		order: newOrder(max(e.Plan.Queues, 1), e.Plan.Producers),
	}
	if p.Horizon > 0 {
		c.horizon = at + int64(p.Schedule.At(n-1)+p.Horizon)
	}
	c.log, _ = run.NewLatenessLog(start) // fails for a time that no run has
	if e.Account && which == plan.Measured {
		c.messages = make([]Message, n)
	}
	return c
}

// item is a message as an agent is told of it.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state[i] |= handed
	c.owner[i] = uint16(m.number)
	c.open[m.number]++
}

// tolerance is how far the clocks of two processes may be apart, one of them on another host.
const tolerance = int64(2 * clockTolerance)

// add counts a sample of a member. Its error is a *ReportError.
func (c *collector) add(m *member, s agent.Sample) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
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
	i := int64(s.Index)
	if i >= c.n || c.state[i]&handed == 0 {
		return &ReportError{string(s.Kind) + ".index", i, "a message that was handed out"}
	}
	// The due instants in two kinds lie ahead.
	if s.A > now+tolerance && s.Kind != agent.Taken || s.B > now+tolerance && s.Kind != agent.Offering {
		return &ReportError{string(s.Kind) + ".b", time.Unix(0, max(s.A, s.B)).UTC(), "an instant that has come"}
	}
	switch s.Kind {
	case agent.Offering, agent.Offered, agent.Failed, agent.Refused, agent.Skipped:
		return c.offered(m, i, s)
	case agent.Taken:
		return c.taken(i, s)
	case agent.Removed, agent.TooLate, agent.Unmoved:
		return c.removal(i, s)
	}
	return &ReportError{"kind", fmt.Sprintf("%q", rune(s.Kind)), "one of those of docs/protocol.md"}
}

// dueIs keeps when a message is due. Who offers it and who takes it must agree on that.
func (c *collector) dueIs(i, due int64, field string) error {
	if was := c.due[i]; was != 0 && was != due {
		return &ReportError{field, due, fmt.Sprintf("due = sent + its delay = %d", was)}
	}
	c.due[i] = due
	return nil
}

// offered counts how an offer went.
func (c *collector) offered(m *member, i int64, s agent.Sample) error {
	item, kind := c.item(i), string(s.Kind)
	switch {
	case int(c.owner[i]) != m.number:
		return &ReportError{kind + ".index", i, "a message that was handed to this agent"}
	case c.state[i]&answered != 0:
		return &ReportError{kind + ".index", fmt.Sprintf("message %d twice", i), "one answer to each offer"}
	}
	if s.Kind == agent.Skipped {
		c.state[i] |= answered
		c.open[m.number]--
		c.skipped++
		c.second(item.At).skipped++
		return nil
	}
	if s.A < item.At-tolerance {
		return &ReportError{kind + ".a", time.Unix(0, s.A).UTC(), fmt.Sprintf("%s or later, when the offer was due", time.Unix(0, item.At).UTC())}
	}
	if err := c.dueIs(i, item.DueAt(s.A), kind+".a"); err != nil {
		return err
	}
	if s.Kind == agent.Offering {
		if s.B != c.due[i] {
			return &ReportError{"o.b", s.B, fmt.Sprintf("due = sent + its delay = %d", c.due[i])}
		}
		c.state[i] |= tried
		c.unanswered++
		c.lastDue = max(c.lastDue, c.awaitedDue(i))
		c.note(i, func(m *Message) { m.Sent, m.Due = s.A, s.B })
		return nil
	}
	if s.B < s.A {
		return &ReportError{kind + ".b", s.B, fmt.Sprintf("%d, when it was sent, or later", s.A)}
	}
	if c.state[i]&tried != 0 {
		c.unanswered--
	}
	c.state[i] |= tried | answered
	c.open[m.number]--
	c.attempted++
	c.lastDue = max(c.lastDue, c.awaitedDue(i))
	rtt, lag := s.B-s.A, s.A-item.At
	c.histograms.OfferRTT.Record(rtt)
	c.histograms.ResponseTime.Record(s.B - item.At)
	c.histograms.ScheduleLag.Record(lag)
	c.late(item.At, lag, int64(s.Waited)*1000)
	second := c.second(s.B)
	second.rtt.Record(rtt)
	second.lag.Record(lag)
	c.note(i, func(m *Message) {
		m.Sent, m.Due, m.Answered, m.Failed, m.Refused = s.A, c.due[i], s.B, s.Kind != agent.Offered, s.Kind == agent.Refused
	})
	if s.Kind != agent.Offered {
		c.failed++
		second.failed++
		return nil
	}
	c.accepted++
	second.offered++
	second.pending++
	c.state[i] |= confirmed
	if c.state[i]&(delivered|removed) != 0 {
		second.pending--
	} else if c.awaited(i) {
		c.outstanding++
	}
	return nil
}

// mostLate bounds what is kept to tell the machine's lateness from the tool's.
const mostLate = 100_000

// late attributes an offer that left late: to the system, whose answers all senders waited for, or to
// the tool, of which the machine's part is found out at the end.
func (c *collector) late(intended, lag, waited int64) {
	switch {
	case lag <= c.maxLag:
	case lag-waited <= c.maxLag:
		c.offers.LateForSystem++
	default:
		c.offers.LateForTool++
		if len(c.lateByTool) < mostLate {
			c.lateByTool = append(c.lateByTool, stretch{intended, intended + lag - waited})
		}
	}
}

func (c *collector) awaited(i int64) bool { return c.due[i] <= c.horizon }

// awaitedDue is when a message is due that is waited for, else 0.
func (c *collector) awaitedDue(i int64) int64 {
	if c.awaited(i) {
		return c.due[i]
	}
	return 0
}

func (c *collector) note(i int64, f func(*Message)) {
	if c.messages != nil {
		f(&c.messages[i])
	}
}

// taken counts a delivery.
func (c *collector) taken(i int64, s agent.Sample) error {
	if err := c.dueIs(i, s.A, "t.a"); err != nil {
		return err
	}
	if c.due[i] == 0 || s.A < c.item(i).At-tolerance {
		return &ReportError{"t.a", s.A, "an instant after the offer was due"}
	}
	c.note(i, func(m *Message) {
		m.Due = s.A
		if m.Came != 0 {
			m.Again++
		}
		if m.Came == 0 || s.B < m.Came {
			m.Came = s.B
		}
	})
	if c.state[i]&delivered != 0 {
		c.counts.Duplicate++
		return nil
	}
	second := c.second(s.B)
	if c.state[i]&(confirmed|removed) == confirmed {
		second.pending--
		if c.awaited(i) {
			c.outstanding--
		}
	}
	c.state[i] |= delivered
	lateness := s.B - s.A
	if lateness < -int64(run.EarlyTolerance) {
		c.counts.Early++
	}
	a := arrival{s.A / 1e6 * 1e6, s.B}
	c.histograms.Lateness.Record(lateness)
	c.histograms.PastDue.Record(a.pastDue())
	second.delivered++
	second.lateness.Record(lateness)
	second.pastDue.Record(a.pastDue())
	second.arrivals = append(second.arrivals, delivery{s.B, s.A, i})
	c.lastCame = max(c.lastCame, s.B)
	if a.pastDue() > int64(run.LateBound) {
		c.keepLatest(a)
	}
	return nil
}

// removal counts how a cancellation went.
func (c *collector) removal(i int64, s agent.Sample) error {
	switch {
	case c.item(i).CancelAfter == 0:
		return &ReportError{string(s.Kind) + ".index", i, "a message that was to be cancelled"}
	case s.B < s.A:
		return &ReportError{string(s.Kind) + ".b", s.B, fmt.Sprintf("%d, when it began, or later", s.A)}
	}
	if c.histograms.RemoveRTT == nil {
		c.histograms.RemoveRTT = run.NewHistogram(run.TotalDigits)
	}
	c.histograms.RemoveRTT.Record(s.B - s.A)
	switch s.Kind {
	case agent.TooLate:
		c.tooLate++
	case agent.Unmoved:
		c.moveErrors++
	default:
		if c.state[i]&(confirmed|delivered|removed) == confirmed {
			c.second(s.B).pending--
			if c.awaited(i) {
				c.outstanding--
			}
		}
		c.state[i] |= removed
	}
	return nil
}

// The bounds of how many arrivals a phase keeps: a hundredth of its messages, for quantiles up to
// p99, within them.
const (
	leastLatest = 1000
	mostLatest  = 10_000
)

// keepLatest keeps at least the latest hundredth.
func (c *collector) keepLatest(a arrival) {
	if c.latest = append(c.latest, a); len(c.latest) >= 2*c.keeps() {
		c.sortLatest()
	}
}

func (c *collector) keeps() int { return int(min(max(c.n/100, leastLatest), mostLatest)) }

func (c *collector) sortLatest() {
	slices.SortFunc(c.latest, func(a, b arrival) int { return cmp.Compare(b.pastDue(), a.pastDue()) })
	c.latest = c.latest[:min(len(c.latest), c.keeps())]
}

// second is the second of an instant, or the oldest that is not closed.
func (c *collector) second(at int64) *second {
	k := max((at-c.start)/int64(time.Second), c.closed)
	s := c.seconds[k]
	if s == nil {
		s = newSecond()
		c.seconds[k] = s
	}
	return s
}

// lost forgets what a member that is gone has not answered.
func (c *collector) lost(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[m.number] = 0
}

// offering is how many items of a member have no answer.
func (c *collector) offering(m *member) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[m.number]
}

// standing is how a phase stands.
type standing struct {
	offering, outstanding, unsure, attempted, delivered int64
	lastDue, lastCame                                   int64
}

func (c *collector) stands() (s standing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.open {
		s.offering += n
	}
	s.outstanding, s.unsure, s.attempted, s.delivered = c.outstanding, c.failed+c.unanswered, c.attempted, c.histograms.Lateness.Count()
	s.lastDue, s.lastCame = c.lastDue, c.lastCame
	return s
}

// keepHeld notes a message that is still held at the end.
func (c *collector) keepHeld(index uint32, due, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := int64(index); i < c.n && c.state[i]&handed != 0 {
		c.state[i] |= held
		if due > now {
			c.state[i] |= notDue
		}
	}
}

// balance strikes the counts: delivered before cancelled before held before lost. unread says that
// nobody could tell what is held, and broken when a member was heard of last whose part since then is not
// known, 0 for others: what it was given to send later has not been sent.
func (c *collector) balance(unread bool, broken func(owner uint16) int64, takerBroken bool) run.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.counts
	for i, s := range c.state {
		open := s&handed != 0 && s&answered == 0
		if open {
			since := broken(c.owner[i])
			open = since != 0 && c.item(int64(i)).At <= since+int64(time.Second)
		}
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
			c.note(int64(i), func(m *Message) { m.Pending = true })
		case s&confirmed != 0 && (unread || takerBroken || c.dropped > 0), open:
			b.Unknown++
		case s&confirmed != 0:
			b.Lost++
		}
	}
	b.Offered = b.Delivered + b.Removed + b.Pending + b.Lost + b.Unknown
	b.OfferErrors = c.failed + c.unanswered
	return b
}
