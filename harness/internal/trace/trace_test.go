package trace_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/stretchr/testify/require"
)

var (
	oldRelease = wire.Release{Major: 3, Minor: 16, Patch: 6}
	newRelease = wire.Release{Major: 4, Minor: 7, Patch: 0}
)

func diff(t *testing.T, left, right *trace.Recording) *trace.Finding {
	t.Helper()
	outcomes, err := trace.Diff(left, right, trace.DefaultTolerance)
	require.NoError(t, err)
	for _, o := range outcomes {
		if o.Finding != nil {
			return o.Finding
		}
	}
	return nil
}

func withLines(rec *trace.Recording, lines []trace.Line) *trace.Recording {
	return &trace.Recording{Path: rec.Path, Fields: rec.Fields, Lines: lines}
}

func TestSameBehaviourRecordedTwice(t *testing.T) {
	for _, release := range []wire.Release{oldRelease, newRelease} {
		left := (&session{release: release, seed: 1}).recording(t)
		for seed, right := range []*session{
			{release: release},
			{release: release, idle: 1},
			{release: release, idle: 5},
			{release: release, misses: true},
		} {
			right.seed = uint64(seed + 2)
			f := diff(t, left, right.recording(t))
			require.Nil(t, f, "%s, session %d: %+v", release, seed, f)
		}
	}
}

func TestReleasesThatDifferOnTheWire(t *testing.T) {
	f := diff(t, (&session{release: oldRelease}).recording(t), (&session{release: newRelease}).recording(t))
	require.NotNil(t, f)
	require.Contains(t, f.Meaning, "call 1 of the transfer task of \"orders\" is EVAL transfer-v1 on the left and EVALSHA transfer-v2 on the right")
}

// A member without a value may fit both layouts, if its id ends with 1.
func TestMembersThatFitBothLayouts(t *testing.T) {
	one, two := byte(1), byte(2)
	left := (&session{release: newRelease, seed: 1, empty: &two}).recording(t)
	right := (&session{release: newRelease, seed: 2, empty: &one}).recording(t)
	f := diff(t, left, right)
	require.Nil(t, f, "%+v", f)
}

// Every line counts: it cannot be missing, doubled or moved within its role.
func TestEveryLineCounts(t *testing.T) {
	for _, release := range []wire.Release{oldRelease, newRelease} {
		left := (&session{release: release, seed: 1}).recording(t)
		right := (&session{release: release, seed: 2}).recording(t)
		for i, l := range right.Lines {
			if l.Name() == "ping" {
				continue
			}
			missing := slices.Delete(slices.Clone(right.Lines), i, i+1)
			f := diff(t, left, withLines(right, missing))
			require.NotNil(t, f, "missing: %s", l)
			require.NotEmpty(t, f.Window)

			doubled := slices.Insert(slices.Clone(right.Lines), i, l)
			require.NotNil(t, diff(t, left, withLines(right, doubled)), "doubled: %s", l)

			next := slices.IndexFunc(right.Lines[i+1:], func(m trace.Line) bool { return !slices.Equal(m.Args, l.Args) }) + i + 1
			if next > i && l.Inner() && right.Lines[next].Inner() {
				moved := slices.Clone(right.Lines)
				moved[i], moved[next] = moved[next], moved[i]
				require.NotNil(t, diff(t, left, withLines(right, moved)), "moved: %s", l)
			}
		}
	}
}

// Every byte counts, but for times and for ids as a whole.
func TestEveryByteCounts(t *testing.T) {
	for _, release := range []wire.Release{oldRelease, newRelease} {
		left := (&session{release: release, seed: 1}).recording(t)
		right := (&session{release: release, seed: 2}).recording(t)
		for i, l := range right.Lines {
			if l.Name() == "ping" {
				continue
			}
			call := trace.Group(right.Lines[i : i+1])[0]
			for j, arg := range l.Args {
				if isTimeOrRandom(call, j) {
					continue
				}
				for k := range min(len(arg), 30) {
					changed := slices.Clone(right.Lines)
					changed[i].Args = slices.Clone(l.Args)
					changed[i].Args[j] = arg[:k] + string([]byte{arg[k] ^ 2}) + arg[k+1:]
					require.NotNil(t, diff(t, left, withLines(right, changed)), "argument %d, byte %d of %s", j, k, l)
				}
			}
		}
	}
}

// isTimeOrRandom tells which arguments a normal form replaces: the clock of a
// transfer, and the decimal random of an old offer, of which a double keeps 53 bits.
func isTimeOrRandom(c trace.Call, i int) bool {
	if c.Transfer != nil {
		return i == 6
	}
	return c.Offer != nil && (i == 7 || i == 8 && c.Offer.Layout == wire.LayoutDLc0)
}

