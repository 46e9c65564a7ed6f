package analysis_test

import (
	"fmt"
	"log"
	"os"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

func ExampleAnalysis() {
	file, err := os.Open("../../../recordings/documents/002-zlyx.monitor")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	scanner, a := monitor.NewScanner(file), analysis.New()
	for scanner.Scan() {
		if line, err := scanner.Line(); err != nil {
			a.Unparsed()
		} else {
			a.Line(line)
		}
	}
	a.End()
	document := a.Document()
	fmt.Println("Redisson", document.Redisson.From, "to", document.Redisson.To)
	for _, q := range document.Queues {
		fmt.Printf("%s: %d offered, %d transferred, %d taken\n", q.Name, q.Offers, q.Transferred, q.Taken)
	}
	// Output:
	// Redisson 2.7.0 to 3.21.0
	// zlyx: 1 offered, 1 transferred, 1 taken
}
