package redistest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// Waiting runs tests that wait rather than compute: twelve share a processor, unless -parallel says how many.
type Waiting struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (w Waiting) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(fmt.Sprint(12 * runtime.GOMAXPROCS(0))) // a number
	}
	return w.M.Run()
}

// Main is the TestMain of a package whose tests wait.
func Main(m *testing.M) { os.Exit(Waiting{m}.Run()) }

// MainWithoutLeaks is Main, and fails if a goroutine runs a second after the last test.
func MainWithoutLeaks(m *testing.M) {
	goleak.VerifyTestMain(Waiting{m}, goleak.IgnoreTopFunction("github.com/dq-bench/dq-bench/internal/redis.runOnThread"))
}
