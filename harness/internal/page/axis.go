package page

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// axis maps values to the percentage of a plot's side they lie at.
type axis struct {
	warp      func(float64) float64
	low, high float64 // in warped units
	Ticks     []tick
}

// tick is one labelled grid line.
type tick struct {
	At    float64 // per cent of the side, from the left or the bottom
	Label string
	// Crowded says that on a telephone the label would touch one more important.
	Crowded bool
}

// at returns where v lies, to a hundredth of a per cent.
func (a *axis) at(v float64) float64 {
	return math.Round(1e4*(a.warp(v)-a.low)/(a.high-a.low)) / 100
}

// tick adds a grid line unless it lies outside or closer than gap per cent to
// one that was added before: callers offer the important ones first.
func (a *axis) tick(v float64, label string, gap float64) {
	at := a.at(v)
	if at < 0 || at > 100 {
		return
	}
	for _, t := range a.Ticks {
		if math.Abs(t.At-at) < gap {
			return
		}
	}
	a.Ticks = append(a.Ticks, tick{At: at, Label: label})
}

// newAxis spans low to high, with margins that are shares of that span.
func newAxis(warp func(float64) float64, low, high, padLow, padHigh float64) *axis {
	a := &axis{warp: warp, low: warp(low), high: warp(high)}
	if a.high <= a.low {
		a.high = a.low + 1
	}
	span := a.high - a.low
	a.low, a.high = a.low-padLow*span, a.high+padHigh*span
	return a
}

const (
	// telephonePlot is how many pixels a plot is wide on a telephone.
	telephonePlot = 240
	// letter is how many a letter of a label is wide at most.
	letter = 7.5
)

// across marks the labels of a horizontal axis that have no room on a telephone.
func (a *axis) across() *axis {
	for i := range a.Ticks {
		t := &a.Ticks[i]
		t.Crowded = slices.ContainsFunc(a.Ticks[:i], func(other tick) bool {
			letters := utf8.RuneCountInString(other.Label+t.Label)/2 + 1 // between the middles
			return !other.Crowded && math.Abs(other.At-t.At)/100*telephonePlot < letter*float64(letters)
		})
	}
	return a
}

func linear(v float64) float64 { return v }

// logFrom is the magnitude in ns from which the logarithmic scale of times is
// logarithmic. Nearer to zero it is linear, as lateness may be negative.
const logFrom = float64(100 * time.Microsecond)

func signedLog(ns float64) float64 { return math.Asinh(ns / logFrom) }

// yGap is how far labels of the vertical axis lie apart at least, in per cent.
const yGap = 8

// timeAxis is a vertical axis of times in ns.
func timeAxis(logarithmic bool, low, high float64) *axis {
	if !logarithmic {
		return linearTimeAxis(low, high)
	}
	// Always some way beyond the linear part, so that the scale is seen to be one.
	a := newAxis(signedLog, low, max(high, 2*logFrom), .03, .05)
	a.tick(0, "0", yGap)
	for _, factor := range []float64{1, 3} {
		for exponent := 13.0; exponent >= 3; exponent-- {
			for _, sign := range []float64{1, -1} {
				ns := sign * factor * math.Pow(10, exponent)
				a.tick(ns, tickTime(ns, math.Abs(ns)), yGap)
			}
		}
	}
	return a
}

func linearTimeAxis(low, high float64) *axis {
	a := newAxis(linear, min(low, 0), high, .03, .05)
	step := niceStep((a.high - a.low) / 6)
	a.tick(0, "0", yGap)
	for k := math.Ceil(a.low / step); k*step <= a.high; k++ {
		a.tick(k*step, tickTime(k*step, max(math.Abs(low), high)), yGap)
	}
	return a
}

// tickTime writes a time on an axis in the unit that suits scale.
func tickTime(ns, scale float64) string {
	unit, size := "µs", float64(time.Microsecond)
	switch {
	case scale >= float64(time.Second):
		unit, size = "s", float64(time.Second)
	case scale >= float64(time.Millisecond):
		unit, size = "ms", float64(time.Millisecond)
	}
	text := strconv.FormatFloat(math.Abs(ns)/size, 'g', 4, 64)
	if ns < 0 {
		text = "−" + text
	}
	return text + " " + unit
}

// countAxis is a vertical axis of numbers from 0 up.
func countAxis(high float64) *axis {
	a := newAxis(linear, 0, max(high, 1), 0, .08)
	step := max(niceStep(a.high/5), 1)
	for v := 0.0; v <= a.high; v += step {
		a.tick(v, groupDigits(int64(v)), yGap)
	}
	return a
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not below v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= v*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// secondsAxis is a horizontal axis of seconds since the start.
func secondsAxis(high float64) *axis {
	a := newAxis(linear, 0, max(high, 1), 0, 0)
	const most = 8
	step := math.Ceil(high/most/7200) * 7200
	for _, s := range []float64{3600, 1800, 600, 300, 120, 60, 30, 10, 5, 2, 1} {
		if high/s <= most {
			step = s
		}
	}
	for v := 0.0; v <= high; v += step {
		a.tick(v, clockText(v), 1)
	}
	return a.across()
}

// clockText writes whole seconds: 45 s, 2 min, 1.5 h.
func clockText(seconds float64) string {
	switch {
	case seconds >= 3600:
		return strconv.FormatFloat(seconds/3600, 'g', 3, 64) + " h"
	case seconds >= 120 && math.Mod(seconds, 60) == 0:
		return strconv.FormatFloat(seconds/60, 'g', 3, 64) + " min"
	default:
		return strconv.FormatFloat(seconds, 'g', 6, 64) + " s"
	}
}

// percentileAxis is the horizontal axis of percentile curves of up to n values:
// log10(1/(1-p)), which gives every further nine the same room.
func percentileAxis(n int64) *axis {
	a := newAxis(func(p float64) float64 { return -math.Log10(1 - p) }, 0, 1-1/float64(max(n, 10)), 0, 0)
	const gap = 7
	for nines, rest := 1, .1; float64(n)*rest >= 1-1e-6; nines, rest = nines+1, rest/10 {
		a.tick(1-rest, strconv.FormatFloat(100-100*rest, 'f', max(nines-2, 0), 64)+" %", gap)
	}
	for _, p := range []float64{.5, .75, 0, .25} {
		a.tick(p, run.PercentText(p)+" %", gap)
	}
	return a.across()
}

// groupDigits writes 1234567 as 1 234 567, with narrow no-break spaces.
func groupDigits(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}
