package main

import (
	"fmt"
	"strings"
	"time"
)

// row is one claim.
type row struct {
	work, reference, target string
	steps                   []string // that it needs
	// dq and other are what is shown of the two sides: words with figures in braces.
	dq, other string
	// ratio is of two figures, the better one below: how many times better dq is. Of one figure it is
	// the median of what each run has as its own ratio.
	ratio [2]string
	// aims are what the target asks for: all must hold.
	aims []aim
	// tried says why the target may be missed.
	tried string
}

// aim bounds a figure, or the ratio of two.
type aim struct {
	figure, over string
	least, most  float64 // 0 for no bound
}

var rows = []row{
	{
		work: "200,000 pending in random order come due within a second: drain", steps: []string{"backlog"},
		reference: "Redisson's script alone, sent by dq", dq: "{Backlog auto-msg/s} msg/s, longest call {Backlog auto-longest-ms} ms",
		other: "{Backlog exact-msg/s} msg/s, {Backlog exact-longest-ms} ms", ratio: [2]string{"Backlog auto-msg/s", "Backlog exact-msg/s"},
		target: "≥ 100,000 msg/s, no call over 5 ms",
		aims:   []aim{{figure: "Backlog auto-msg/s", least: 100_000}, {figure: "Backlog auto-longest-ms", most: 5}},
	},
	{
		work: "5,000 a second out of 500,000 pending in random order", steps: []string{"long-queue"},
		reference: "none: Redisson's script cannot keep up", dq: "past due p50 {LongQueue p50-ms}, p99 {LongQueue p99-ms} ms", other: "–",
		target: "past due p99 ≤ 5 ms", aims: []aim{{figure: "LongQueue p99-ms", most: 5}},
	},
	{
		work: "10,000 due in one millisecond, taken several at a time", steps: []string{"burst-batch"}, reference: "Redisson's script alone, sent by dq",
		dq: "past due p50 {Burst auto-p50-ms}, p99 {Burst auto-p99-ms} ms", other: "p50 {Burst exact-p50-ms}, p99 {Burst exact-p99-ms} ms",
		ratio: [2]string{"Burst exact-p99-ms", "Burst auto-p99-ms"}, target: "past due p99 ≤ 120 ms", aims: []aim{{figure: "Burst auto-p99-ms", most: 120}},
	},
	{
		work: "10,000 due in one millisecond, 8 takers by BLPOP", steps: []string{"burst"}, reference: "redisson:4.7.0",
		dq: "past due p50 {burst dq p50-ms}, p99 {burst dq p99-ms} ms", other: "p50 {burst redisson p50-ms}, p99 {burst redisson p99-ms} ms",
		ratio: [2]string{"burst redisson p99-ms", "burst dq p99-ms"}, target: "past due p99 ≤ 120 ms", aims: []aim{{figure: "burst dq p99-ms", most: 120}},
		tried: "a BLPOP a message is what takes the time: Consume takes several, see the row above.",
	},
	{
		work: "500,000 pending in the order of their due times: drain by 8 workers of Consume", steps: []string{"consume"},
		reference: "Consume with Prefetch 1, one BLPOP each, as Redisson's take",
		dq:        "{Consume batch-msg/s} msg/s, {Consume batch-takes/msg} takes a message", other: "{Consume single-msg/s} msg/s",
		ratio: [2]string{"Consume batch-msg/s", "Consume single-msg/s"}, target: "≥ 120,000 msg/s", aims: []aim{{figure: "Consume batch-msg/s", least: 120_000}},
	},
	{
		work: "20 clients on one queue: transfers a due time", steps: []string{"turns"}, reference: "all transfer, as Redisson's do",
		dq: "{Turns turns-transfers/due}", other: "{Turns strict-transfers/due}", ratio: [2]string{"Turns strict-transfers/due", "Turns turns-transfers/due"},
		target: "≤ 1.5", aims: []aim{{figure: "Turns turns-transfers/due", most: 1.5}},
	},
	{
		work: "one of two processes is killed, 8 times, while a message comes due each 10 ms", steps: []string{"turns"}, reference: "–",
		dq: "the latest {Takeover latest-ms} ms past due", other: "–", target: "≤ 50 ms", aims: []aim{{figure: "Takeover latest-ms", most: 50}},
	},
	{
		work: "5,000 a second, 8 takers", steps: []string{"rate-5000"}, reference: "dq as Redisson is (`faithful`)",
		dq:    "past due p99 {rate-5000 dq p99-ms} ms, {rate-5000 dq commands/msg} commands a message",
		other: "p99 {rate-5000 faithful p99-ms} ms, {rate-5000 faithful commands/msg} commands",
		ratio: [2]string{"rate-5000 faithful p99-ms", "rate-5000 dq p99-ms"}, target: "p99 ≤ 0.8 ms, a third of the commands",
		aims: []aim{
			{figure: "rate-5000 dq p99-ms", most: 0.8},
			{figure: "rate-5000 dq commands/msg", over: "rate-5000 faithful commands/msg", most: 1.0 / 3},
		},
		tried: "an offer is five commands by itself, the script and what it calls, which the format fixes, and a Take one: fewer than six a message " +
			"there cannot be. Consume takes several at a time where a backlog shows; at this rate there is none.",
	},
	{
		work: "Offer by 50 goroutines, 100 bytes", steps: []string{"offer"}, reference: "redis-benchmark -c 50 EVALSHA",
		dq: "{Offer dq-msg/s} msg/s, {Offer allocs/msg} allocations each", other: "{Offer redis-benchmark-msg/s} msg/s",
		ratio: [2]string{"Offer rate-ratio"}, target: "≥ 1.15×", aims: []aim{{figure: "Offer rate-ratio", least: 1.15}},
		tried: "what callers and the server need of two processors; replies that come together wake each caller by itself.",
	},
	{
		work: "OfferAll, 100 bytes", steps: []string{"offer"}, reference: "redis-benchmark -c 50 -P 16 EVALSHA",
		dq: "{OfferAll dq-msg/s} msg/s, {OfferAll allocs/msg} allocations each", other: "{OfferAll redis-benchmark-msg/s} msg/s",
		ratio: [2]string{"OfferAll rate-ratio"}, target: "≥ 1.15×", aims: []aim{{figure: "OfferAll rate-ratio", least: 1.15}},
		tried: "more offers under way at a time: the server's processor is the bound.",
	},
	cancelRow("one of the latest 1,000, random delays", "latest-1000"),
	cancelRow("one of the latest 10,000, equal delays", "latest-10000"),
	cancelRow("any, equal delays", "equal-delays"),
	cancelRow("any, random delays", "random-delays"),
	{
		work: "20 a second: lateness", steps: []string{"rate-20"}, reference: "redisson:4.7.0",
		dq: "p50 {rate-20 dq lateness-p50-ms}, p99 {rate-20 dq lateness-p99-ms} ms", other: "p50 {rate-20 redisson lateness-p50-ms}, p99 {rate-20 redisson lateness-p99-ms} ms",
		ratio: [2]string{"rate-20 redisson lateness-p99-ms", "rate-20 dq lateness-p99-ms"}, target: "p99 ≤ 0.6 ms",
		aims: []aim{{figure: "rate-20 dq lateness-p99-ms", most: 0.6}},
		tried: "the p99 of 400 messages is the fifth latest, and some of the latest came while the machine itself stood still (machine.late in raw/rate-20). " +
			"The kernel's timer, which fires at the nanosecond, is used for that, and not Go's, which counts in milliseconds.",
	},
	{
		work: "1,000 a second, both warm: past due, transfers and server", steps: []string{"rate-1000"}, reference: "redisson:4.7.0",
		dq:    "p99 {rate-1000 dq p99-ms} ms, {rate-1000 dq transfers/msg} transfers and {rate-1000 dq server-µs/msg} µs of the server a message",
		other: "p99 {rate-1000 redisson p99-ms} ms, {rate-1000 redisson transfers/msg} transfers, {rate-1000 redisson server-µs/msg} µs",
		ratio: [2]string{"rate-1000 redisson p99-ms", "rate-1000 dq p99-ms"}, target: "p99 ≤ 1/10, ≤ 0.5 transfers, server ≤ 1/4 of Redisson's",
		aims: []aim{
			{figure: "rate-1000 dq p99-ms", over: "rate-1000 redisson p99-ms", most: 0.1},
			{figure: "rate-1000 dq transfers/msg", most: 0.5},
			{figure: "rate-1000 dq server-µs/msg", over: "rate-1000 redisson server-µs/msg", most: 0.25},
		},
		tried: "what is due in one millisecond is one transfer, and at 1,000 a second 0.63 of the milliseconds have something due: fewer transfers " +
			"than that would be later ones.",
	},
	{
		work: "the tool, at 5,000 a second: its processor time", steps: []string{"rate-5000"}, reference: "the server's",
		dq: "{rate-5000 dq tool-µs/msg} µs a message, dq in it", other: "{rate-5000 dq server-µs/msg} µs",
		ratio: [2]string{"rate-5000 dq server-µs/msg", "rate-5000 dq tool-µs/msg"}, target: "no more than the server's",
		aims:  []aim{{figure: "rate-5000 dq tool-µs/msg", over: "rate-5000 dq server-µs/msg", most: 1}},
		tried: "a goroutine for each offer, and two wake-ups for each message, that of its producer and that of its consumer, which any client has.",
	},
}

