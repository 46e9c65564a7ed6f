package simulate_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what an Event does.
type Kind string

// The kinds of events. Those from Cut on are faults.
const (
	// Start starts a client: N is the number of its consumers, Text its release and Span by how much its clock is ahead.
	Start Kind = "start"
	// Stop closes a client in good order.
	Stop Kind = "stop"
	// Offer offers Text, to be due after Span, and with it the next N messages. Where the client is gone, it is another who
	// does this, and all that follows to Clear.
	Offer Kind = "offer"
	// Cancel removes Text: by its ticket, a look at all values, its value, or as a Redisson does, as N says.
	Cancel Kind = "cancel"
	// Reschedule has Text be due after Span from now on.
	Reschedule Kind = "reschedule"
	// Poll takes up to N messages that are there.
	Poll Kind = "poll"
	// Look walks what is waiting and counts; it replays dead letters, or drops them if N is 1.
	Look Kind = "look"
	// Clear removes all that is waiting.
	Clear Kind = "clear"
	// Shut closes the client's Queue, and no more.
	Shut Kind = "shut"

	// Cut breaks the client's connections: half of them for N of 1 or 2, of this and the next two; for N of 3 its subscription's.
	Cut Kind = "cut"
	// LoseReplies breaks each connection of the client when a reply next comes, before it does.
	LoseReplies Kind = "lose replies"
	// LoseRequests lets half of what the client next writes to each connection arrive, and breaks it. N of 4 waits for
	// a write of several commands.
	LoseRequests Kind = "lose requests"
	// Lag has what next goes over each of the client's connections, either way, come later, by a part of Span of its own.
	Lag Kind = "lag"
	// Hush lets nothing more through the connections over which the client hears announcements and waits for values; they stay open.
	Hush Kind = "hush"
	// Kill ends a client as kill -9 does.
	Kill Kind = "kill"
	// Stall lets nothing arrive at the client or from it for Span.
	Stall Kind = "stall"
	// Slow adds Span to every way of the client, until it is called with 0.
	Slow Kind = "slow"
	// Hang breaks the client's connections, and has its dials hang for Span; those end after 5 s. The longer that lasts, the longer are the pauses between dials.
	Hang Kind = "hang"
	// Overrun has the leases of all messages be over, as a server whose clock is set ahead.
	Overrun Kind = "overrun"
	// Step moves the client's clock by Span.
	Step Kind = "step"
	// Restart has the server be away for Span. It keeps its keys and forgets its scripts.
	Restart Kind = "restart"
	// Flush has the server forget its scripts: for N above 0, after as many commands that write.
	Flush Kind = "flush scripts"
	// Refuse has the server answer with the error Text: to each of the client's commands, for N of 1 to half of them, and for
	// more to one command, of rights, or to one inside scripts.
	Refuse Kind = "refuse"
	// Unblock has the server end all commands that block, as a fail-over does.
	Unblock Kind = "unblock"
	// Foreign puts a member of neither layout into the queue; N of 1 has it never be due, and be the first, and
	// N of 2 be in the destination, a value that cannot be decoded, and N of 3 a member with such a value.
	Foreign Kind = "foreign"
	// Trap acts as N says on the next command that Text names, of the client or of any. Then happens as it springs.
	Trap Kind = "trap"
)

// forbidden is the answer of a server that keeps a command from a user.
const forbidden = "NOPERM User dq has no permissions to run this command"

// refusals are errors of a server that ran nothing.
var refusals = []string{
	"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	"READONLY You can't write against a read only replica.", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
	"OOM command not allowed when used memory > 'maxmemory'.", "NOREPLICAS Not enough good replicas to write.",
	"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
	forbidden, "ERR max number of clients reached",
	"CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys request during rehashing of slot", "MOVED 1 127.0.0.1:7000",
}

