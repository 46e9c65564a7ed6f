package load

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// The fate of a message, as bits.
const (
	answered  = 1 << iota // the offer, one way or another
	tried                 // the offer was begun
	confirmed             // it was accepted
	delivered
	removed
	held // at the end
)

// phase is a phase of a run under way. It hands the messages out, and counts the samples of all agents; nothing is counted elsewhere.
// It keeps 11 bytes for each message, and 24 more of a run in which something breaks. The engine's lock guards what changes.
type phase struct {
	engine                       *engine
	which                        plan.Phase
	mark                         uint32    // of the indices of its messages
	plan                         plan.Plan // of the phase
	schedule                     plan.Schedule
	n                            int64
	start                        time.Time
	startNs                      int64            // the same, in Unix ns
	horizon, read                int64            // Unix ns after which messages are not waited for, 0 if for all, and at which the held ones were read
	next                         int64            // the first message that was not handed out
	stopped, abandoned           bool             // the offers, by an interrupt that cancels those under way
	recent                       []run.Histograms // of each second of a warm-up with deliveries
	warm                         bool             // nothing fell any more
	lastChange                   time.Time        // when a member has begun last
	state                        []byte
	due                          []int64
	owner                        []uint16 // the member that is to offer it
	open                         []int64  // of each member: items without an answer
	records                      []record // nil unless each message is accounted for
	counts                       run.Counts
	unanswered                   int64      // offers begun by an agent that reports that, without an answer yet
	told                         [256]int64 // samples by their kind
	outstanding, closed, pending int64
	lastDue, lastCame            int64 // of the messages that are waited for
	offers                       run.Offers
	order                        order
	lateByTool, latest           []span            // the latter of the deliveries
	copies                       map[uint32]bool   // delivered messages that are still queued at the end
	seconds                      map[int64]*second // that are not over
	intervals                    []run.Interval
	histograms                   run.Histograms // of the seconds that are closed
	log                          *run.LatenessLog
}

// record has the instants of a message's offer, of the answer, which may be a refusal, and of the first delivery: Unix ns, and 0 before.
type record struct {
	answered, came, sent int64
	refused              bool
}

func (e *engine) newPhase(which plan.Phase, start time.Time) *phase {
	p := &phase{
		engine: e, which: which, mark: map[plan.Phase]uint32{plan.Warmup: program.Warm}[which], plan: e.Plan.Phase(which),
		start: start, startNs: e.epoch.Wall(start), open: make([]int64, len(e.members)),
		seconds: map[int64]*second{}, histograms: run.NewHistograms(), log: run.NewLatenessLog(start),
		order: order{queues: make([]int64, max(e.Plan.Queues, 1)), producers: make([]int64, e.Plan.Producers)},
	}
	if which == plan.Warmup && e.Plan.WarmupEnds && float64(e.Plan.Rate)*stillSeconds < stillMessages {
		p.plan.Duration = min(p.plan.Duration, thinWarmup)
	}
	p.schedule = p.plan.Schedule()
	p.n = p.schedule.Messages()
	p.state, p.due, p.owner = make([]byte, p.n), make([]int64, p.n), make([]uint16, p.n)
	if p.plan.Horizon > 0 {
		p.horizon = p.startNs + int64(p.schedule.At(p.n-1)+p.plan.Horizon)
	}
	if e.accounts() && which == plan.Measured {
		p.records = make([]record, p.n)
	}
	return p
}

func (p *phase) item(i int64) program.Item {
	item := program.Item{Index: uint32(i) | p.mark, At: p.startNs + int64(p.schedule.At(i))}
	delay := p.plan.Delay.Of(p.plan.Seed, i, p.n)
	if p.plan.Delay.Together {
		item.Due = (p.startNs + int64(delay)) / 1e6
	} else {
		item.Delay = delay.Milliseconds()
	}
	if p.plan.Cancel.Chosen(p.plan.Seed, i) {
		item.CancelAfter = uint32(p.plan.Cancel.After.Milliseconds()) + 1
	}
	return item
}

// hand notes that the next message is a member's to offer.
func (p *phase) hand(m *member) {
	p.owner[p.next] = uint16(m.number)
	p.open[m.number]++
	p.next++
}

// tolerance is how far the clocks of two processes may be apart, one of them on another host.
const tolerance = int64(2 * clockTolerance)

