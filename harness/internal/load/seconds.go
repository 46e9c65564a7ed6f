package load

import (
	"errors"
	"time"
)

// seconds closes a second of a phase after the other.
type seconds struct {
	part    *local
	stage   *stage
	told    func(second)
	quit    chan struct{}
	done    chan struct{}
	offered int64
	failed  int64
	err     error
}

// watch starts the seconds of s.
func (l *local) watch(s *stage, told func(second)) *seconds {
	w := &seconds{part: l, stage: s, told: told, quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w
}

func (w *seconds) loop() {
	defer close(w.done)
	// A part that begins late has no seconds before that.
	k := max(int64(time.Since(w.stage.start)/time.Second), 0) + 1
	timer := time.NewTimer(time.Until(w.end(k)))
	defer timer.Stop()
	for ; ; k++ {
		timer.Reset(time.Until(w.end(k)))
		select {
		case <-timer.C:
			w.close(float64(k))
		case <-w.quit:
			w.close(max(time.Since(w.stage.start).Seconds(), 0))
			return
		}
	}
}

func (w *seconds) end(k int64) time.Time { return w.stage.start.Add(time.Duration(k) * time.Second) }

// stop closes the last second and returns when that is done.
func (w *seconds) stop() error {
	close(w.quit)
	<-w.done
	return w.err
}

func (w *seconds) close(end float64) {
	taken, errTakes := w.stage.takes.second()
	offered, errOffers := w.stage.offers.second()
	if err := errors.Join(errTakes, errOffers); err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	l := w.stage.ledger
	confirmed, failed := l.confirmed.Load(), l.failed.Load()
	w.told(second{
		// The ledger may have counted a delivery whose latency is the next second's.
		End: end, Offered: confirmed - w.offered, Delivered: taken[0].Count(), Failed: failed - w.failed,
		Outstanding: l.outstanding.Load(), Lateness: taken[0], PastDue: taken[1], OfferRTT: offered[0], ScheduleLag: offered[2],
	})
	w.offered, w.failed = confirmed, failed
}
