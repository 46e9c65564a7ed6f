package dq

import "time"

// Tests wait for idle connections to be closed.
func init() { idleTimeout = 2 * time.Second }
