package scripts_test

import (
	"os"
	"testing"

	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.RunWithoutLeaks(m)) }
