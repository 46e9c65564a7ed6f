package conformance

import (
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Releases returns the recorded releases, ascending.
func (o *Oracle) Releases() []wire.Release { return slices.Clone(o.releases) }

// Case returns the recorded lines of a case at a release, after its mark, or why the release could not run the case. ok
// is false if there is no recording.
func (o *Oracle) Case(release wire.Release, id string) (lines []monitor.Line, absent string, ok bool) {
	recorded, ok := o.cases[release][id]
	return recorded.lines, recorded.absent, ok
}
