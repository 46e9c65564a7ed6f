package scripts_test

import (
	"testing"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.MainWithoutLeaks(m) }
