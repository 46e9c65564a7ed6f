package servertest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// testsPerProcessor is how many parallel tests share a processor: those of a package that uses
// Main wait for servers and due times most of their life.
const testsPerProcessor = 3

// Main runs the tests of a package whose tests wait rather than compute, and is all that its TestMain
// does: more of them run at a time than there are processors, unless -parallel says how many.
func Main(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(fmt.Sprint(testsPerProcessor * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
