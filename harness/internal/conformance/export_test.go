package conformance

import (
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Loaded are the cases and the recordings.
var Loaded = loaded

// Releases returns the recorded releases, ascending.
func (o *Oracle) Releases() []wire.Release { return slices.Clone(o.releases) }

// Case returns the recorded lines of a case at a release, or why the release could not run the case.
func (o *Oracle) Case(release wire.Release, id string) (lines []trace.Line, absent string, ok bool) {
	if slices.Contains(o.releases, release) {
		cases, _ := o.cases[release]()
		return cases[id].lines, cases[id].absent, cases[id].recording != nil
	}
	return nil, "", false
}
