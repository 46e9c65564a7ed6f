package trace_test

import (
	"fmt"
	"log"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

func ExampleDiff() {
	left, err := monitor.ReadFile("../../../recordings/redisson/3.21.0/DQ.offer.monitor")
	if err != nil {
		log.Fatal(err)
	}
	right, err := monitor.ReadFile("../../../recordings/redisson/3.21.1/DQ.offer.monitor")
	if err != nil {
		log.Fatal(err)
	}
	outcomes, err := trace.Diff(left, right, trace.DefaultTolerance)
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range outcomes[:1] {
		fmt.Println(o.Case)
		fmt.Println(o.Finding.Meaning)
	}
	// Output:
	// DQ.offer/new-head-publishes
	// call 1 of the transfer task of "orders" is EVAL transfer-v1 on the left and EVAL transfer-v2 on the right
}
