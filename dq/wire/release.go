package wire

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Release is a release of Redisson. Two lines ran in parallel: 2.7.0 to 2.15.2 and 3.2.0 to 4.x; each change has a number on both.
type Release struct {
	Major, Minor, Patch int
}

//go:embed releases.txt
var releasesText string

var releases = func() []Release {
	var all []Release
	for line := range strings.Lines(releasesText) {
		all = append(all, must(ParseRelease(strings.TrimSpace(line))))
	}
	return all
}()

// Releases returns every release on Maven Central that has RDelayedQueue, oldest first.
func Releases() []Release { return slices.Clone(releases) }

// Newest returns the newest release known.
func Newest() Release { return releases[len(releases)-1] }

// ParseRelease reads "3.16.6". It does not ask whether such a release exists.
func ParseRelease(s string) (r Release, err error) {
	_, _ = fmt.Sscanf(s, "%d.%d.%d", &r.Major, &r.Minor, &r.Patch)
	if r.String() != s || min(r.Major, r.Minor, r.Patch) < 0 || max(r.Major, r.Minor, r.Patch) >= 1<<16 {
		return Release{}, &ReleaseError{Text: s}
	}
	return r, nil
}

// LookupRelease reads a release and checks that it exists. The *ReleaseError it returns otherwise names the nearest one that does.
func LookupRelease(s string) (Release, error) {
	r, err := ParseRelease(s)
	if err != nil {
		return Release{}, err
	}
	if _, ok := slices.BinarySearchFunc(releases, r, Release.Compare); !ok {
		return Release{}, &ReleaseError{Text: s, Nearest: ClosestKnown(r)}
	}
	return r, nil
}

// ClosestKnown returns the known release that replaces r if r is unknown, such as one published later; for a known one it is r itself. See
// Closest. Rules by number, such as Layout, do not need it.
func ClosestKnown(r Release) Release { return Closest(releases, r) }

// Closest returns, of some releases in ascending order and at least one, that which is nearest to r: r itself, or the one before or after
// it, whichever shares more of its leading numbers; the one before if both share as many.
func Closest(some []Release, r Release) Release {
	i, found := slices.BinarySearchFunc(some, r, Release.Compare)
	switch {
	case found, i == 0:
		return some[i]
	case i == len(some), shared(some[i], r) <= shared(some[i-1], r):
		return some[i-1]
	}
	return some[i]
}

// shared is how many leading numbers two releases have in common.
func shared(a, b Release) int {
	switch {
	case a.Major != b.Major:
		return 0
	case a.Minor != b.Minor:
		return 1
	}
	return 2
}

// ReleaseError says that a text names no release of Redisson.
type ReleaseError struct {
	// Text is the text as given.
	Text string
	// Nearest is the existing release closest to it; zero when Text has not even the form of a release.
	Nearest Release
}

func (e *ReleaseError) Error() string {
	if e.Nearest == (Release{}) {
		return fmt.Sprintf("%q is not a Redisson release: expected three numbers such as %s", e.Text, Newest())
	}
	return fmt.Sprintf("no Redisson release %s is known here; the nearest is %s (known: %s to %s)",
		e.Text, e.Nearest, releases[0], Newest())
}

// String returns "3.16.6".
func (r Release) String() string { return fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch) }

// Compare orders releases by number, as slices.SortFunc wants it.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor), cmp.Compare(r.Patch, other.Patch))
}

// AtLeast reports whether r is other or newer, by number. The 2.x line is older than every 3.x here, also if it was published later.
func (r Release) AtLeast(other Release) bool { return r.Compare(other) >= 0 }

// Layout returns the layout of the members that the release packs and reads.
func (r Release) Layout() Layout {
	if r.AtLeast(Release{3, 21, 1}) {
		return LayoutBc0Lc0
	}
	return LayoutDLc0
}

// CachesScripts reports whether the release sends EVALSHA, and SCRIPT LOAD after a miss, with its default settings; earlier ones send EVAL
// with the whole body each time. The rule: Config.useScriptCache is true since 3.46.0.
func (r Release) CachesScripts() bool { return r.AtLeast(Release{3, 46, 0}) }

// RefusesNegativeDelay reports whether offer checks its delay; since 3.10.4.
func (r Release) RefusesNegativeDelay() bool { return r.AtLeast(Release{3, 10, 4}) }

// StopsOnDestroy reports whether the last destroy of a delayed queue also cancels its timer; since 3.42.0. Before, the messages of the
// timer are still delivered, and messages due after that.
func (r Release) StopsOnDestroy() bool { return r.AtLeast(Release{3, 42, 0}) }

// ExpiresConditionally reports whether expire and expireAt send a condition, which may be empty, with the time; since 3.17.0.
func (r Release) ExpiresConditionally() bool { return r.AtLeast(Release{3, 17, 0}) }

// BlockingSeconds returns the time-out that the release sends with BLPOP for a wait of d: whole seconds, truncated, but 1 for anything
// between 0 and 1 s. The first releases, 2.7.0 and 3.2.0, truncate that to 0 too, which waits for ever.
func (r Release) BlockingSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if seconds == 0 && d > 0 && r != (Release{2, 7, 0}) && r != (Release{3, 2, 0}) {
		return 1
	}
	return seconds
}

// SkipsNegativeTimeout reports whether a blocking call with a negative time-out returns without sending a command; since 3.18.0.
func (r Release) SkipsNegativeTimeout() bool { return r.AtLeast(Release{3, 18, 0}) }

// TimerTick returns the tick of the wheel that the release's timers sit in, with its default settings. From 3.49.0 on it is drawn at each
// start, between 10 and 49 ms; 25 ms is used here.
func (r Release) TimerTick() time.Duration {
	if r.AtLeast(Release{3, 49, 0}) {
		return 25 * time.Millisecond
	}
	return 100 * time.Millisecond
}
