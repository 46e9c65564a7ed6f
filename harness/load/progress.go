package load

import (
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// Progress is the state of a run, once a second.
type Progress struct {
	Phase Phase
	// Planned, Offered (confirmed), Delivered and Pending are messages of the phase.
	Planned, Offered, Delivered, Pending int64
	OfferErrors                          int64
	// P99 is the 99th percentile of lateness in the last second; HasP99 is false
	// if nothing was delivered in it.
	P99    time.Duration
	HasP99 bool
	// Left is how long the phase will take still: to its last due instant.
	Left time.Duration
	// Last is true in the last report of the phase.
	Last bool
	// Interval is what happened since the report before.
	Interval run.Interval
	// Lateness is that of the interval; nil from an external program that keeps none.
	Lateness *run.Histogram
}

// collectEvery is the length of an interval.
const collectEvery = time.Second

// collector closes an interval every second.
type collector struct {
	run       *runner
	stage     *stage
	end       time.Time // the last due instant, as planned
	quit      chan struct{}
	done      chan struct{}
	begin     time.Time
	last      time.Time
	offered   int64
	delivered int64

	intervals []run.Interval
	log       *run.LatenessLog
	err       error
}

// collect starts the collector of s.
func (r *runner) collect(s *stage) *collector {
	now := r.beginning(s)
	c := &collector{
		run: r, stage: s, end: now.Add(r.length(s)), begin: now, last: now,
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	c.log, c.err = run.NewLatenessLog(now)
	go c.loop()
	return c
}

func (c *collector) loop() {
	defer close(c.done)
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.interval(false)
		case <-c.quit:
			c.interval(true)
			return
		}
	}
}

// stop closes the last interval and returns when that is done.
func (c *collector) stop() {
	close(c.quit)
	<-c.done
}

func (c *collector) interval(last bool) {
	now, l := time.Now(), c.stage.ledger
	if now.Before(c.begin) {
		now = c.begin // interrupted before the agreed start
	}
	h := run.NewHistogram(run.IntervalDigits)
	c.keep(c.stage.recorder.takeInterval(h))
	offered, delivered, pending := l.confirmed.Load(), l.delivered.Load(), l.outstanding.Load()
	if !l.worker.Shared() {
		pending = max(pending, 0)
	}
	c.intervals = append(c.intervals, run.Interval{
		Second: now.Sub(c.begin).Seconds(), Offered: offered - c.offered, Delivered: delivered - c.delivered,
		Pending: pending, P50: h.Quantile(.5), P99: h.Quantile(.99), Max: h.Max(),
	})
	if c.log != nil {
		c.keep(c.log.Add(c.last, now, h))
	}
	c.last, c.offered, c.delivered = now, offered, delivered
	c.run.progress(Progress{
		Phase: c.stage.phase, Planned: l.own(), Offered: offered, Delivered: delivered, Pending: max(pending, 0),
		OfferErrors: l.failed.Load(), P99: time.Duration(h.Quantile(.99)), HasP99: h.Count() > 0,
		Left: max(c.end.Sub(now), 0), Last: last, Interval: c.intervals[len(c.intervals)-1], Lateness: h,
	})
}

func (c *collector) keep(err error) {
	if c.err == nil {
		c.err = err
	}
}