// rights are commands that a user may lack, or an old server: those in small letters in scripts, but for offers.
var rights = []string{"SUBSCRIBE", "CLIENT", "BLMOVE", "BLPOP", "EVALSHA", "TIME",
	"zrem", "lrem", "srem", "zadd", "rpush", "lpush", "publish", "hset", "hdel", "hincrby", "ltrim", "rename"}

// noTime is N of a Refuse of TIME, to which the README of dq gives no right.
var noTime = 2 + slices.Index(rights, "TIME")

// faults are what a client is done by, with how often each is drawn.
var faults = []Kind{Cut, Cut, LoseReplies, LoseReplies, LoseRequests, Kill, Stall, Slow, Hang, Overrun, Step, Step, Restart, Flush, Refuse, Refuse, Unblock, Foreign}

// Event is one thing that happens, at a time since the run began.
type Event struct {
	At     time.Duration
	Kind   Kind
	Client string
	Text   string
	N      int
	Span   time.Duration
	// Within is when the context of a call ends; 0 for callTimeout.
	Within time.Duration
	// Then follows a Trap, each event At after the one before it. Without a Client it befalls the one that sprang the trap.
	Then []Event
}

func (e Event) String() string {
	text := fmt.Sprintf("%-12s %-13s %-4s %-10.40s n=%d span=%s within=%s", e.At, e.Kind, e.Client, e.Text, e.N, e.Span, e.Within)
	for _, then := range e.Then {
		text += "\n    then " + then.String()
	}
	return text
}

// Plan is what happens in a run.
type Plan struct {
	Seed uint64
	// Reliable takes with acknowledgement, else at most once.
	Reliable bool
	// Visibility is for how long a message is held then.
	Visibility time.Duration
	// Unlists has members taken out of the pending list before they are due, however few they are, a few entries a call.
	Unlists bool
	// Strict clients send the commands of one Redisson.
	Strict bool
	// Lone has the first client of three alone transfer what all offer.
	Lone bool
	// Scenes are all that happens: see there.
	Scenes bool
	// Length is when events end. What is pending then is waited for.
	Length time.Duration
	Events []Event
}

// Draw makes the plan of a seed.
func Draw(seed uint64, length time.Duration) Plan {
	rng := rand.New(rand.NewPCG(seed, 0x6471))
	p := Plan{Seed: seed, Length: length, Reliable: rng.IntN(2) == 0}
	p.Strict = rng.IntN(8) == 0
	d := drawing{rng: rng, plan: &p, steps: rng.IntN(3) == 0}
	for range 1 + min(rng.IntN(3), rng.IntN(3)) {
		d.start(time.Duration(rng.Int64N(int64(time.Second))))
	}
	// Bursts of work, and between them long stretches in which nothing but time passes.
	for range 2 + rng.IntN(5) {
		d.burst(time.Duration(rng.Int64N(int64(length))))
	}
	if rng.IntN(5) > 0 {
		for range 1 + rng.IntN(8) {
			d.fault(time.Duration(rng.Int64N(int64(length))))
		}
	}
	p.Unlists = rng.IntN(2) == 0 && !p.Strict
	p.Visibility = []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute}[rng.IntN(4)]
	d.leave()
	d.meet(rand.New(rand.NewPCG(seed, 0x6472)))
	d.strike(rand.New(rand.NewPCG(seed, 0x6473)))
	d.lay(rand.New(rand.NewPCG(seed, 0x6474)))
	if seed%7 == 4 {
		d.play(rand.New(rand.NewPCG(seed, 0x6475)))
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return p
}

type drawing struct {
	rng     *rand.Rand
	plan    *Plan
	steps   bool // clocks may differ
	starts  []string
	values  int
	foreign int
}

func (d *drawing) add(e Event) { d.plan.Events = append(d.plan.Events, e) }

