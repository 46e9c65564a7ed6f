package load

import (
	"context"
	"sort"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	// meterStep is how long the meter sleeps at a time: each wake costs about 50 µs of a processor, 3 % of one, and at 1 ms the
	// meter was seen in what it is beside.
	meterStep = 2 * time.Millisecond
	// maxHiccups bounds the memory of a meter to 2 MiB.
	maxHiccups = 1 << 17
)

// hiccup is a time in which the meter should have been awake and was not, in Unix ns.
type hiccup struct{ from, to int64 }

// meter finds out when the machine did not run what was due, as jHiccup does: it sleeps again and again, and looks by how much
// it overslept. It sleeps by a timer as a delivery to this process is waited for.
type meter struct {
	epoch agent.Epoch
	began time.Time
	stop  context.CancelFunc
	done  chan struct{}

	// These are the meter's own until done is closed.
	hiccups   []hiccup // in order
	count     int64    // of all, those beyond maxHiccups too
	total     time.Duration
	longest   time.Duration
	overslept *run.Histogram
	ended     time.Time
}

// startMeter has a meter run until it is ended, which it must be.
func startMeter(k clock.Clock, e agent.Epoch) *meter {
	m := &meter{epoch: e, began: time.Now(), done: make(chan struct{}), overslept: run.NewHistogram(run.TotalDigits)}
	var ctx context.Context
	ctx, m.stop = context.WithCancel(context.Background())
	go func() {
		defer close(m.done)
		timer := k.NewTimer()
		defer timer.Close()
		for {
			due := k.Now().Add(meterStep)
			if clock.SleepUntil(ctx, k, timer, due) != nil {
				m.ended = time.Now()
				return
			}
			m.note(due, k.Now())
		}
	}()
	return m
}

// note records that the meter was to wake at an instant and did so at another.
func (m *meter) note(due, woke time.Time) {
	over := max(woke.Sub(due), 0)
	// A sleep that lasts long stands for all that would have begun in it: each instant
	// has its delay, not each sleep.
	for late := over; late >= 0; late -= meterStep {
		m.overslept.Record(int64(late))
	}
	if over < run.HiccupBound {
		return
	}
	m.count++
	m.total += over
	m.longest = max(m.longest, over)
	if len(m.hiccups) < maxHiccups {
		m.hiccups = append(m.hiccups, hiccup{m.epoch.Wall(due), m.epoch.Wall(woke)})
	}
}

// end stops the meter. It may be called again.
func (m *meter) end() {
	m.stop()
	<-m.done
}

// seen is what an ended meter has found.
func (m *meter) seen() run.Hiccups {
	seen := run.Hiccups{Count: m.count, TotalNs: int64(m.total), LongestNs: int64(m.longest), P99Ns: m.overslept.Quantile(.99)}
	if length := m.ended.Sub(m.began); length > 0 {
		seen.Share = float64(m.total) / float64(length)
	}
	return seen
}

// heldUp tells which of the latest messages an ended meter's machine held up.
func (m *meter) heldUp(latest []arrival) *run.LateMessages {
	held := &run.LateMessages{Messages: int64(len(latest))}
	total := m.totals()
	for _, a := range latest {
		if 2*(m.before(total, a.came)-m.before(total, a.due)) >= a.pastDue() {
			held.InHiccups++
		}
	}
	return held
}

// fills reports whether an ended meter's machine stood still for at least half of a time.
func (m *meter) fills(s stretch) bool {
	total := m.totals()
	return 2*(m.before(total, s.to)-m.before(total, s.from)) >= s.to-s.from
}

// spread tells each second of a run that began at an instant what of the hiccups fell into
// it. The meter has ended.
func (m *meter) spread(seconds []run.Interval, begin int64) {
	total := m.totals()
	last := m.before(total, begin)
	for i := range seconds {
		until := m.before(total, begin+int64(seconds[i].Second*1e9))
		seconds[i].HiccupNs, last = until-last, until
	}
}

// totals are how long all hiccups before each one lasted, in ns.
func (m *meter) totals() []int64 {
	totals := make([]int64, 1, len(m.hiccups)+1)
	for i, h := range m.hiccups {
		totals = append(totals, totals[i]+h.to-h.from)
	}
	return totals
}

// before is how much of the time before an instant lies in hiccups, in ns.
func (m *meter) before(totals []int64, unixNs int64) int64 {
	ended := sort.Search(len(m.hiccups), func(i int) bool { return m.hiccups[i].to > unixNs })
	if ended < len(m.hiccups) && m.hiccups[ended].from < unixNs {
		return totals[ended] + unixNs - m.hiccups[ended].from
	}
	return totals[ended]
}
