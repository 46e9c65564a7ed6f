package listen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports below Linux's range for outgoing connections, 32768 to 60999: no connection of another program takes one while
// its listener is closed.
const (
	firstStable = 12_000
	lastStable  = 32_000
	stableTries = 100
)

// Stable listens on 127.0.0.1 at a port that can be listened at again after the listener was closed.
func Stable(ctx context.Context) (net.Listener, error) {
	var err error
	for range stableTries {
		port := firstStable + rand.IntN(lastStable-firstStable)
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no free port on 127.0.0.1 from %d to %d: %w", firstStable, lastStable, err)
}
