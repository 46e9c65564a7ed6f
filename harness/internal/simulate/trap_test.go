package simulate_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
)

// How a Trap acts on the command it waits for, in its N.
const (
	delayed = iota // its reply is late by Span
	unheard        // its connection breaks in place of its reply
	unrun          // … and it does not run
	refused        // the server answers with an error
	torn           // an offer's script fails after its writes, as its announcement is not allowed
)

// moments are commands that a Trap waits for, as often as each is drawn; those of Workers by true, of plain takers by false.
var moments = map[bool][]string{
	true: strings.Fields("transfer transfer transfer transfer transfer transfer offer offer offer cancel unlist unlist survey find ZRANGE " +
		"PUBLISH SUBSCRIBE take take ack extend extend extend retry release BLMOVE BLMOVE RPOPLPUSH"),
	false: strings.Fields("transfer transfer transfer transfer transfer transfer offer offer offer cancel unlist unlist survey find ZRANGE " +
		"PUBLISH SUBSCRIBE LPUSH BLPOP BLPOP BLPOP BLPOP BLPOP LPOP LPOP"),
}

// momentOf names a command: a script of ours, how it settles, an offer, or the command itself.
func momentOf(args []string) string {
	name := strings.ToUpper(args[0])
	if !strings.HasPrefix(name, "EVAL") || len(args) < 3 {
		return name
	}
	for _, s := range scripts.All() {
		switch {
		case s.SHA1 != args[1]:
		case s.Name == "settle":
			return args[8]
		default:
			return s.Name
		}
	}
	return map[string]string{"3": "Redisson", "4": "offer"}[args[2]]
}

// strike acts on a command that springs a trap, before it runs or after, and returns the answer in its place, or "". Call with mu held.
func (w *world) strike(client string, args []string, ran bool) string {
	name, _, _ := strings.Cut(client, ":")
	at := -1
	if len(w.traps) > 0 && !w.settles() {
		moment := momentOf(args)
		at = slices.IndexFunc(w.traps, func(e Event) bool {
			return e.Text == moment && (e.Client == "" || e.Client == name) && ran == (e.N <= unheard) && (e.N != torn || moment == "offer")
		})
	}
	if at < 0 {
		return ""
	}
	e := w.traps[at]
	w.traps = slices.Delete(w.traps, at, at+1)
	w.report.Kinds["faults"]++
	w.excuse(e.Span, w.recovery)
	w.net.hurt(name, e.Span)
	if e.Span > lateBy || e.N != delayed {
		w.bad(e.Span)
		w.net.excuse(name, e.Span+10*time.Second) // Close does not wait for ever
	}
	w.restarts.Go(func() { w.follow(e, name) })
	if e.N == torn {
		w.tears = true
		return ""
	}
	w.net.each(name, func(l *link) {
		switch {
		case l.id != client:
		case e.N == delayed || e.N == refused:
			l.toClient.change(func() { l.toClient.lag, l.toClient.lags = e.Span, time.Now().Add(time.Hour) })
		default:
			l.set(func() { l.hushed = true })
			time.AfterFunc(e.Span, func() { w.net.breaks(l.host); l.cut() })
		}
	})
	if ran {
		return ""
	}
	return "-" + refusals[int(e.Span)%map[bool]int{false: 4, true: 7}[e.Text == "LPUSH"]] + "\r\n"
}

// follow has happen what a trap brings about that a client has sprung.
func (w *world) follow(trap Event, client string) {
	for _, e := range trap.Then {
		time.Sleep(e.At)
		e.At, e.Client = time.Since(w.began), cmp.Or(e.Client, client)
		switch {
		case w.settles():
			return
		case e.Kind == Stop || e.Kind == Kill:
			w.replace(e.Client, e.Kind)
		default:
			w.do(e)
		}
	}
}

