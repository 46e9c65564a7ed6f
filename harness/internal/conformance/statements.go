package conformance

import (
	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// breaches holds lines against the rules whose statements hold for a release.
func breaches(timeline *trace.Timeline, lines []monitor.Line, own func(peer string) bool, release wire.Release) (all []trace.Breach) {
	add := func(found []trace.Breach) {
		for _, b := range found {
			if s := spec.All().Statement(b.Statement); s != nil && s.Releases.Contain(release) {
				all = append(all, b)
			}
		}
	}
	for _, l := range lines {
		add(timeline.Add(l, own(l.Peer)))
	}
	add(timeline.End())
	return all
}
