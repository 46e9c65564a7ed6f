package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// page is GROWTH.md.
func page(sides []*side, server string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Growth\n\nBy `make growth`, %s UTC, on %s, %d processors, %s/%s, %s. [The sizing guide](../docs/guides/sizing.md) says what follows.\n\n",
		at.UTC().Format("2006-01-02 15:04"), server, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	b.WriteString("![past due and server time by the number of pending messages](growth.svg)\n\n")
	fmt.Fprintf(&b, "## One queue\n\n%d messages of %d bytes with short delays come due, %d a second, while as many as the first column says were offered before them and wait in the same queue, in random order, for an hour or two.\n"+
		"*Redisson's script* is sent by dq; from Redisson itself, its timer's ticks come on top.\n\n", messages, valueSize, rate)
	b.WriteString("| pending | bytes of the server for each |")
	rows(&b, sides, func(s *side) []cost { return s.length }, func(c cost) string { return fmt.Sprintf("%.0f", c.bytes) })
	fmt.Fprintf(&b, "\n## Many queues\n\nAs many messages as above come due in so many queues of one client. Past due is when they were transferred: who takes them adds a round trip.\n\n")
	b.WriteString("| queues |")
	rows(&b, sides, func(s *side) []cost { return s.count }, nil)
	return b.String()
}

// rows writes the rest of the head and the rows of a table.
func rows(b *strings.Builder, sides []*side, of func(*side) []cost, first func(cost) string) {
	columns := 1
	if first != nil {
		columns++
	}
	for _, s := range sides {
		fmt.Fprintf(b, " %s: past due p50, p99 | server time a message |", s.name)
		columns += 2
	}
	b.WriteString("\n|" + strings.Repeat("---|", columns) + "\n")
	for i, c := range of(sides[0]) {
		fmt.Fprintf(b, "| %s |", grouped(c.n))
		if first != nil {
			fmt.Fprintf(b, " %s |", first(c))
		}
		for _, s := range sides {
			if c := of(s)[i]; c.err != nil {
				fmt.Fprintf(b, " %s | – |", strings.SplitN(c.err.Error(), "\n", 2)[0])
			} else {
				fmt.Fprintf(b, " %s, %s | %s |", run.FormatNs(int64(c.p50)), run.FormatNs(int64(c.p99)), run.FormatNs(int64(c.server)))
			}
		}
		b.WriteString("\n")
	}
}

// grouped shows a number with its thousands apart.
func grouped(n int) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// The plot has two panels, of width by height each, both axes logarithmic.
const (
	width, height = 340, 220
	margin, gap   = 60, 40
)

// plot draws past due and server time by the number of pending messages.
func plot(sides []*side) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" fill="#57606a">`+"\n",
		2*(width+margin)+gap, height+2*margin)
	panel(&b, margin, "past due, p99", sides, func(c cost) time.Duration { return c.p99 })
	panel(&b, 2*margin+width+gap/2, "server time a message", sides, func(c cost) time.Duration { return c.server })
	for i, s := range sides {
		fmt.Fprintf(&b, `<text x="%d" y="20" fill="%s" font-weight="bold">%s</text>`+"\n", margin+i*60, s.color, s.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one figure of all sides; the decades from 10 µs to 10 s are its height.
func panel(b *strings.Builder, left int, title string, sides []*side, of func(cost) time.Duration) {
	const low, high = 1e-5, 10.
	most := 10_000
	for _, s := range sides {
		for _, c := range s.length {
			most = max(most, c.n)
		}
	}
	x := func(n int) float64 {
		return float64(left) + width*(math.Log10(float64(n))-3)/(math.Log10(float64(most))-3)
	}
	y := func(seconds float64) float64 {
		share := (math.Log10(min(max(seconds, low), high)) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
		return float64(margin) + height*(1-share)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#24292f">%s</text>`+"\n", left, margin-10, title)
	for tick := low; tick < 2*high; tick *= 10 {
		fmt.Fprintf(b, `<path d="M%d %.1fh%d" stroke="#d0d7de"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y(tick), width, left-5, y(tick)+4, run.FormatNs(int64(math.Round(tick*1e9))))
	}
	for n := 1000; n <= most; n *= 10 {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(n), margin+height+16, grouped(n))
	}
	for _, s := range sides {
		var points []string
		for _, c := range s.length {
			if c.err == nil {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(c.n), y(of(c).Seconds())))
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(c.n), y(of(c).Seconds()), s.color)
			}
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), s.color)
	}
}
