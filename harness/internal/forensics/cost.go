package forensics

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	// probeEntries is how many entries a probe compares, some tenths of a millisecond.
	probeEntries = 10_000
	probes       = 5
	// assumedEntry is what an entry takes, in ns, where the server cannot be asked:
	// measured on Redis 7.0 with values of 100 bytes.
	assumedEntry = 16.0
)

// EntryCost measures how many ns it takes this server to pass one entry of the pending list, as
// the LREM of a transfer does: the quickest of some LPOS of a member that is not there,
// over 10,000 entries. Where that cannot be measured, on a Redis before 6.0.6 or a list of
// fewer entries, which passes too quickly, it is false and a usual figure is returned.
func (r *Reader) EntryCost(ctx context.Context, length int64, like string) (ns float64, measured bool, err error) {
	if length < probeEntries {
		return assumedEntry, false, nil
	}
	absent := []byte(like) // as long as the others: the server compares lengths first
	for i := range absent {
		absent[i] ^= 0xff
	}
	quickest := time.Hour
	for range probes {
		began := time.Now()
		err := r.client.Do(ctx, "LPOS", r.Names.Pending, string(absent), "MAXLEN", probeEntries).Err()
		took := time.Since(began)
		switch {
		case redis.HasErrorPrefix(err, "unknown command"):
			return assumedEntry, false, nil
		case err != nil && err != redis.Nil: //nolint:errorlint // this very value
			return 0, false, fmt.Errorf("LPOS %s: %w", r.Names.Pending, err)
		}
		r.meter.count(took, 0)
		quickest = min(quickest, took)
	}
	if quickest <= r.meter.idle {
		return assumedEntry, false, nil
	}
	return float64(quickest-r.meter.idle) / probeEntries, true, nil
}
