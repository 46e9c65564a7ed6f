package redistest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// testsPerProcessor is how many tests share a processor if they wait for servers and due times most of their life.
const testsPerProcessor = 4

// Waiting runs tests that wait rather than compute: more at a time than there are processors, unless -parallel says how many.
type Waiting struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (w Waiting) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set(fmt.Sprint(testsPerProcessor * runtime.GOMAXPROCS(0))) // a number
	}
	return w.M.Run()
}

// Main is the TestMain of a package whose tests wait.
func Main(m *testing.M) { os.Exit(Waiting{m}.Run()) }

// MainWithoutLeaks is Main, and fails if a goroutine runs a second after the last test.
func MainWithoutLeaks(m *testing.M) {
	code := Waiting{m}.Run()
	startsServers := goleak.IgnoreTopFunction("github.com/dq-bench/dq-bench/internal/redis.runOnThread")
	if err := goleak.Find(startsServers); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines that still run:", err)
		code = 1
	}
	os.Exit(code)
}
