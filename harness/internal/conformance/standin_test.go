package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
)

// A Redisson that the catalogue does not know is judged by the nearest release that was
// recorded, and the last line says so.
func TestUnknownReleaseIsJudgedByTheNearest(t *testing.T) {
	_, oracle := loaded()
	c := parsed(t, strings.ReplaceAll(offersOne, "DQ.offer/x", "DQ.offer/new-head-publishes"))
	source, err := oracle.source(c, wire.Release{Major: 3, Minor: 99})
	require.NoError(t, err)
	require.Equal(t, "3.52.0", source.release.String())

	spec, err := spec.ParseProgram("redisson:3.99.0")
	require.NoError(t, err)
	report := NewReport(driver.Identity{Name: "redisson", Version: "3.99.0"}, "3.99.0", "redis 7.0.15")
	report.StandsIn = spec.Notice()
	report.Add(Result{ID: "DQ.offer/a", Status: Pass, JudgedBy: "3.52.0"})
	require.True(t, strings.HasSuffix(strings.Join(strings.Fields(report.Text()), " "),
		"judged: 1 by the recordings of 3.52.0. Redisson 3.99.0 is not in the catalogue: 3.52.0, the nearest that is, stands for it"), report.Text())
}
