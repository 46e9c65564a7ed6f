package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
)

// share makes the replay a guest on a server that was not started for it.
func (r *run) share(ctx context.Context) error {
	const connections = 2 // control and MONITOR
	r.guest = &guest.Guest{
		Do:          func(_ context.Context, args ...string) (any, error) { return r.control.do(args...) },
		Sync:        func(ctx context.Context) error { _, err := r.awaitMark(ctx, r.control); return err },
		Connections: connections,
	}
	return r.guest.Admit(ctx)
}

// cleanUp removes the keys and scripts of the replay from a server that was not started for it,
// unless somebody else has come. It returns err and its own.
func (r *run) cleanUp(ctx context.Context, err error) error {
	r.closePeers()
	if r.guest == nil || errors.Is(err, guest.ErrInUse) {
		return err
	}
	left := r.guest.Remove(ctx)
	if left == nil {
		_, left = r.control.do("SCRIPT", "FLUSH")
	}
	if left != nil {
		left = fmt.Errorf("removing the keys of the replay: %w", left)
	}
	return errors.Join(err, left)
}
