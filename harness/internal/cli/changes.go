package cli

import (
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

func newChanges() *call {
	c := newCall("changes", needs(2, 2))
	c.prints(false)
	var from, to wire.Release
	c.check = func(args []string) (err error) {
		if from, err = wire.LookupRelease(args[0]); err != nil {
			return err
		}
		if to, err = wire.LookupRelease(args[1]); err == nil && from == to {
			err = fmt.Errorf("expected two different releases, got %s twice", from)
		}
		return err
	}
	return c.does(func([]string) error {
		changes := ops.ChangesBetween(from, to)
		return c.says(changes, changes.Text())
	})
}