// add counts a sample of a message. Its error names the kind of an impossible sample, the field and the expected value.
func (p *phase) add(m *member, s program.Sample) error {
	i, now := int64(s.Index), p.engine.epoch.Wall(time.Now())
	if i >= p.next {
		return wrong(s, "index", i, "a message that was handed out")
	}
	item := p.item(i)
	switch { // the due instants in two kinds lie ahead: dueIs checks them
	case s.Kind == program.Skipped:
	case p.state[i]&(tried|answered) == answered:
		return wrong(s, "index", fmt.Sprintf("%d, which an s said was not", i), "a message that was offered")
	case s.Kind != program.Taken && !between(item.At, s.A, now):
		return wrong(s, "a", instant(s.A), "an instant since the offer was due, in the past")
	case s.Kind != program.Offering && !between(item.At, s.B, now):
		return wrong(s, "b", instant(s.B), "an instant since the offer was due, in the past")
	case s.Kind != program.Taken && s.B < s.A:
		return wrong(s, "b", s.B, fmt.Sprintf("%d, when it began, or later", s.A))
	}
	switch s.Kind {
	case program.Offering, program.Offered, program.Failed, program.Refused, program.Skipped:
		return p.offered(m, item, s, now)
	case program.Taken:
		return p.taken(item, s, now)
	case program.Removed, program.TooLate, program.Unmoved:
		return p.removal(item, s)
	}
	return fmt.Errorf("kind: expected a kind of docs/protocol.md, got %q", rune(s.Kind))
}

func wrong(s program.Sample, field string, got, want any) error {
	return fmt.Errorf("%c.%s: expected %v, got %v", s.Kind, field, want, got)
}

// between reports whether an instant lies between two others, by clocks of two processes.
func between(first, at, last int64) bool { return at >= first-tolerance && at <= last+tolerance }

func instant(unixNs int64) time.Time { return time.Unix(0, unixNs).UTC() }

// dueIs keeps when a message is due. Its offer and its take must agree.
func (p *phase) dueIs(due int64, item program.Item, s program.Sample, now int64) error {
	switch was := p.due[s.Index]; {
	case was == due && due != 0:
	case was != 0:
		return wrong(s, "a", due, fmt.Sprintf("due = sent + its delay = %d", was))
	case !between(item.At, due, item.DueAt(now)):
		return wrong(s, "a", instant(due), "an instant since the offer was due, by its delay")
	}
	p.due[s.Index] = due
	return nil
}

func (p *phase) offered(m *member, item program.Item, s program.Sample, now int64) error {
	i := int64(s.Index)
	switch {
	case int(p.owner[i]) != m.number:
		return wrong(s, "index", i, "a message that was handed to this agent")
	case p.state[i]&answered != 0, s.Kind == program.Offering && p.state[i]&tried != 0:
		return wrong(s, "index", fmt.Sprintf("message %d twice", i), "one answer to each offer")
	case s.Kind == program.Skipped && p.state[i]&(tried|delivered|removed) != 0:
		return wrong(s, "index", fmt.Sprintf("%d, which was", i), "a message that was not offered")
	case s.Kind == program.Skipped && !p.stopped && !m.ended.Load():
		return wrong(s, "index", i, "an offer, for nothing was halted")
	case s.Kind == program.Skipped:
		p.becomes(i, answered, item.At)
		p.open[m.number]--
		p.second(item.At).Unsent++
		return nil
	}
	if err := p.dueIs(item.DueAt(s.A), item, s, now); err != nil {
		return err
	}
	switch {
	case s.Kind == program.Offering && s.B != p.due[i]:
		return wrong(s, "b", s.B, fmt.Sprintf("due = sent + its delay = %d", p.due[i]))
	case p.awaited(i):
		p.lastDue = max(p.lastDue, p.due[i])
	}
	if s.Kind == program.Offering {
		p.becomes(i, tried, s.A)
		p.unanswered++
		return nil
	}
	if p.state[i]&tried != 0 {
		p.unanswered--
	}
	p.open[m.number]--
	lag, second := s.A-item.At, p.second(s.B)
	second.h.OfferRTT.Record(s.B - s.A)
	second.h.ScheduleLag.Record(lag)
	second.h.ResponseTime.Record(s.B - item.At)
	p.late(item.At, lag, int64(s.Waited)*1000)
	if p.records != nil {
		p.records[i].sent, p.records[i].answered, p.records[i].refused = s.A, s.B, s.Kind == program.Refused
	}
	if s.Kind == program.Offered || !p.abandoned {
		p.told[s.Kind]++
	}
	bits := byte(tried | answered)
	if s.Kind == program.Offered {
		bits |= confirmed
		second.Offered++
	}
	p.becomes(i, bits, s.B)
	return nil
}

// becomes sets bits of a message, and counts the messages that are waited for.
func (p *phase) becomes(i int64, bits byte, at int64) {
	before := p.pends(i)
	p.state[i] |= bits
	if p.pends(i) == before {
		return
	}
	by := map[bool]int64{true: -1, false: 1}[before]
	p.second(at).Pending += by
	if p.awaited(i) {
		p.outstanding += by
	}
}

// pends reports whether a message was accepted, and neither delivered nor cancelled.
func (p *phase) pends(i int64) bool { return p.state[i]&(confirmed|delivered|removed) == confirmed }

