// Command asynq drives the task queue hibiken/asynq under the driver protocol:
//
//	dq-bench run --driver 'exec:bin/dq-peer-asynq'
//
// Due times are whole seconds, cut down, so that a message may come up to a second early. A forwarder looks every five seconds for due
// tasks, and an idle server every second for pending ones, so that a message may come up to six seconds late. Early deliveries fail the
// run with exit code 99: a finding about asynq, not a fault of the measurement. A message is acknowledged, tried again if its handler
// failed, and given back by a lease if its process died.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/dq-bench/dq-bench/harness/driver/serve"
)

func main() {
	var d asynqDriver
	flag.DurationVar(&d.Check, "check", 0, "TaskCheckInterval; 0s is asynq's default")
	flag.DurationVar(&d.Forward, "forward", 0, "DelayedTaskCheckInterval; 0s is asynq's default")
	flag.IntVar(&d.Handlers, "handlers", 64, "Concurrency")
	flag.Parse()
	if err := serve.Serve(os.Stdin, os.Stdout, d); err != nil {
		fmt.Fprintln(os.Stderr, "dq-peer-asynq:", err)
		os.Exit(1)
	}
}
