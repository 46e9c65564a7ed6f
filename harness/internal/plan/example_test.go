package plan_test

import (
	"fmt"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

func ExampleParseRate() {
	for _, text := range []string{"1000/s", "1k/s", "0"} {
		rate, err := plan.ParseRate(text)
		fmt.Println(rate, err)
	}
	// Output:
	// 1000/s <nil>
	// 1000/s <nil>
	// 0/s rate: expected a number above 0 such as 1000/s, 1k/s or 90/m, got "0"
}

func ExampleParseDelay() {
	delay, err := plan.ParseDelay("1s..10s")
	fmt.Println(delay.Min, delay.Max, err)
	// Output: 1s 10s <nil>
}
