package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// firstStable to lastStable are below Linux's range for outgoing connections, 32768 to 60999: no connection of another program takes a
// port while its listener is closed.
const firstStable, lastStable, stableTries = 12_000, 32_000, 100

// Stable listens on 127.0.0.1 at a port that a server can listen at again after the listener is closed.
func Stable(ctx context.Context) (l net.Listener, err error) {
	for range stableTries {
		port := firstStable + rand.IntN(lastStable-firstStable)
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no free port on 127.0.0.1 from %d to %d: %w", firstStable, lastStable, err)
}