func (p *phase) awaited(i int64) bool { return p.horizon == 0 || p.due[i] <= p.horizon }

func (p *phase) taken(item program.Item, s program.Sample, now int64) error {
	i := int64(s.Index)
	if err := p.dueIs(s.A, item, s, now); err != nil {
		return err
	}
	if p.records != nil && (p.records[i].came == 0 || s.B < p.records[i].came) {
		p.records[i].came = s.B
	}
	if p.state[i]&delivered != 0 {
		p.counts.Duplicate++
		return nil
	}
	p.becomes(i, delivered, s.B)
	late, a, second := s.B-s.A, span{s.A / 1e6 * 1e6, s.B}, p.second(s.B)
	if late < -int64(run.EarlyTolerance) {
		p.counts.Early++
	}
	second.h.Lateness.Record(late)
	second.h.PastDue.Record(a.length())
	if s.B >= p.startNs+p.closed*int64(time.Second) { // else its second has been put in order
		second.arrivals = append(second.arrivals, delivery{s.B, s.A, i})
	}
	if p.awaited(i) {
		p.lastCame = max(p.lastCame, s.B)
	}
	if a.length() > int64(run.LateBound) {
		if p.latest = append(p.latest, a); len(p.latest) >= 2*mostLatest {
			p.sortLatest()
		}
	}
	return nil
}

func (p *phase) removal(item program.Item, s program.Sample) error {
	if item.CancelAfter == 0 {
		return wrong(s, "index", s.Index, "a message that was to be cancelled")
	}
	h := &p.second(s.B).h
	if h.RemoveRTT == nil {
		h.RemoveRTT = run.NewHistogram()
	}
	h.RemoveRTT.Record(s.B - s.A)
	p.told[s.Kind]++
	if s.Kind == program.Removed {
		p.becomes(int64(s.Index), removed, s.B)
	}
	return nil
}

// offering is how many items of members that are there have no answer.
func (p *phase) offering() (n int64) {
	for i, m := range p.engine.members {
		if m.state != over {
			n += p.open[i]
		}
	}
	return n
}

// failed is how many offers were answered by an error.
func (p *phase) failed() int64 { return p.told[program.Failed] + p.told[program.Refused] }

// unsure is how many offers were not confirmed, though they may have been accepted.
func (p *phase) unsure() int64 { return p.failed() + p.unanswered }

// keepHeld notes a message that is still held at the end. Its error is as add's.
func (p *phase) keepHeld(s program.Sample, now int64) error {
	i := int64(s.Index)
	if s.Kind != program.Held || i >= p.next || p.state[i]&(tried|answered) == answered {
		return wrong(s, "index", i, "a message that was offered, as a sample h")
	}
	p.state[i] |= held
	p.read = now
	return p.dueIs(s.A, p.item(i), s, now)
}

// balance strikes the counts: delivered before cancelled before held before lost. unread says that the held messages could not be
// read. Of the items that a broken member left open, those planned after its end were not offered, and the fate of the others is unknown.
// The intervals get the messages that were offered without a confirmation.
func (p *phase) balance(unread bool) run.Counts {
	b := p.counts
	b.Foreign, b.Corrupt = p.told[program.Foreign], p.told[program.Corrupt]
	unknown := unread || p.told[program.Dropped] > 0 || slices.ContainsFunc(p.engine.members, func(m *member) bool { return m.broken && m.Takes })
	for i, s := range p.state {
		owner, item, offered := p.engine.members[p.owner[i]], p.item(int64(i)), true
		open := int64(i) < p.next && s&answered == 0 && owner.broken && (s&tried != 0 || item.At <= p.engine.epoch.Wall(owner.gone))
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
			if p.due[i] > p.read || !p.awaited(int64(i)) {
				b.NotDue++
			}
		case s&confirmed != 0 && unknown, open:
			b.Unknown++
			p.interval(cmp.Or(p.due[i], item.DueAt(item.At))).Unknown++
		case s&confirmed != 0:
			b.Lost++
		default:
			offered = false
		}
		if offered && s&confirmed == 0 {
			p.interval(item.At).Offered++
		}
		if !offered && s&tried == 0 {
			p.offers.Unsent++
		}
	}
	for _, s := range p.seconds { // of samples after the close of the last second
		p.histograms.Add(s.h)
	}
	clear(p.seconds)
	b.Offered, b.OfferErrors = b.Delivered+b.Removed+b.Pending+b.Lost+b.Unknown, p.unsure()
	return b
}

// interval is the interval of an instant, or the last one.
func (p *phase) interval(at int64) *run.Interval {
	return &p.intervals[max(min(int((at-p.startNs)/int64(time.Second)), len(p.intervals)-1), 0)]
}
