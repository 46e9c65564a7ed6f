package redistest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// testsPerProcessor is how many parallel tests share a processor: those of a package that uses
// Main wait for servers and due times most of their life.
const testsPerProcessor = 4

// Waiting runs the tests of a package whose tests wait rather than compute: more of them at a time than there are
// processors, unless -parallel says how many.
type Waiting struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (w Waiting) Run() int {
	manyAtATime()
	return w.M.Run()
}

// Main runs the tests of such a package, and is all that its TestMain does.
func Main(m *testing.M) { os.Exit(Waiting{m}.Run()) }

// MainWithoutLeaks is Main, and fails as RunWithoutLeaks does.
func MainWithoutLeaks(m *testing.M) {
	manyAtATime()
	os.Exit(RunWithoutLeaks(m))
}

func manyAtATime() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(fmt.Sprint(testsPerProcessor * runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
}

// RunWithoutLeaks runs the tests of a package and returns the exit code. It is a failure if a goroutine
// is left a second after the last test.
func RunWithoutLeaks(m *testing.M) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	startsServers := goleak.IgnoreTopFunction("github.com/dq-bench/dq-bench/internal/redis.runOnThread")
	if err := goleak.Find(startsServers); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	return 0
}
