package web_test

import (
	"os"
	"testing"

	"github.com/dq-bench/dq-bench/harness/internal/cli"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve-driver" { // as a run starts its own program
		os.Exit(cli.Execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	redistest.Main(m)
}
