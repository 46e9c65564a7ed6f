package java_test

import (
	"fmt"
	"log"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// The codec of texts in services on Redisson 3.16.6 that name no codec.
func ExampleDefault() {
	release, err := wire.LookupRelease("3.16.6")
	if err != nil {
		log.Fatal(err)
	}
	values, err := java.NewMarshalling[string]() // as Default says
	if err != nil {
		log.Fatal(err)
	}
	data, err := values.Encode("order 7")
	fmt.Printf("%s %q %v\n", java.Default(release), data, err)
	// Output: marshalling "\x04>\aorder 7" <nil>
}