func cancelRow(which, name string) row {
	return row{
		work: "one of 100,000 pending is cancelled: " + which, steps: []string{"cancel"}, reference: "Redisson's remove script",
		dq: "{Cancel/" + name + " ticket-ms} ms by ticket", other: "{Cancel/" + name + " remove-ms} ms",
		ratio:  [2]string{"Cancel/" + name + " time-ratio"},
		target: "≥ 1,000×", aims: []aim{{figure: "Cancel/" + name + " time-ratio", least: 1000}},
		tried: "only LREM takes an entry out of the middle of a list, and walks to it from one end, about 16 ns an entry; moving another entry there would " +
			"change the order that Redisson's poll has. It walks from the nearer end where the due time or LPOS tells which that is.",
	}
}

// page writes the report.
func (m *measuring) page(at time.Time, machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

By `+"`make bench-report`"+`, %s, on %s. Both sides of a row were measured in turn in one run: read the ratios, for the figures of another machine, or of this one at
work, are others. Medians, those of the ratios included, with the lowest and the highest where there were several runs; [raw](performance/raw) has what was printed and the run files.

| work | dq | reference | its figures | ratio | target | |
|---|---|---|---|---|---|---|
`, at.UTC().Format("2006-01-02 15:04 UTC"), machine)
	var notes []string
	for _, r := range rows {
		verdict, why := m.verdict(r)
		if why != "" {
			notes = append(notes, why)
			verdict += fmt.Sprintf(" [%d]", len(notes))
		}
		ratio := "–"
		if v, ok := m.samples.over(r.ratio[0], r.ratio[1]); ok {
			ratio = short(v) + "×"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			r.work, m.samples.fill(r.dq), r.reference, m.samples.fill(r.other), ratio, r.target, verdict)
	}
	b.WriteString("\n")
	for i, note := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, note)
	}
	return b.String()
}

// verdict says whether the target of a row is met, and why not.
func (m *measuring) verdict(r row) (verdict, why string) {
	for _, s := range r.steps {
		if reason, missing := m.missing[s]; missing {
			return "not measured", reason
		}
		for _, side := range []string{"dq", "redisson", "faithful"} {
			if n := len(m.samples[s+" "+side+" invalid"]); n > 0 {
				why = fmt.Sprintf("%d of the runs of %s are invalid: the load was not made as asked for", n, side)
			}
		}
	}
	verdict = "met"
	for _, a := range r.aims {
		v, ok := m.samples.median(a.figure)
		if a.over != "" {
			v, ok = m.samples.over(a.figure, a.over)
		}
		switch {
		case !ok:
			return "not measured", strings.TrimSpace("there is no " + a.figure)
		case a.least != 0 && v < a.least, a.most != 0 && v > a.most:
			verdict = "missed"
		}
	}
	if verdict == "missed" && r.tried != "" && why == "" {
		why = r.tried
	}
	return verdict, why
}

// fill puts figures in the place of their names in braces.
func (s samples) fill(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(s.text(name))
		text = after
	}
}
