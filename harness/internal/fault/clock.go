package fault

import (
	"context"
	"fmt"
	"os"

	"github.com/dq-bench/dq-bench/harness/internal/faketime"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// makeClocks makes a file for each member whose clock will be wrong.
func (in *Injector) makeClocks() (err error) {
	for _, f := range in.plan.Faults {
		if f.Kind != plan.WrongClock {
			continue
		}
		if in.folder == "" {
			if in.folder, err = os.MkdirTemp("", "dq-bench-clocks-"); err != nil {
				return err
			}
		}
		if in.clocks[f.Member], err = faketime.NewFile(in.folder, fmt.Sprintf("member-%d", f.Member)); err != nil {
			return err
		}
	}
	return nil
}

// Clocks are the files that move the clocks of members of the fleet, by their places in it,
// counted from 1. Each is right outside of the faults.
func (in *Injector) Clocks() map[int]faketime.File { return in.clocks }

// moveClock has a member's clock be wrong for a while.
func (in *Injector) moveClock(ctx context.Context, f plan.Fault) error {
	file, ok := in.clocks[f.Member]
	if !ok {
		return fmt.Errorf("expected a clock of member %d that can be moved", f.Member)
	}
	return during(ctx, f.For, func(context.Context) error { return file.Set(f.By) }, func(context.Context) error { return file.Set(0) })
}
