package inspect

import (
	"context"
	"time"
)

// restFactor is how many times as long as a look takes there is rest between the
// beginnings of two, so that reading is no load.
const restFactor = 10

// Repeat looks every interval, or less often where a look takes more than a tenth of
// it, and shows what came of it, until ctx ends.
func Repeat(ctx context.Context, interval time.Duration, look func(context.Context) (*Inspection, error), show func(*Inspection, error)) {
	for ctx.Err() == nil {
		began := time.Now()
		seen, err := look(ctx)
		if ctx.Err() != nil {
			return
		}
		show(seen, err)
		took := time.Since(began)
		select {
		case <-ctx.Done():
		case <-time.After(max(interval, restFactor*took) - took):
		}
	}
}
