package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Oracle is the recordings of the real Redisson, by release.
type Oracle struct {
	releases []wire.Release                                  // ascending
	cases    map[wire.Release]func() map[string]recordedCase // which reads a release when it is asked for: all take 0.2 s
}

// recordedCase is the part of a recording that belongs to a case.
type recordedCase struct {
	recording *trace.Recording
	lines     []trace.Line
	absent    string       // why there are no lines, so that replies and keys decide
	release   wire.Release // zero for none
}

// NewOracle has the recordings of releases; sections has the text of a release's recordings, one for each section.
func NewOracle(releases []string, sections func(release string) map[string][]byte) *Oracle {
	o := &Oracle{cases: map[wire.Release]func() map[string]recordedCase{}}
	for _, name := range releases {
		release, err := wire.LookupRelease(name)
		if err != nil {
			panic(fmt.Sprintf("conformance: the recordings are part of the program: %v", err))
		}
		o.cases[release] = sync.OnceValue(func() map[string]recordedCase { return recordedCases(sections(name), release) })
	}
	o.releases = slices.SortedFunc(maps.Keys(o.cases), wire.Release.Compare)
	return o
}

func recordedCases(sections map[string][]byte, release wire.Release) map[string]recordedCase {
	cases := map[string]recordedCase{}
	for section, text := range sections {
		recording, err := trace.Read(text, release.String()+"/"+section+".monitor")
		if err != nil {
			panic(fmt.Sprintf("conformance: the recordings are part of the program: %v", err))
		}
		for _, c := range recording.Cases() {
			if c.ID != "" {
				cases[c.ID] = recordedCase{recording, c.Lines, "", release}
			}
		}
		for id, why := range trace.Declared(recording) {
			cases[id] = recordedCase{recording, nil, why, release}
		}
	}
	return cases
}

// source returns the recording that judges a case: of the release itself, else of the nearest earlier, else later, release
// of the same line with the case and the same scripts. A recorded release without the case is an error.
func (o *Oracle) source(c *Case, release wire.Release) (recordedCase, error) {
	missing := "no recorded release has this case with the same scripts"
	if slices.Contains(o.releases, release) {
		switch own, ok := o.cases[release]()[c.ID]; {
		case !ok:
			return recordedCase{}, fmt.Errorf("the recordings of %s lack this case: record it with dq-bench record --driver redisson:%s", release, release)
		case own.absent == "":
			return own, nil
		default:
			missing = "it could not be recorded: " + own.absent
		}
	}
	for _, r := range o.neighbours(release) {
		if recorded, ok := o.cases[r]()[c.ID]; ok && recorded.absent == "" && c.HoldsFor(r) && sameScripts(recorded, r, release) {
			return recorded, nil
		}
	}
	return recordedCase{absent: missing}, nil
}

// neighbours are the recorded releases of the same line, 2.x or later: the earlier ones, newest first, then the later ones.
func (o *Oracle) neighbours(release wire.Release) []wire.Release {
	line := slices.DeleteFunc(slices.Clone(o.releases), func(r wire.Release) bool { return (r.Major == 2) != (release.Major == 2) })
	later, _ := slices.BinarySearchFunc(line, release, func(r, to wire.Release) int { return cmp.Or(r.Compare(to), -1) })
	slices.Reverse(line[:later])
	return line
}

// sameScripts reports whether release sends all scripts of a recording, in the same manner.
func sameScripts(recorded recordedCase, from, release wire.Release) bool {
	return from.CachesScripts() == release.CachesScripts() &&
		!slices.ContainsFunc(trace.Scripts(recorded.lines), func(s trace.Script) bool { return s.Known != nil && !s.Known.SentBy(release) })
}
