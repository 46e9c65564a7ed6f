package trace_test

import (
	"fmt"
	"log"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
)

func ExampleDiff() {
	read := func(name string) *monitor.Recording {
		f, err := recordings.Redisson().Open(name)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		recording, err := monitor.Read(f, name)
		if err != nil {
			log.Fatal(err)
		}
		return recording
	}
	left, right := read("3.21.0/DQ.offer.monitor"), read("3.21.1/DQ.offer.monitor")
	outcomes, err := trace.Diff(left, right, trace.DefaultTolerance)
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range outcomes[:1] {
		fmt.Println(o.Case)
		fmt.Println(o.Finding.Meaning)
	}
	// Output:
	// DQ.offer/any-text
	// call 1 of the transfer task of "orders" is EVAL transfer-v1 on the left and EVAL transfer-v2 on the right
}
