package run

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// Sample is a plausible run of n messages, whose lateness is scaled. Tests of what compares and shows runs use it.
func Sample(seed uint64, n int, scale float64) *Document {
	rng := rand.New(rand.NewPCG(seed, 9))
	r := &Document{
		Schema: Schema, Tool: Tool{Name: "dq-bench", Version: "test"}, RunID: fmt.Sprintf("%08x", 0xabcc+seed), Driver: driver.Identity{Name: "dq", Version: "4.7.0"},
		Server: &Server{Product: "redis", Version: "7.0.15", How: "external"},
		Scenario: Scenario{
			Producers: 50, Consumers: 8, Rate: 1000, Duration: "10s", Delay: "5s", PayloadSize: 100, Seed: seed,
			Warmup: "1s", DrainTimeout: "10s", Queue: "q", Messages: int64(n),
		},
		Started: time.Date(2026, 11, 1, 12, 0, int(seed%50), 0, time.UTC), ElapsedSeconds: 15,
		Counts:      Counts{Offered: int64(n), Delivered: int64(n)},
		Histograms:  NewHistograms(),
		Intervals:   []Interval{{Second: 1, Offered: int64(n), Delivered: int64(n), P50: 1, P99: 2, Max: 3}},
		ServerStats: &ServerStats{TransferCalls: int64(n), TransferCallsPerMessage: 1, Commands: int64(10 * n), CPUSeconds: .5},
	}
	for range n {
		late := int64(scale*1e6*rng.ExpFloat64()) - 200_000
		rtt, lag := int64(1e5*rng.ExpFloat64()), int64(1e4*rng.ExpFloat64())
		r.Histograms.Lateness.Record(late)
		r.Histograms.PastDue.Record(late + 300_000)
		r.Histograms.OfferRTT.Record(rtt)
		r.Histograms.ResponseTime.Record(rtt + lag)
		r.Histograms.ScheduleLag.Record(lag)
	}
	return r
}
