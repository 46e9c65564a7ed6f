package simulate_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is what an Event does.
type Kind string

// The kinds of events. Those from Cut on are faults.
const (
	// Start starts a client, whose N tells how many consumers it has, Text its release and
	// Span by how much its clock is ahead.
	Start Kind = "start"
	// Stop closes a client in good order.
	Stop Kind = "stop"
	// Offer offers Text, to be due after Span. Where the client is gone, it is another who does this, and the next two.
	Offer Kind = "offer"
	// Cancel removes Text.
	Cancel Kind = "cancel"
	// Look reads all that is pending.
	Look Kind = "look"

	// Cut breaks the client's connections.
	Cut Kind = "cut"
	// LoseReplies breaks each connection of the client when a reply next comes, before it does.
	LoseReplies Kind = "lose replies"
	// LoseRequests lets half of what the client next writes to each connection arrive, and breaks it.
	LoseRequests Kind = "lose requests"
	// Kill ends a client as kill -9 does.
	Kill Kind = "kill"
	// Stall lets nothing arrive at the client or from it for Span.
	Stall Kind = "stall"
	// Slow adds Span to every way of the client, until it is called with 0.
	Slow Kind = "slow"
	// Step moves the client's clock by Span.
	Step Kind = "step"
	// Restart has the server be away for Span. It keeps its keys and forgets its scripts.
	Restart Kind = "restart"
	// Flush has the server forget its scripts.
	Flush Kind = "flush scripts"
)

// faults are what a client is done by, with how often each is drawn.
var faults = []Kind{Cut, Cut, LoseReplies, LoseReplies, LoseRequests, Kill, Stall, Slow, Step, Restart, Flush}

// Event is one thing that happens, at a time since the run began.
type Event struct {
	At     time.Duration
	Kind   Kind
	Client string
	Text   string
	N      int
	Span   time.Duration
}

func (e Event) String() string {
	return fmt.Sprintf("%-12s %-13s %-4s %-10s n=%d span=%s", e.At, e.Kind, e.Client, e.Text, e.N, e.Span)
}

// Plan is what happens in a run.
type Plan struct {
	Seed uint64
	// Reliable takes with acknowledgement, else at most once.
	Reliable bool
	// Visibility is for how long a message is held then.
	Visibility time.Duration
	// Unlists has members taken out of the pending list before they are due, however few they are, a
	// few entries a call.
	Unlists bool
	// Length is when events end. What is pending then is waited for.
	Length time.Duration
	Events []Event
}

func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s, reliable: %t, visibility: %s, unlists: %t\n", p.Seed, p.Length, p.Reliable, p.Visibility, p.Unlists)
	for _, e := range p.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// Draw makes the plan of a seed.
func Draw(seed uint64, length time.Duration) Plan {
	rng := rand.New(rand.NewPCG(seed, 0x6471))
	p := Plan{Seed: seed, Length: length, Reliable: rng.IntN(2) == 0}
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
	p.Unlists = rng.IntN(2) == 0
	p.Visibility = []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute}[rng.IntN(4)]
	d.leave()
	slices.SortStableFunc(p.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return p
}

type drawing struct {
	rng    *rand.Rand
	plan   *Plan
	steps  bool // clocks may differ
	starts []string
	values int
}

func (d *drawing) add(e Event) { d.plan.Events = append(d.plan.Events, e) }

func (d *drawing) start(at time.Duration) {
	name := fmt.Sprintf("c%d", len(d.starts)+1)
	d.starts = append(d.starts, name)
	releases := []string{"4.7.0", "4.7.0", "4.7.0", "3.21.1", "3.16.6"}
	e := Event{At: at, Kind: Start, Client: name, N: d.rng.IntN(3), Text: releases[d.rng.IntN(len(releases))]}
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

func (d *drawing) client() string { return d.starts[d.rng.IntN(len(d.starts))] }

// burst has a few messages offered within a second or so, some of them cancelled later, and
// perhaps a fault in the midst of it.
func (d *drawing) burst(at time.Duration) {
	within := time.Duration(1+d.rng.IntN(2000)) * time.Millisecond
	for range 1 + d.rng.IntN(12) {
		d.values++
		value := fmt.Sprintf("m-%06d", d.values)
		offered := at + time.Duration(d.rng.Int64N(int64(within)))
		wait := time.Duration(d.rng.ExpFloat64() * float64(30*time.Second)).Truncate(time.Millisecond)
		switch d.rng.IntN(4) {
		case 0:
			wait = 0
		case 1:
			wait = time.Second // many at about the same instant
		}
		d.add(Event{At: offered, Kind: Offer, Client: d.client(), Text: value, Span: wait})
		if d.rng.IntN(5) == 0 {
			d.add(Event{At: offered + time.Duration(d.rng.Int64N(int64(wait+time.Second))), Kind: Cancel, Client: d.client(), Text: value})
		}
	}
	if d.rng.IntN(4) == 0 {
		d.add(Event{At: at + within, Kind: Look, Client: d.client()})
	}
	if d.rng.IntN(3) == 0 {
		d.fault(at + time.Duration(d.rng.Int64N(int64(within))))
	}
}

func (d *drawing) fault(at time.Duration) {
	e := Event{At: at, Kind: faults[d.rng.IntN(len(faults))], Client: d.client()}
	switch e.Kind {
	case Kill:
		d.start(at + time.Duration(d.rng.IntN(20_000))*time.Millisecond)
	case Stall:
		e.Span = time.Duration(d.rng.IntN(20_000)) * time.Millisecond
	case Slow:
		e.Span = time.Duration(d.rng.IntN(300)) * time.Millisecond
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
	case Flush:
		e.Client = ""
	}
	d.add(e)
}
