package conformance

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
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

// NewOracle has the recordings of a folder that holds one folder for each release, in it one recording for each section.
func NewOracle(files fs.FS) *Oracle {
	o := &Oracle{cases: map[wire.Release]func() map[string]recordedCase{}}
	entries, _ := fs.ReadDir(files, ".") // a folder that is not there has none
	for _, entry := range entries {
		if release, err := wire.LookupRelease(entry.Name()); err == nil {
			o.cases[release] = sync.OnceValue(func() map[string]recordedCase { return loadRelease(files, release) })
		}
	}
	o.releases = slices.SortedFunc(maps.Keys(o.cases), wire.Release.Compare)
	return o
}

func loadRelease(files fs.FS, release wire.Release) map[string]recordedCase {
	cases := map[string]recordedCase{}
	paths, _ := fs.Glob(files, path.Join(release.String(), "*.monitor")) // a right pattern
	for _, p := range paths {
		text, unread := fs.ReadFile(files, p)
		recording, err := trace.Read(text, p)
		if err = cmp.Or(unread, err); err != nil {
			panic(fmt.Sprintf("conformance: the recordings are part of the program: %v", err))
		}
		for _, c := range recording.Cases() {
			if c.ID != "" {
				cases[c.ID] = recordedCase{recording, c.Lines, "", release}
			}
		}
		for _, f := range recording.Fields {
			if id, why, ok := strings.Cut(f.Value, ": "); ok && f.Key == trace.AbsentKey {
				cases[id] = recordedCase{recording, nil, why, release}
			}
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
