package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

func newChanges() *call {
	c := newCall("changes", cobra.ExactArgs(2))
	c.prints(false)
	return c.does(func(args []string) error {
		from, err1 := wire.LookupRelease(args[0])
		to, err2 := wire.LookupRelease(args[1])
		if err := errors.Join(err1, err2); err != nil {
			return usageError(err)
		}
		if from == to {
			return usageError(fmt.Errorf("expected two different releases, got %s twice", from))
		}
		changes := ops.ChangesBetween(from, to)
		return c.shows(changes, func(w io.Writer) error {
			_, err := io.WriteString(w, changes.Text())
			return err
		})
	})
}
