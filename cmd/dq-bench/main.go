// Command dq-bench measures, verifies and explains delay queues that speak the wire format of
// Redisson's RDelayedQueue.
package main

import (
	"os"

	"github.com/dq-bench/dq-bench/harness"
)

func main() { os.Exit(harness.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