func (d *drawing) start(at time.Duration) {
	name := fmt.Sprintf("c%d", len(d.starts)+1)
	d.starts = append(d.starts, name)
	releases := []string{"4.7.0", "4.7.0", "4.7.0", "3.21.1", "3.16.6"}
	e := Event{At: at, Kind: Start, Client: name, N: d.rng.IntN(3), Text: releases[d.rng.IntN(len(releases))]}
	if d.plan.Strict {
		e.Text = "4.7.0"
	}
	if d.steps {
		e.Span = time.Duration(d.rng.IntN(4000)-2000) * time.Millisecond
	}
	d.add(e)
}

// leave has clients come to an end in good order, as they do when a service is deployed anew, each an hour at the most
// after it has come: then another takes its place, or nobody does.
func (d *drawing) leave() {
	for i := 0; i < len(d.starts); i++ {
		if d.rng.IntN(3) == 0 {
			continue
		}
		began := d.plan.Events[slices.IndexFunc(d.plan.Events, func(e Event) bool { return e.Kind == Start && e.Client == d.starts[i] })].At
		at := began + time.Duration(d.rng.Int64N(int64(d.plan.Length)))
		if at >= d.plan.Length {
			continue
		}
		d.add(Event{At: at, Kind: Stop, Client: d.starts[i]})
		if d.rng.IntN(3) > 0 {
			d.start(at + time.Duration(d.rng.IntN(5_000))*time.Millisecond)
		}
	}
}

// meet adds what comes at an unlucky instant: a server that forgets its scripts between two offers of one call or refuses
// half of them, or of whose commands half arrive.
func (d *drawing) meet(rng *rand.Rand) {
	for _, e := range slices.Clone(d.plan.Events) {
		switch {
		case e.Kind == Offer && e.N > 0 && rng.IntN(8) == 0:
			d.add(Event{At: e.At, Kind: Flush, N: 1 + rng.IntN(e.N)})
		case e.Kind == Offer && e.N > 0 && rng.IntN(6) == 0:
			d.add(Event{At: e.At, Kind: Refuse, Client: e.Client, Text: "OOM command not allowed", N: 1, Span: time.Duration(rng.IntN(3000)) * time.Millisecond})
		case e.Kind == Offer && e.N > 0 && rng.IntN(4) == 0:
			d.add(Event{At: e.At, Kind: LoseRequests, Client: e.Client, N: 4})
		}
	}
	if d.plan.Lone = len(d.starts) > 1 && rng.IntN(3) == 0; d.plan.Lone && !d.plan.Reliable && rng.IntN(2) == 0 {
		d.add(Event{At: time.Duration(rng.Int64N(int64(d.plan.Length))), Kind: Offer, Client: "c2", Text: valueOf(d.values + 1), N: 150, Span: 5 * time.Second})
		d.values += 151
	}
}

