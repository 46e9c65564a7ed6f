// Command delayqueue drives the delay queue HDT3213/delayqueue under the driver
// protocol:
//
//	dq-bench run --driver 'exec:bin/dq-peer-delayqueue'
//
// What to expect of it: due times are whole seconds, cut down, and it looks once
// a second for what is due, so that a message comes between one second early and
// one second late, when its consumers keep up. Early deliveries make the run fail,
// exit code 99: that is the finding, not a fault of the measurement. What one look
// found is worked off before the next one. A message whose handler did not end
// within five seconds is handed out again, three times, and then dropped.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver/serve"
)

func main() {
	var d delayQueueDriver
	flag.DurationVar(&d.Fetch, "fetch", 0, "WithFetchInterval; 0s is its default, 1s")
	flag.UintVar(&d.Handlers, "handlers", 64, "WithConcurrent")
	flag.DurationVar(&d.Consume, "consume", 0, "WithMaxConsumeDuration; 0s is its default, 5s")
	flag.Parse()
	if d.Fetch < 0 || d.Consume < 0 || (d.Consume > 0 && d.Consume < time.Second) {
		fmt.Fprintln(os.Stderr, "dq-peer-delayqueue: expected -fetch above 0s and -consume of 1s or more")
		os.Exit(2)
	}
	if err := serve.Serve(os.Stdin, os.Stdout, d); err != nil {
		fmt.Fprintln(os.Stderr, "dq-peer-delayqueue:", err)
		os.Exit(1)
	}
}