// lay adds traps for the commands that are sent as messages become due, and what others do then.
func (d *drawing) lay(rng *rand.Rand) {
	below := func(most time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(most))) }
	client := func() string { return d.starts[rng.IntN(len(d.starts))] }
	offer := func(at time.Duration, client string, span time.Duration) Event {
		d.values++
		return Event{At: max(0, at), Kind: Offer, Client: client, Text: valueOf(d.values), Span: span.Truncate(time.Millisecond)}
	}
	moments := moments[d.plan.Reliable]
	for range rng.IntN(7) {
		span := 500*time.Millisecond + below(2*time.Second)
		at := span + below(d.plan.Length)
		for range 1 + rng.IntN(3) {
			d.add(offer(at-span+below(100*time.Microsecond), client(), span+below(20*time.Millisecond)*time.Duration(rng.IntN(2))))
		}
		if rng.IntN(2) == 0 { // what is next is far off
			d.add(offer(at-span, client(), 40*time.Second+below(20*time.Second)))
		}
		trap := Event{At: at - span*time.Duration(rng.IntN(2)), Kind: Trap, Text: moments[rng.IntN(len(moments))], N: max(0, rng.IntN(9)-4)}
		trap.Client = []string{"", client()}[rng.IntN(2)]
		trap.Span = []time.Duration{time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond}[rng.IntN(5)]
		trap.Span = trap.Span/4 + below(trap.Span)
		for range rng.IntN(4) {
			trap.Then = append(trap.Then, d.consequence(rng, offer, below(trap.Span)/2, trap.Span))
			if last := trap.Then[len(trap.Then)-1]; last.Kind != Offer { // and is not heard of
				trap.Then = append(trap.Then, offer(below(25*time.Millisecond), client(), below(3*time.Second)))
			}
		}
		d.add(trap)
	}
	if rng.IntN(2) == 0 && !d.plan.Reliable {
		d.add(Event{At: time.Second, Kind: Trap, Text: "LPUSH", N: unheard, Span: below(time.Second)})
	}
	// Many wait as some become due, while the first client is held up, and others look at them and cancel some.
	for range rng.IntN(3) {
		at := 3*time.Second + below(d.plan.Length)
		for i, span := range []time.Duration{2 * time.Second, 2 * time.Second, 12 * time.Second} {
			e := offer(at-2*time.Second, client(), span)
			e.N = 1 + rng.IntN(5)*(1+2*i)
			d.values += e.N
			d.add(e)
		}
		if rng.IntN(2) == 0 {
			d.add(Event{At: at - time.Millisecond, Kind: Stall, Client: "c1", Span: time.Duration(2+rng.IntN(200)) * time.Millisecond})
			at += 2 * time.Millisecond
		}
		d.add(Event{At: at - time.Millisecond, Kind: Trap, Text: "ZRANGE", Span: time.Duration(1+rng.IntN(20)) * time.Millisecond})
		for range 1 + rng.IntN(3) {
			kind := []Kind{Look, Cancel, Cancel}[rng.IntN(3)]
			d.add(Event{At: at - time.Duration(rng.IntN(1000))*time.Microsecond, Kind: kind, Client: client(), N: rng.IntN(3)})
		}
	}
}

// consequence is an event between a script's effect and its reply, or a little later.
func (d *drawing) consequence(rng *rand.Rand, offer func(time.Duration, string, time.Duration) Event, at, during time.Duration) Event {
	moments := moments[d.plan.Reliable]
	span := []time.Duration{500 * time.Millisecond, 3 * time.Second, 35 * time.Second}[rng.IntN(3)] * time.Duration(1+rng.IntN(8)) / 8
	all := []Event{
		{Kind: Cancel, N: rng.IntN(3)}, {Kind: Cancel}, {Kind: Cancel},
		{Kind: Look, N: 2}, {Kind: Cut, N: 3}, {Kind: Cut, N: 3}, {Kind: Hush}, {Kind: Kill}, {Kind: Stop},
		{Kind: Kill, At: 2 * during}, {Kind: Shut}, {Kind: Shut}, {Kind: Stall, At: during, Span: d.plan.Visibility + 4*time.Second},
		{Kind: Stall, At: during, Span: d.plan.Visibility + 4*time.Second}, {Kind: Trap, Text: moments[rng.IntN(len(moments))], N: unheard},
		offer(0, append(d.starts[:len(d.starts):len(d.starts)], "")[rng.IntN(1+len(d.starts))], span),
	}
	k := min(rng.IntN(len(all)+5), len(all)-1)
	if all[k].At += at; k < 4 {
		all[k].Client = d.starts[rng.IntN(len(d.starts))]
	}
	return all[k]
}