// strike adds what goes wrong just as messages become due, while others offer; and what meets the end of a client.
func (d *drawing) strike(rng *rand.Rand) {
	below := func(most time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(most))) }
	client := func() string { return d.starts[rng.IntN(len(d.starts))] }
	offer := func(at time.Duration, client string, more int, span time.Duration) {
		d.add(Event{At: max(0, at), Kind: Offer, Client: client, Text: valueOf(d.values + 1), N: more, Span: span})
		d.values += 1 + more
	}
	for i, e := range d.plan.Events {
		switch {
		case e.Kind == Stop && rng.IntN(2) == 0:
			span := 500*time.Millisecond + below(time.Second).Truncate(time.Millisecond)
			offer(e.At-span-below(time.Millisecond), client(), rng.IntN(2), span)
		case e.Kind == Stop:
			d.add(Event{At: max(0, e.At-below(time.Millisecond)), Kind: Cut, Client: e.Client})
			offer(e.At-below(200*time.Microsecond), e.Client, 0, time.Second)
		case e.Kind == Cancel && rng.IntN(3) == 0 && !d.plan.Strict:
			d.plan.Events[i].N = 3
		}
	}
	if d.steps && rng.IntN(2) == 0 {
		at := below(d.plan.Length)
		for range 2 {
			d.add(Event{At: at, Kind: Step, Client: "c1", Span: time.Duration(rng.IntN(2400)-1200) * time.Second})
			at += below(20 * time.Second)
		}
	}
	if rng.IntN(3) == 0 {
		if d.plan.Lone = true; len(d.starts) == 1 {
			d.start(below(time.Second))
		}
	}
	if d.steps { // and is right again, or only the first is wrong, which transfers alone
		only := rng.IntN(2) == 0
		d.plan.Lone = d.plan.Lone || only && len(d.starts) > 1
		for i, e := range slices.Clone(d.plan.Events) {
			if only && e.Client != "c1" && (e.Kind == Start || e.Kind == Step) {
				d.plan.Events[i].Span, e.Span = 0, 0
			}
			if e.Kind == Start && e.Span != 0 && (only || rng.IntN(2) == 0) {
				if rng.IntN(2) == 0 {
					d.add(Event{At: e.At, Kind: Refuse, Client: e.Client, Text: forbidden, N: noTime, Span: 2 * d.plan.Length})
				}
				at := e.At + below(max(d.plan.Length-e.At, time.Second))
				d.add(Event{At: at, Kind: Step, Client: e.Client, Span: -e.Span})
				for _, after := range []time.Duration{0, 0, 20 * time.Second} {
					offer(at+after-below(2*time.Second), e.Client, 0, 3*time.Second+below(5*time.Second).Truncate(time.Millisecond))
				}
				offer(at+below(500*time.Millisecond), e.Client, 0, 40*time.Second) // it looks at its clock
			}
		}
	}
	for range rng.IntN(4) {
		span := time.Second + below(3*time.Second).Truncate(time.Millisecond)
		at, whose := span+below(d.plan.Length), "c1"
		if rng.IntN(3) == 0 {
			whose = client()
		}
		offer(at-span, client(), rng.IntN(3), span)
		extent := []time.Duration{2 * time.Second, 5 * time.Second}[rng.IntN(2)]
		e := Event{At: at - below(time.Millisecond), Kind: Lag, Client: whose, Span: extent}
		switch rng.IntN(8) {
		case 1, 6:
			e.Kind, e.Span = Hush, 0
			offer(at+8*time.Second+below(8*time.Second), client(), 0, below(3*time.Second).Truncate(time.Millisecond))
		case 3, 4: // while a message is held, until another has it
			e.At, e.Kind, e.Span = at+below(2*time.Second), Stall, d.plan.Visibility+below(4*time.Second)
		case 5:
			e.Kind, e.Text, e.Span = Refuse, refusals[rng.IntN(4)], 8*time.Second+below(12*time.Second)
		}
		d.add(e)
		for range 1 + rng.IntN(2) {
			offer(at+below(extent), client(), 0, []time.Duration{below(3 * time.Second), 25*time.Second + below(10*time.Second)}[rng.IntN(2)].Truncate(time.Millisecond))
		}
	}
}

func (d *drawing) client() string { return d.starts[d.rng.IntN(len(d.starts))] }

