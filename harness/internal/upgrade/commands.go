package upgrade

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Commands is how two recorded releases differ in cases that hold for both.
type Commands struct {
	// From and To are the releases whose recordings are compared: the ones asked for, or
	// the nearest that are recorded and send the same scripts. Empty where none does.
	From string `json:"from"`
	To   string `json:"to"`
	// Compared is the number of cases that are.
	Compared int `json:"compared"`
	// Same is the number of those in which the server saw the same commands.
	Same int `json:"same"`
	// Causes are the differences, the most frequent first.
	Causes []Cause `json:"causes"`
}

// Cause is a difference and the cases that show it.
type Cause struct {
	Cause string   `json:"cause"`
	Cases []string `json:"cases"`
}

// Recordings are of the real Redisson. Commands has a folder for each release, in it one
// *.monitor file for each section of cases. Lateness has a folder lateness with the run files
// of runs at a low rate, of several releases.
type Recordings struct{ Commands, Lateness fs.FS }

// between compares the recordings that stand for two releases.
func (r Recordings) between(from, to wire.Release) (Commands, error) {
	left, ok1, err1 := r.nearest(from)
	right, ok2, err2 := r.nearest(to)
	if err := errors.Join(err1, err2); err != nil || !ok1 || !ok2 {
		return Commands{Causes: []Cause{}}, err
	}
	c := Commands{From: left.String(), To: right.String(), Causes: []Cause{}}
	lefts, err1 := r.read(left)
	rights, err2 := r.read(right)
	if err := errors.Join(err1, err2); err != nil {
		return c, err
	}
	byCause := map[string][]string{}
	for _, file := range slices.Sorted(maps.Keys(lefts)) {
		if rights[file] == nil {
			continue
		}
		outcomes, err := trace.Diff(lefts[file], rights[file], trace.DefaultTolerance)
		if err != nil {
			return c, err
		}
		for _, o := range outcomes {
			switch {
			case o.Declared != "", o.Finding != nil && o.Finding.Cause == "": // one has not got it
			case o.Finding == nil:
				c.Compared, c.Same = c.Compared+1, c.Same+1
			default:
				c.Compared++
				byCause[o.Finding.Cause] = append(byCause[o.Finding.Cause], o.Case)
			}
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(byCause)) {
		c.Causes = append(c.Causes, Cause{cause, byCause[cause]})
	}
	slices.SortStableFunc(c.Causes, func(a, b Cause) int { return cmp.Compare(len(b.Cases), len(a.Cases)) })
	return c, nil
}

// nearest is the recorded release that stands for one: that before it, or else behind it, of those
// that send the same.
func (r Recordings) nearest(release wire.Release) (found wire.Release, ok bool, err error) {
	entries, err := fs.ReadDir(r.Commands, ".")
	if err != nil {
		return found, false, fmt.Errorf("the recordings cannot be read: %w", err)
	}
	var stand []wire.Release
	for _, e := range entries {
		recorded, err := wire.ParseRelease(e.Name())
		if err != nil {
			return found, false, fmt.Errorf("the recordings: expected a folder for each release, found %s", e.Name())
		}
		if alike(recorded, release) {
			stand = append(stand, recorded)
		}
	}
	found, ok = nearest(release, stand)
	return found, ok, nil
}

// nearest returns the latest release up to one, or else the first behind it, of those given on its
// side of 3.0.
func nearest(release wire.Release, of []wire.Release) (found wire.Release, ok bool) {
	var earlier, later []wire.Release
	for _, one := range of {
		switch {
		case (one.Major == 2) != (release.Major == 2):
		case release.AtLeast(one):
			earlier = append(earlier, one)
		default:
			later = append(later, one)
		}
	}
	switch {
	case len(earlier) > 0:
		return slices.MaxFunc(earlier, wire.Release.Compare), true
	case len(later) > 0:
		return slices.MinFunc(later, wire.Release.Compare), true
	}
	return found, false
}

// alike reports whether two releases send the same scripts in the same manner.
func alike(a, b wire.Release) bool {
	return len(scriptsBetween(a, b)) == 0 && a.CachesScripts() == b.CachesScripts()
}

// read returns the recordings of a release by file name.
func (r Recordings) read(release wire.Release) (map[string]*monitor.Recording, error) {
	paths, err := fs.Glob(r.Commands, path.Join(release.String(), "*.monitor"))
	if err != nil {
		return nil, err
	}
	all := map[string]*monitor.Recording{}
	for _, p := range paths {
		text, err := fs.ReadFile(r.Commands, p)
		if err != nil {
			return nil, fmt.Errorf("the recordings cannot be read: %w", err)
		}
		if all[path.Base(p)], err = monitor.Read(bytes.NewReader(text), p); err != nil {
			return nil, err
		}
	}
	return all, nil
}
