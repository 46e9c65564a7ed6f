package web

import (
	"testing"

	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