// burst has a few messages offered within a second or so, some of them cancelled later, and perhaps a fault in the midst of it.
func (d *drawing) burst(at time.Duration) {
	within := time.Duration(1+d.rng.IntN(2000)) * time.Millisecond
	for range 1 + d.rng.IntN(12) {
		value, more := valueOf(d.values+1), max(0, d.rng.IntN(8)-5)
		if d.rng.IntN(100) == 0 && !d.plan.Reliable {
			more = 150 // which no single transfer moves
		}
		d.values += 1 + more
		offered := at + time.Duration(d.rng.Int64N(int64(within)))
		wait := time.Duration(d.rng.ExpFloat64() * float64(30*time.Second)).Truncate(time.Millisecond)
		switch d.rng.IntN(4) {
		case 0:
			wait = 0
		case 1:
			wait = time.Second // many at about the same instant
		}
		d.add(Event{At: offered, Kind: Offer, Client: d.client(), Text: value, N: more, Span: wait, Within: d.patience()})
		later := Event{At: offered + time.Duration(d.rng.Int64N(int64(wait+time.Second))), Client: d.client(), Text: value, N: d.rng.IntN(3), Within: d.patience()}
		switch d.rng.IntN(10) {
		case 0, 1:
			later.Kind = Cancel
			d.add(later)
		case 2:
			later.Kind, later.Span = Reschedule, time.Duration(d.rng.IntN(20_000))*time.Millisecond
			d.add(later)
		}
	}
	if d.rng.IntN(3) == 0 {
		d.add(Event{At: at + within, Kind: Look, Client: d.client(), N: d.rng.IntN(2), Within: d.patience()})
	}
	if d.rng.IntN(3) == 0 && !d.plan.Reliable {
		d.add(Event{At: at + time.Duration(d.rng.Int64N(int64(2*within))), Kind: Poll, Client: d.client(), N: 1 + d.rng.IntN(4), Within: d.patience()})
	}
	if d.rng.IntN(40) == 0 {
		d.add(Event{At: at + within, Kind: Clear, Client: d.client()})
	}
	if d.rng.IntN(3) == 0 {
		d.fault(at + time.Duration(d.rng.Int64N(int64(within))))
	}
}

// patience is how long a caller waits: now and then less than a reply takes.
func (d *drawing) patience() time.Duration {
	if d.rng.IntN(6) > 0 {
		return 0
	}
	return time.Duration(1 + d.rng.Int64N(int64([]time.Duration{500 * time.Microsecond, 3 * time.Second}[d.rng.IntN(2)])))
}

func valueOf(n int) string { return fmt.Sprintf("m-%06d", n) }

func (d *drawing) fault(at time.Duration) {
	e := Event{At: at, Kind: faults[d.rng.IntN(len(faults))], Client: d.client()}
	switch e.Kind {
	case Kill:
		d.start(at + time.Duration(d.rng.IntN(20_000))*time.Millisecond)
	case Stall:
		e.Span = time.Duration(d.rng.IntN([]int{20_000, 90_000}[d.rng.IntN(2)])) * time.Millisecond
	case Slow:
		e.Span = time.Duration(d.rng.IntN([]int{300, 3000}[d.rng.IntN(2)])) * time.Millisecond
		d.add(Event{At: at + time.Duration(d.rng.IntN(60_000))*time.Millisecond, Kind: Slow, Client: e.Client})
	case Step:
		if !d.steps {
			return
		}
		e.Span = time.Duration(d.rng.IntN(7200)-3600) * time.Second
		if d.rng.IntN(2) == 0 {
			e.Span /= 3600
		}
	case Restart:
		e.Client, e.Span = "", time.Duration(d.rng.IntN(15_000))*time.Millisecond
	case Hang:
		e.Span = time.Duration(d.rng.IntN(2_500)) * time.Millisecond
	case Flush, Unblock, Overrun:
		e.Client = ""
	case Refuse:
		e.Text, e.N, e.Span = refusals[d.rng.IntN(len(refusals))], d.rng.IntN(2+len(rights)), time.Duration(d.rng.IntN(12_000))*time.Millisecond
		if e.N > 1 {
			e.Text = []string{forbidden, "ERR unknown command"}[d.rng.IntN(2)]
		}
		if e.N > noTime {
			e.Text = forbidden
		}
		if d.plan.Strict { // Redisson's scripts stop half-way
			e.N %= noTime
		}
	case Foreign:
		if d.plan.Strict {
			return // as a Redisson it would stop there
		}
		e.Client, e.N = "", d.rng.IntN(4)
		d.foreign++
		e.Text = fmt.Sprintf("%c-%06d", "gggu"[e.N], d.foreign)
	}
	d.add(e)
}
