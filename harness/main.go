// Package harness is the whole of dq-bench behind one function.
package harness

import (
	"io"

	"github.com/dq-bench/dq-bench/harness/internal/cli"
	_ "github.com/dq-bench/dq-bench/internal/redis/container" // --redis container
)

// Main runs one command line of dq-bench, without the program's name. It returns the exit code:
// 0 fine, 1 the environment or an input file cannot serve, 2 wrong usage, 99 the thing under test
// failed. The first SIGINT, SIGTERM or SIGHUP ends the command in order; the second ends the process.
func Main(args []string, in io.Reader, out, err io.Writer) int {
	return cli.Execute(args, in, out, err)
}
