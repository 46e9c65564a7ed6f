package main

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/lab"
)

// row is one claim.
type row struct {
	work, target string
	steps        []string // that it needs
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
		work: "drain 200,000, random order", steps: []string{"backlog"},
		dq: "{Backlog auto-msg/s}/s, longest call {Backlog auto-longest-ms} ms", other: "{Backlog exact-msg/s}/s, {Backlog exact-longest-ms} ms, its script",
		ratio: [2]string{"Backlog auto-msg/s", "Backlog exact-msg/s"}, target: "≥100,000/s, ≤5 ms",
		aims: []aim{{figure: "Backlog auto-msg/s", least: 100_000}, {figure: "Backlog auto-longest-ms", most: 5}},
	},
	{
		work: "5,000/s of 500,000 pending", steps: []string{"long-queue"}, dq: "p99 {LongQueue p99-ms} ms", other: "cannot",
		target: "≤5 ms", aims: []aim{{figure: "LongQueue p99-ms", most: 5}},
	},
	{
		work: "10,000 in one millisecond, batches", steps: []string{"burst-batch"},
		dq: "p99 {Burst auto-p99-ms} ms", other: "{Burst exact-p99-ms} ms, its script",
		ratio: [2]string{"Burst exact-p99-ms", "Burst auto-p99-ms"}, target: "≤120 ms", aims: []aim{{figure: "Burst auto-p99-ms", most: 120}},
	},
	{
		work: "10,000 in one millisecond, BLPOP", steps: []string{"burst"}, dq: "p99 {burst dq p99-ms} ms", other: "{burst redisson p99-ms} ms",
		ratio: [2]string{"burst redisson p99-ms", "burst dq p99-ms"}, target: "≤120 ms", aims: []aim{{figure: "burst dq p99-ms", most: 120}},
		tried: "one BLPOP a message takes the time.",
	},
	{
		work: "drain 500,000 by Consume", steps: []string{"consume"},
		dq: "{Consume batch-msg/s}/s", other: "{Consume single-msg/s}/s, one BLPOP each",
		ratio: [2]string{"Consume batch-msg/s", "Consume single-msg/s"}, target: "≥120,000/s", aims: []aim{{figure: "Consume batch-msg/s", least: 120_000}},
	},
	{
		work: "20 clients: transfers a due time", steps: []string{"turns"}, dq: "{Turns turns-transfers/due}", other: "{Turns strict-transfers/due}",
		ratio: [2]string{"Turns strict-transfers/due", "Turns turns-transfers/due"}, target: "≤1.5", aims: []aim{{figure: "Turns turns-transfers/due", most: 1.5}},
	},
	{
		work: "one of two processes killed, latest", steps: []string{"turns"}, dq: "{Takeover latest-ms} ms", other: "–",
		target: "≤50 ms", aims: []aim{{figure: "Takeover latest-ms", most: 50}},
	},
	{
		work: "5,000/s, 8 takers", steps: []string{"rate-5000"},
		dq:    "p99 {rate-5000 dq p99-ms} ms, {rate-5000 dq commands/msg} commands",
		other: "{rate-5000 faithful p99-ms} ms, {rate-5000 faithful commands/msg}, dq `faithful`",
		ratio: [2]string{"rate-5000 faithful p99-ms", "rate-5000 dq p99-ms"}, target: "≤0.8 ms, a third",
		aims: []aim{
			{figure: "rate-5000 dq p99-ms", most: 0.8},
			{figure: "rate-5000 dq commands/msg", over: "rate-5000 faithful commands/msg", most: 1.0 / 3},
		},
		tried: "the format fixes six commands a message.",
	},
	{
		work: "Offer, 50 goroutines", steps: []string{"offer"}, dq: "{Offer dq-msg/s}/s", other: "{Offer redis-benchmark-msg/s}/s, redis-benchmark",
		ratio: [2]string{"Offer rate-ratio"}, target: "≥1.15×", aims: []aim{{figure: "Offer rate-ratio", least: 1.15}},
		tried: "callers and server share two processors.",
	},
	{
		work: "OfferAll", steps: []string{"offer"}, dq: "{OfferAll dq-msg/s}/s", other: "{OfferAll redis-benchmark-msg/s}/s, redis-benchmark -P16",
		ratio: [2]string{"OfferAll rate-ratio"}, target: "≥1.15×", aims: []aim{{figure: "OfferAll rate-ratio", least: 1.15}},
		tried: "the server's processor is the bound.",
	},
	cancelRow("latest 1,000, random", "latest-1000"),
	cancelRow("latest 10,000, equal", "latest-10000"),
	cancelRow("any, equal", "equal-delays"),
	cancelRow("any, random", "random-delays"),
	{
		work: "20/s: lateness", steps: []string{"rate-20"}, dq: "p99 {rate-20 dq lateness-p99-ms} ms", other: "{rate-20 redisson lateness-p99-ms} ms",
		ratio: [2]string{"rate-20 redisson lateness-p99-ms", "rate-20 dq lateness-p99-ms"}, target: "≤0.6 ms",
		aims:  []aim{{figure: "rate-20 dq lateness-p99-ms", most: 0.6}},
		tried: "p99 is the fifth latest; the machine stood still.",
	},
	{
		work: "1,000/s, warm", steps: []string{"rate-1000"},
		dq:    "p99 {rate-1000 dq p99-ms} ms, {rate-1000 dq transfers/msg} transfers, server {rate-1000 dq server-µs/msg} µs",
		other: "{rate-1000 redisson p99-ms} ms, {rate-1000 redisson transfers/msg}, {rate-1000 redisson server-µs/msg} µs",
		ratio: [2]string{"rate-1000 redisson p99-ms", "rate-1000 dq p99-ms"}, target: "a tenth, ≤0.5, a quarter",
		aims: []aim{
			{figure: "rate-1000 dq p99-ms", over: "rate-1000 redisson p99-ms", most: 0.1},
			{figure: "rate-1000 dq transfers/msg", most: 0.5},
			{figure: "rate-1000 dq server-µs/msg", over: "rate-1000 redisson server-µs/msg", most: 0.25},
		},
		tried: "a message is due in 63 % of the milliseconds.",
	},
	{
		work: "dq-bench itself, 5,000/s", steps: []string{"rate-5000"},
		dq: "{rate-5000 dq tool-µs/msg} µs a message", other: "{rate-5000 dq server-µs/msg} µs, the server",
		ratio: [2]string{"rate-5000 dq server-µs/msg", "rate-5000 dq tool-µs/msg"}, target: "≤ the server",
		aims:  []aim{{figure: "rate-5000 dq tool-µs/msg", over: "rate-5000 dq server-µs/msg", most: 1}},
		tried: "two wake-ups a message.",
	},
}

