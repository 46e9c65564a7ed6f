package load

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was taken out for a look is in the totals, once.
func TestALookTakesNothingAway(t *testing.T) {
	r := newRecorders(4, 1)
	var workers sync.WaitGroup
	for p := range 4 {
		workers.Go(func() {
			for range 1000 {
				r.ofProducer(p).record(1000, 10)
			}
		})
	}
	looked := int64(0)
	for range 20 {
		rtt, lag, err := r.offersSoFar()
		require.NoError(t, err)
		require.GreaterOrEqual(t, rtt.Count(), looked)
		require.Equal(t, rtt.Count(), lag.Count())
		looked = rtt.Count()
	}
	workers.Wait()
	all, err := r.totals()
	require.NoError(t, err)
	require.EqualValues(t, 4000, all.OfferRTT.Count())
	require.EqualValues(t, 4000, all.ScheduleLag.Count())
}

// BenchmarkRecordOffer compares an offer's recording alone with one while somebody
// looks all the time, far more often than any monitoring system.
func BenchmarkRecordOffer(b *testing.B) {
	for name, looking := range map[string]bool{"alone": false, "looked at": true} {
		b.Run(name, func(b *testing.B) {
			r := newRecorders(50, 1)
			stop := make(chan struct{})
			var looks sync.WaitGroup
			if looking {
				looks.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							_, _, _ = r.offersSoFar()
						}
					}
				})
			}
			p := 0
			for b.Loop() {
				r.ofProducer(p).record(100_000, 1000)
				p++
			}
			close(stop)
			looks.Wait()
		})
	}
}

func BenchmarkLook(b *testing.B) {
	r := newRecorders(50, 1)
	for p := range 50 {
		r.ofProducer(p).record(100_000, 1000)
	}
	for b.Loop() {
		_, _, _ = r.offersSoFar()
	}
}
