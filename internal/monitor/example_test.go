package monitor_test

import (
	"fmt"
	"log"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

func ExampleParseLine() {
	line, err := monitor.ParseLine(`1645518012.326477 [0 lua] "zadd" "redisson_delay_queue_timeout:{zlyx}" "1645518017326" "\x08\x00"`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(line.Name(), "by a script:", line.Inner())
	fmt.Printf("%q\n", line.Args[3])
	// Output:
	// zadd by a script: true
	// "\b\x00"
}