func TestWhatADifferenceMeans(t *testing.T) {
	left := (&session{release: newRelease, seed: 1}).recording(t)
	right := (&session{release: newRelease, seed: 2}).recording(t)
	indexOf := func(part string) int {
		return slices.IndexFunc(right.Lines, func(l trace.Line) bool { return strings.Contains(l.String(), part) })
	}
	replace := func(i int, from, to string) *trace.Recording {
		lines := slices.Clone(right.Lines)
		lines[i].Args = slices.Clone(lines[i].Args)
		for j := range lines[i].Args {
			lines[i].Args[j] = strings.ReplaceAll(lines[i].Args[j], from, to)
		}
		return withLines(right, lines)
	}
	offer, transfer := indexOf(`"value 1"`), indexOf(`"EVALSHA"`)
	due := right.Lines[offer].Args[7]
	tests := []struct {
		name string
		rec  *trace.Recording
		want string
	}{
		{"value", replace(offer, "value 1", "value 9"), `call 2 of the publisher offers another value: "value 1" on the left, "value 9" on the right`},
		{"limit", replace(transfer, "100", "101"), "moves at most 100 members on the left and 101 on the right"},
		{"delay", replace(offer, due, due[:9]+"9999"), "inside EVALSHA offer-v2, command 1 is different"},
		{"case", replace(indexOf("BLPOP"), "BLPOP", "blpop"), "is BLPOP on the left and blpop on the right"},
		{"a take too many", withLines(right, append(slices.Clone(right.Lines), right.Lines[indexOf("BLPOP")])),
			`call 5 of the consumer of "orders" is only on the right: BLPOP`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := diff(t, left, tt.rec)
			require.NotNil(t, f)
			require.Contains(t, f.Meaning, tt.want)
		})
	}
}

func TestDelayIsComparedWithTolerance(t *testing.T) {
	left := (&session{release: newRelease, seed: 1}).recording(t)
	right := (&session{release: newRelease, seed: 2}).recording(t)
	for _, c := range trace.Group(right.Lines) {
		if c.Offer == nil {
			continue
		}
		for _, shift := range []int64{200, 300, -300} {
			f := diff(t, left, withLines(right, shifted(right.Lines, c.Offer.Due, shift)))
			require.Equal(t, shift == 200, f == nil, "%+v", f)
		}
	}
}

// shifted moves a due time wherever it is named.
func shifted(lines []trace.Line, due, by int64) []trace.Line {
	from, to := strconv.FormatInt(due, 10), strconv.FormatInt(due+by, 10)
	all := slices.Clone(lines)
	for i := range all {
		all[i].Args = slices.Clone(all[i].Args)
		for j, arg := range all[i].Args {
			if arg == from {
				all[i].Args[j] = to
			}
		}
	}
	return all
}

// Roles run side by side, but what depends on another role keeps its order.
func TestOrderAcrossRoles(t *testing.T) {
	left := (&session{release: newRelease, seed: 1}).recording(t)
	right := (&session{release: newRelease, seed: 2}).recording(t)
	blpop := slices.IndexFunc(right.Lines, func(l trace.Line) bool { return l.Name() == "blpop" })

	lines := slices.Clone(right.Lines)
	first := lines[blpop]
	lines = slices.Insert(slices.Delete(lines, blpop, blpop+1), 0, first)
	require.Nil(t, diff(t, left, withLines(right, lines)), "when the consumer starts is timing")

	lines = slices.Clone(right.Lines)
	last := lines[len(lines)-1]
	lines = slices.Insert(lines[:len(lines)-1], blpop, last)
	f := diff(t, left, withLines(right, lines))
	require.NotNil(t, f, "a second consumer waits")
	require.Contains(t, f.Meaning, "1 waiting at a time on the left, 2 waiting at a time on the right")

	lines = slices.Clone(right.Lines)
	subscribe := lines[1]
	lines = slices.Insert(slices.Delete(lines, 1, 2), 4, subscribe)
	f = diff(t, left, withLines(right, lines))
	require.NotNil(t, f)
	require.Contains(t, f.Meaning, "after the subscription on the left, before the subscription on the right")
}

func TestCasesAreComparedById(t *testing.T) {
	left := read(t, `1.000000 [0 1.1.1.1:1] "ECHO" "case:a"
2.000000 [0 1.1.1.1:1] "LLEN" "x"
3.000000 [0 1.1.1.1:1] "ECHO" "case:b"
`)
	right := read(t, `1.000000 [0 1.1.1.1:1] "ECHO" "case:a"
2.000000 [0 1.1.1.1:9] "LLEN" "x"
`)
	outcomes, err := trace.Diff(left, right, 0)
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	require.Nil(t, outcomes[0].Finding)
	require.Contains(t, outcomes[1].Finding.Meaning, "the case b is only on the left")

	_, err = trace.Diff(left, &trace.Recording{Path: "empty.monitor"}, 0)
	require.ErrorContains(t, err, "empty.monitor: the recording has no commands")
}

func read(t *testing.T, text string) *trace.Recording {
	t.Helper()
	rec, err := trace.Read(strings.NewReader(text), "x.monitor")
	require.NoError(t, err)
	return rec
}

// FuzzDiff holds that no recording breaks the normal form and that each is the
// same as itself.
func FuzzDiff(f *testing.F) {
	for _, name := range []string{"002-zlyx.monitor", "004-dest_queue1.monitor"} {
		text, err := recordings.Files.ReadFile("documents/" + name)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := trace.Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		outcomes, err := trace.Diff(rec, rec, 0)
		if err != nil {
			return
		}
		for _, o := range outcomes {
			require.Nil(t, o.Finding)
		}
	})
}
