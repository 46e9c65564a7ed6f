package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func newReference(t *testing.T, release wire.Release) *Runner {
	t.Helper()
	return newTestRunner(t, spec.DQ{Release: release, Faithful: true}.Link(false), release)
}

func TestRandomHistoriesOfARightPort(t *testing.T) {
	t.Parallel()
	for _, name := range redistest.Sample(t, []string{"4.7.0", "3.16.6"}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release, err := wire.LookupRelease(name)
			require.NoError(t, err)
			port := newTestRunner(t, spec.DQ{Release: release}.Link(false), release)
			failure, histories, err := (&Random{Port: port, Reference: newReference(t, release), Seeds: 25}).Run(t.Context())
			require.NoError(t, err)
			require.Empty(t, failure)
			require.Equal(t, uint64(25), histories)
		})
	}
}

// A failing history is shrunk, printed as a case that parses, and names its statement.
func TestRandomHistoryOfAFault(t *testing.T) {
	t.Parallel()
	bench := newMutantBench(t, "3.21.0")
	bench.proxy.use(inScript(wire.ScriptOffer, "if v[1] == value then", "if true then")())
	failure, _, err := (&Random{Port: bench.runner, Reference: newReference(t, wire.Release{Major: 3, Minor: 21}), Seeds: 50}).Run(t.Context())
	require.NoError(t, err)
	require.Contains(t, failure, "2 of ")
	require.Contains(t, failure, "W-OFFER-4: the new member is not due first, but its due time was published")
	_, cases, _ := strings.Cut(failure, "\n")
	section, err := Parse("random.yaml", []byte("section: random\ncases:\n"+cases))
	require.NoError(t, err, cases)
	require.Len(t, section.Cases[0].Steps, 2)
}
