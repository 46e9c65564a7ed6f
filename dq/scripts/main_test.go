package scripts_test

import (
	"os"
	"testing"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.RunWithoutLeaks(m)) }