func cancelRow(which, name string) row {
	return row{
		work: "cancel of 100,000: " + which, steps: []string{"cancel"},
		dq: "{Cancel/" + name + " ticket-ms} ms", other: "{Cancel/" + name + " remove-ms} ms", ratio: [2]string{"Cancel/" + name + " time-ratio"},
		target: "≥1,000×", aims: []aim{{figure: "Cancel/" + name + " time-ratio", least: 1000}}, tried: "LREM walks the list.",
	}
}

// section is the table, with a note for each target that is missed.
func (m *measuring) section() string {
	var notes []string
	var table [][]string
	for _, r := range rows {
		verdict, why := m.verdict(r)
		if why != "" {
			at := 0
			for at < len(notes) && notes[at] != why {
				at++
			}
			if at == len(notes) {
				notes = append(notes, why)
			}
			verdict += fmt.Sprintf(" [%d]", at+1)
		}
		ratio := "–"
		if v, ok := m.samples.over(r.ratio[0], r.ratio[1]); ok {
			ratio = short(v) + "×"
		}
		table = append(table, []string{r.work, m.samples.fill(r.dq), m.samples.fill(r.other), ratio, r.target, verdict})
	}
	text := lab.Table([]string{"work", "dq", "Redisson 4.7.0, or as named", "ratio", "target", ""}, table) + "\n"
	for i, note := range notes {
		text += fmt.Sprintf("%d. %s\n", i+1, note)
	}
	return text
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
		v, ok := m.samples.over(a.figure, a.over)
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
